"""Old sessions are hidden, then erased; old events are forgotten; several processes do it without getting in each other's way."""

from datetime import UTC, datetime
from functools import partial

import anyio
import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine
from typer.testing import CliRunner

from support.claims import claimed
from support.followups import open_followup
from support.queue_ground import Ground
from support.queue_scenario import Scenario
from support.timeline_entries import warning
from tarsy.cli.main import app
from tarsy.config.schema.system import RetentionConfig
from tarsy.db.outbox import Outbox, Publisher
from tarsy.db.retention import BATCH, EVENT_BATCH, PostgresRetentionStore
from tarsy.db.run.journal import PostgresJournal
from tarsy.db.session.repository import SessionRepository
from tarsy.db.tables import metadata
from tarsy.domain.alert import alert_title
from tarsy.domain.claim import CHAT_ANSWER, INVESTIGATION, SCORING, Claim, ClaimLostError, WorkKind
from tarsy.domain.status import RunStatus
from tarsy.domain.step import Step, WorkClose
from tarsy.wiring.upkeep import Retention


async def ended(ground: Ground, made: Scenario, *, days_ago: int, hidden_days_ago: int | None = None) -> str:
    session_id = await ground.submit(made)
    await end(ground, session_id, days_ago=days_ago, hidden_days_ago=hidden_days_ago)
    return session_id


async def end(ground: Ground, session_id: str, *, days_ago: int, hidden_days_ago: int | None = None) -> None:
    await ground.fetch(
        "UPDATE alert_sessions SET status = 'completed', completed_at = now() - make_interval(days => $2), "
        "deleted_at = now() - make_interval(days => $3) WHERE id = $1",
        session_id,
        days_ago,
        hidden_days_ago,
    )
    await ground.fetch("UPDATE work SET state = 'done', claim_token = NULL WHERE subject_id = $1", session_id)


async def left(ground: Ground) -> dict[str, bool]:
    """Sessions that are still there, and whether they are hidden."""
    return {str(row["id"]): row["hidden"] for row in await ground.fetch("SELECT id, deleted_at IS NOT NULL AS hidden FROM alert_sessions")}


def retention(engine: AsyncEngine, *, hard: int | None) -> Retention:
    config = RetentionConfig(hard_delete_after_days=hard)
    return Retention(config, PostgresRetentionStore(engine))


async def test_old_events_are_forgotten_in_batches_and_the_young_stay(engine: AsyncEngine, ground: Ground) -> None:
    """All in one transaction, what a day without upkeep has left would take longer than one may."""
    await ground.fetch(
        "INSERT INTO events (channel, id, payload, created_at) "
        "SELECT 'sessions', n, '{}', now() - make_interval(hours => CASE WHEN n <= $1 THEN 2 ELSE 0 END) FROM generate_series(1, $1 + 7) n",
        2 * EVENT_BATCH + 1,
    )
    (before,) = await ground.fetch("SELECT pg_current_xact_id()::text::bigint AS number")
    assert await PostgresRetentionStore(engine).erase_events(older_than_seconds=3600) == 2 * EVENT_BATCH + 1
    (after,) = await ground.fetch("SELECT pg_current_xact_id()::text::bigint AS number")
    assert after["number"] - before["number"] > 2
    assert (await ground.fetch("SELECT count(*) AS left FROM events"))[0]["left"] == 7


async def test_the_audit_log_is_kept_for_a_year_or_as_long_as_configured(engine: AsyncEngine, ground: Ground) -> None:
    await ground.fetch(
        "INSERT INTO audit_log (actor, action, at) SELECT 'ada', 'config.viewed', now() - make_interval(days => n) FROM unnest(ARRAY[1, 364, 366]) n"
    )
    for config, count in ((RetentionConfig(audit_log_days=400), 3), (RetentionConfig(), 2), (RetentionConfig(audit_log_days=30), 1)):
        await Retention(config, PostgresRetentionStore(engine)).clean_up()
        assert (await ground.fetch("SELECT count(*) AS left FROM audit_log"))[0]["left"] == count


