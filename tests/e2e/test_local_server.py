"""`tarsy demo` and `tarsy investigate` beside the servers of an installation: they leave its work and its data to these."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from support.intake_world import alert
from support.notify_world import notify_world
from tarsy.cli.live_view import run_sample
from tarsy.demo.samples import load_sample
from tarsy.domain.notification import EventKind, MessageThread, Notification, NotificationRule
from tarsy.domain.notification_text import Markup
from tarsy.notify.senders.sender import Delivered
from tarsy.settings import Settings
from tarsy.wiring import upkeep

pytestmark = pytest.mark.timeout(200)

STARTED = NotificationRule(name="started", on=frozenset({EventKind.STARTED}), to=("chat",))


class Chat:
    service = "test"
    markup = Markup.NONE
    has_threads = False

    async def send(self, notification: Notification, thread: MessageThread | None = None) -> Delivered:
        raise AssertionError(notification, thread)


async def test_a_demo_works_on_its_own_session_and_leaves_everything_else_to_the_servers(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Retention would begin at once.
    monkeypatch.setattr(upkeep, "SHORTEST_PAUSE_SECONDS", 0.0)
    (tmp_path / "tarsy.yaml").write_text("system: {retention: {session_retention_days: 1}}\nqueue: {orphan_detection_interval: 50ms}\n")
    sample = load_sample("flapping")
    async with notify_world(database_url, {"chat": Chat()}, [STARTED]) as world:
        # One session of each kind: it has ended, its worker sends no heartbeats, it waits for a worker.
        await world.intake.take(alert("f1", problem="p1"))
        await world.intake.finish(await world.intake.begin())
        await world.intake.take(alert("f2", problem="p2"))
        await world.intake.begin()
        await world.feed().advance()
        await world.intake.take(alert("f3", problem="p3"))
        async with world.intake.engine.begin() as connection:
            await connection.exec_driver_sql(
                "UPDATE alert_sessions SET completed_at = now() - interval '2 days' WHERE status = 'completed'"
            )
            await connection.exec_driver_sql("UPDATE work SET heartbeat_at = now() - interval '1 hour' WHERE state = 'claimed'")

        async def installation() -> list[Mapping[str, Any]]:
            queries = (
                "SELECT channel, last_id FROM notification_cursors",
                "SELECT id, status, error FROM notifications",
                "SELECT id, status, deleted_at FROM alert_sessions",
                "SELECT id, state, claim_token FROM work",
            )
            return [row for query in queries for row in await world.rows(query)]

        before = await installation()
        settings = Settings(env={}, database_url=database_url, config_dir=tmp_path, replay_speed=0.0)
        assert await run_sample(settings, sample.alert_data, "sample-flapping", ())
        after = await installation()
        assert [row for row in before if row not in after] == []
        assert await world.rows("SELECT id FROM processes") == []