async def test_the_old_are_hidden_and_the_long_hidden_are_erased_only_if_configured(
    engine: AsyncEngine, ground: Ground, made: Scenario
) -> None:
    young, old = await ended(ground, made, days_ago=10), await ended(ground, made, days_ago=91)
    just_hidden = await ended(ground, made, days_ago=120, hidden_days_ago=5)
    long_hidden = await ended(ground, made, days_ago=200, hidden_days_ago=60)
    running = await ground.submit(made)
    await retention(engine, hard=None).clean_up()
    assert await left(ground) == {young: False, old: True, just_hidden: True, long_hidden: True, running: False}
    await retention(engine, hard=30).clean_up()
    assert await left(ground) == {young: False, old: True, just_hidden: True, running: False}
    assert not await ground.fetch("SELECT name FROM event_channels WHERE name = $1", f"session:{long_hidden}")
    audit = await ground.fetch(
        "SELECT action, actor, session_id::text AS id FROM audit_log WHERE actor = 'retention' ORDER BY audit_log.id"
    )
    assert [(row["action"], row["id"]) for row in audit] == [("session.deleted", old), ("session.purged", long_hidden)]


async def _tables_about(ground: Ground, session_id: str) -> set[str]:
    """The tables that hold something of a session."""
    tables = [table.name for table in metadata.tables.values() if "session_id" in table.c]
    counted = {name: await ground.fetch(f"SELECT FROM {name} WHERE session_id = $1 LIMIT 1", session_id) for name in tables}
    return {name for name, found in counted.items() if found}


@pytest.mark.parametrize("by_age", [True, False])
async def test_nothing_is_left_of_a_session_that_was_erased(engine: AsyncEngine, ground: Ground, made: Scenario, *, by_age: bool) -> None:
    session_id = await ground.submit(made)
    await PostgresJournal(engine, lambda _events: None).commit(warns(await claimed(engine, INVESTIGATION)))
    await end(ground, session_id, days_ago=31)
    assert await _tables_about(ground, session_id) >= {"events", "timeline_events", "work"}
    if by_age:
        assert await PostgresRetentionStore(engine).erase_sessions(days=30, actor="test", hidden_only=False) == 1
    else:
        await SessionRepository(Publisher(engine)).purge(session_id, actor="test")
    assert await _tables_about(ground, session_id) == {"audit_log"}


async def test_events_are_forgotten_after_their_time_and_ids_go_on(engine: AsyncEngine, ground: Ground, made: Scenario) -> None:
    session_id = await ground.submit(made)
    await ground.fetch("UPDATE events SET created_at = now() - interval '2 hours'")
    await retention(engine, hard=None).clean_up()
    assert await ground.fetch("SELECT id FROM events") == []
    assert await Outbox(engine).last_id(f"session:{session_id}") == 1


async def test_sessions_that_take_too_long_together_are_erased_in_smaller_batches_and_a_single_one_has_more_time(
    engine: AsyncEngine, ground: Ground, made: Scenario
) -> None:
    for _ in range(3):
        await ended(ground, made, days_ago=40)
    # As PostgreSQL does when the time of a statement is up.
    await ground.fetch(
        "CREATE FUNCTION take_long() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "ASSERT current_setting('statement_timeout') = CASE WHEN (SELECT count(*) FROM erased) > 1 THEN '30s' ELSE '10min' END; "
        "IF (SELECT count(*) FROM erased) > 1 THEN RAISE query_canceled; END IF; RETURN NULL; END $$"
    )
    await ground.fetch(
        "CREATE TRIGGER limits AFTER DELETE ON alert_sessions REFERENCING OLD TABLE AS erased FOR EACH STATEMENT EXECUTE FUNCTION take_long()"
    )
    assert await PostgresRetentionStore(engine).erase_sessions(days=30, actor="test", hidden_only=False) == 3
    assert await left(ground) == {}


async def test_several_processes_clear_away_together_and_each_session_once(engine: AsyncEngine, ground: Ground, made: Scenario) -> None:
    await ended(ground, made, days_ago=100)
    await ground.fetch(
        "INSERT INTO alert_sessions (id, alert_data, alert_type, chain_id, chain_snapshot, author, nonce, status, created_at, completed_at) "
        "SELECT gen_random_uuid(), 'x', 'chaos', 'chaos', '{}', 'chaos', 'n', 'completed', now(), now() - interval '100 days' "
        "FROM generate_series(1, $1::int)",
        BATCH + 10,
    )
    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(retention(engine, hard=None).clean_up)
    audited = await ground.fetch("SELECT count(*) AS n, count(DISTINCT session_id) AS different FROM audit_log WHERE actor = 'retention'")
    assert audited == [{"n": BATCH + 11, "different": BATCH + 11}]
    assert set((await left(ground)).values()) == {True}


async def test_a_session_that_is_being_asked_about_is_not_erased(engine: AsyncEngine, ground: Ground, made: Scenario) -> None:
    session_id = await open_followup(engine, ground, made, CHAT_ANSWER)
    await ground.fetch("UPDATE alert_sessions SET completed_at = now() - interval '100 days'")
    assert await PostgresRetentionStore(engine).erase_sessions(days=30, actor="test", hidden_only=False) == 0
    assert session_id in await left(ground)


@pytest.mark.parametrize("kind", [CHAT_ANSWER, SCORING])
async def test_a_session_is_erased_under_whoever_works_on_it_once_their_step_is_through(
    engine: AsyncEngine, ground: Ground, made: Scenario, kind: WorkKind
) -> None:
    session_id = await open_followup(engine, ground, made, kind)
    journal, step = PostgresJournal(engine, lambda _events: None), warns(await claimed(engine, kind))
    waiting = "SELECT count(*) = $1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    async with engine.begin() as slow, anyio.create_task_group() as tasks:
        # Somebody else holds the channel, so that the step is in its middle when the erasing begins.
        await slow.execute(sa.text("SELECT FROM event_channels WHERE name LIKE 'session:%' FOR UPDATE"))
        tasks.start_soon(journal.commit, step)
        await ground.until(waiting, 1)
        tasks.start_soon(partial(SessionRepository(Publisher(engine)).purge, session_id, actor="somebody"))
        await ground.until(waiting, 2)
        await slow.commit()
    assert session_id not in await left(ground)
    ending = WorkClose(status=RunStatus.COMPLETED, completed_at=datetime.now(UTC))
    for late in (warns(step.claim), Step(claim=step.claim, work_close=ending)):
        with pytest.raises(ClaimLostError):
            await journal.commit(late)


def warns(claim: Claim) -> Step:
    return Step(claim=claim, opened=(warning(claim, "careful"),))


def tarsy(ground: Ground, *arguments: str, say: str = "") -> tuple[int, str]:
    result = CliRunner().invoke(app, ["sessions", *arguments, "--database-url", ground.url], input=say)
    return result.exit_code, result.output


@pytest.fixture
def sessions(ground: Ground, made: Scenario) -> tuple[str, str, str]:
    async def prepare() -> tuple[str, str, str]:
        return await ended(ground, made, days_ago=100), await ended(ground, made, days_ago=1), await ground.submit(made)

    return anyio.run(prepare)


def test_the_command_lists_sessions_with_their_titles(ground: Ground, made: Scenario, sessions: tuple[str, str, str]) -> None:
    code, text = tarsy(ground, "list")
    assert code == 0
    title = alert_title(made.session().alert_data, "chaos")
    assert all(any(line.startswith(one) and line.endswith(f"  {title}") for line in text.splitlines()) for one in sessions)
    assert tarsy(ground, "list", "--status", "failed") == (0, "There are no sessions.\n")
    assert tarsy(ground, "list", "--status", "nonsense")[0] == 2


def test_the_command_erases_by_age_after_asking(ground: Ground, sessions: tuple[str, str, str]) -> None:
    code, text = tarsy(ground, "purge", "--older-than", "30", say="n\n")
    assert code == 1
    assert "Erase 1 session " in text
    assert sessions[0] in anyio.run(left, ground)
    assert "Erased 1 session." in tarsy(ground, "purge", "--older-than", "30", "--yes")[1]
    assert set(anyio.run(left, ground)) == set(sessions[1:])


def test_the_command_erases_by_id_and_refuses_what_runs(ground: Ground, sessions: tuple[str, str, str]) -> None:
    code, text = tarsy(ground, "purge", sessions[1], sessions[2], "--yes")
    assert code == 1
    assert "cancel it first" in text
    assert "Erased 1 session." in text
    assert set(anyio.run(left, ground)) == {sessions[0], sessions[2]}
    assert tarsy(ground, "purge", "nonsense", "--yes")[0] == 2
    assert tarsy(ground, "purge", "--yes")[0] == 2


async def test_other_rules_hold_at_once(engine: AsyncEngine, ground: Ground, made: Scenario) -> None:
    old = await ended(ground, made, days_ago=20)
    pruning = retention(engine, hard=None)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(pruning.run)
        pruning.reconfigure(RetentionConfig(session_retention_days=10))
        await ground.until("SELECT deleted_at IS NOT NULL FROM alert_sessions WHERE id = $1", old)
        tasks.cancel_scope.cancel()
