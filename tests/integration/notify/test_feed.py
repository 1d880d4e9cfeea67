"""From what is committed to notifications: each event once, none lost, none of before there were rules."""

from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal

import anyio
import pytest
import sqlalchemy as sa

from support.claims import release_claim
from support.intake_world import RESOLVED, alert
from support.notify_world import message, notify_world
from support.statements import log_statements
from tarsy.db.notification_repository import last_events
from tarsy.db.outbox import Publisher
from tarsy.db.retention import PostgresRetentionStore
from tarsy.db.session.repository import SessionRepository
from tarsy.db.tables import session_spending
from tarsy.domain.alert import Severity
from tarsy.domain.notification import EventKind, MessageThread, Notification, NotificationRule, NotificationStatus
from tarsy.domain.notification_text import Markup
from tarsy.domain.period_budget import BudgetWait
from tarsy.domain.route import parse_matchers
from tarsy.domain.status import RunStatus
from tarsy.domain.verdict import AffectedObject, Confidence, JudgedVerdict, Verdict, VerdictOutcome
from tarsy.domain.work import End, Park
from tarsy.notify.feed import CHANNELS, NotificationFeed
from tarsy.notify.policy import NotificationPolicy
from tarsy.notify.senders.sender import Delivered, NotDelivered

ALL = NotificationRule(name="all", on=frozenset(EventKind), to=("chat",))
JUDGED = JudgedVerdict(
    Verdict(
        outcome=VerdictOutcome.FAULT,
        object=AffectedObject(kind="Deployment", namespace="shop", name="cart"),
        mechanism="A setting has no unit.",
        confidence_object=Confidence.HIGH,
        confidence_mechanism=Confidence.HIGH,
    ),
    Confidence.HIGH,
)
ANALYSIS = "## Do now\n\n1. Go back [A1]:\n\n   ```\n   # first\n   kubectl rollout undo\n   ```\n\n## Why\n\n`kubectl get pods`"


@dataclass
class Mailbox:
    """A receiver in this process."""

    service: str = "test"
    markup: Markup = Markup.NONE
    has_threads: bool = False
    received: list[Notification] = field(default_factory=list[Notification])

    async def send(self, notification: Notification, thread: MessageThread | None = None) -> Delivered | NotDelivered:
        del thread
        self.received.append(notification)
        return Delivered()


async def test_the_events_of_a_session_and_its_incident_become_notifications(database_url: str) -> None:
    async with notify_world(database_url, {"chat": Mailbox()}, [ALL]) as world:
        await world.intake.take(alert("f1", severity=Severity.HIGH), alert("f2"))
        await world.intake.finish(await world.intake.begin(), ANALYSIS, JUDGED)
        await world.intake.take(alert("f1", RESOLVED), alert("f2", RESOLVED))
        await world.feed().advance()
        started, verdict, resolved = await world.stored()
        assert [one.event.kind for one in (started, verdict, resolved)] == [EventKind.STARTED, EventKind.VERDICT, EventKind.RESOLVED]
        event = verdict.event
        assert (event.title, event.severity, event.source, event.alert_type) == ("Disk f1 is full", Severity.HIGH, "monitor", "kubernetes")
        assert (event.object, event.mechanism, event.confidence) == ("Deployment/shop/cart", "A setting has no unit.", Confidence.HIGH)
        assert event.command == "kubectl rollout undo"
        assert event.labels == {"problem": ("p1",), "disk": ("f1", "f2")}
        assert event.link == f"https://tarsy.example/sessions/{event.session_id}"
        assert resolved.event.link == f"https://tarsy.example/incidents/{event.incident_id}"
        assert verdict.text.splitlines()[0] == "Fault found: Disk f1 is full"


@pytest.mark.parametrize(
    ("usd", "unpriced", "shown"),
    [("0", 2, "2 calls of unknown price"), ("0.5", 1, "$0.5000 and 1 call of unknown price"), ("0", 0, "$0.00")],
)
async def test_a_verdict_says_what_its_session_cost_as_far_as_prices_are_known(
    database_url: str, usd: str, unpriced: int, shown: str
) -> None:
    async with notify_world(database_url, {"chat": Mailbox()}, [replace(ALL, on=frozenset({EventKind.VERDICT}))]) as world:
        await world.intake.take(alert())
        begun = await world.intake.begin()
        async with world.intake.engine.begin() as connection:
            spent = {"session_id": begun.subject.id, "calls": 3, "total_tokens": 30, "cost_usd": Decimal(usd), "unpriced_calls": unpriced}
            await connection.execute(sa.insert(session_spending).values(spent))
        await world.intake.finish(begun, ANALYSIS, JUDGED)
        await world.feed().advance()
        [verdict] = await world.stored()
        assert verdict.event.cost == shown


async def test_every_sender_of_an_incident_can_be_matched_and_gets_its_note_whoever_was_first(database_url: str) -> None:
    paged = replace(ALL, match=parse_matchers('source = "pagerduty"'))
    async with notify_world(database_url, {"chat": Mailbox()}, [paged]) as world:
        await world.intake.take(*(alert(f"f{number}", source="alertmanager") for number in range(30)))
        world.intake.later(seconds=1)
        await world.intake.take(alert("PT4KHLK", source="pagerduty"))
        await world.intake.begin()
        await world.feed().advance()
        [started] = await world.stored()
        assert (started.event.source, started.event.sources) == ("alertmanager", ("alertmanager", "pagerduty"))
        assert "PT4KHLK" in started.event.fingerprints


async def test_an_incident_that_became_part_of_another_is_not_reported_as_resolved(database_url: str) -> None:
    async with notify_world(database_url, {"chat": Mailbox()}, [replace(ALL, on=frozenset({EventKind.RESOLVED}))]) as world:
        await world.intake.take(alert("f1", problem="p1"), alert("f2", problem="p2"))
        kept, part = [str(incident["id"]) for incident in await world.intake.incidents()]
        await world.intake.commands().merge(kept, part, actor="alice")
        await world.feed().advance()
        assert await world.stored() == []
        await world.intake.take(alert("f1", RESOLVED, problem="p1"), alert("f2", RESOLVED, problem="p2"))
        await world.feed().advance()
        assert [one.event.incident_id for one in await world.stored()] == [kept]


async def test_a_failure_and_a_wait_are_events_and_a_cancelled_session_is_none(database_url: str) -> None:
    async with notify_world(database_url, {"chat": Mailbox()}, [ALL]) as world:
        ends = [
            Park("paused by alice"),
            Park("no room", budget=BudgetWait("day", Decimal(1))),
            End(RunStatus.FAILED, "the model is gone"),
            End(RunStatus.CANCELLED, "cancelled"),
        ]
        for number, how in enumerate(ends):
            await world.intake.take(alert(f"f{number}", problem=f"p{number}"))
            await release_claim(world.intake.engine, (await world.intake.begin()).claim, how)
        await world.feed().advance()
        found = [(one.event.kind, one.event.reason) for one in await world.stored() if one.event.kind is not EventKind.STARTED]
        assert found == [
            (EventKind.WAITING, "paused by alice"),
            (EventKind.BUDGET, "no room"),
            (EventKind.FAILED, "the model is gone"),
        ]


async def test_two_processes_make_each_notification_once_and_so_does_one_that_reads_again(database_url: str) -> None:
    async with notify_world(database_url, {"chat": Mailbox()}, [ALL]) as world:
        for number in range(5):
            await world.intake.take(alert(f"f{number}", problem=f"p{number}"))
            await world.intake.begin()
        async with anyio.create_task_group() as tasks:
            for _ in range(2):
                tasks.start_soon(world.feed().advance)
        assert len(await world.stored()) == 5
        async with world.intake.engine.begin() as connection:
            await connection.exec_driver_sql("UPDATE notification_cursors SET last_id = 0")
        await world.feed().advance()
        assert len(await world.stored()) == 5
        assert len(await world.rows("SELECT id FROM work WHERE kind = 'notification:chat'")) == 5


async def test_a_notification_that_cannot_be_stored_is_made_when_the_events_are_read_again(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with notify_world(database_url, {"chat": Mailbox()}, [ALL]) as world:
        await world.intake.take(alert())
        await world.intake.begin()
        with monkeypatch.context() as broken:
            broken.setattr("tarsy.db.notification_repository.enqueue", None)
            with pytest.raises(TypeError):
                await world.feed().advance()
        assert await world.stored() == []
        await world.feed().advance()
        assert [one.event.kind for one in await world.stored()] == [EventKind.STARTED]


async def test_an_event_that_cannot_be_read_is_skipped_and_holds_up_no_other(database_url: str) -> None:
    async with notify_world(database_url, {"chat": Mailbox()}, [replace(ALL, on=frozenset({EventKind.VERDICT}))]) as world:
        for problem in ("p1", "p2"):
            await world.intake.take(alert(problem, problem=problem))
            await world.intake.finish(await world.intake.begin(), ANALYSIS, JUDGED)
        async with world.intake.engine.begin() as connection:
            await connection.exec_driver_sql("UPDATE alert_sessions SET verdict = '{}' WHERE alert_data LIKE '%p1%'")
        await world.feed().advance()
        assert [one.event.title for one in await world.stored()] == ["Disk p2 is full"]


async def test_rules_that_are_new_concern_events_from_then_on_and_unread_events_are_not_erased(database_url: str) -> None:
    async with notify_world(database_url, {}, []) as world:
        await world.intake.take(alert("f1", problem="p1"))
        await world.intake.begin()
        feed = world.feed()
        feed.reconfigure(NotificationPolicy(targets={"chat": Mailbox()}, rules=[ALL]), str)
        await feed.advance()
        await world.intake.take(alert("f2", problem="p2"))
        await world.intake.begin()
        await PostgresRetentionStore(world.intake.engine).erase_events(older_than_seconds=-60)
        await feed.advance()
        assert [one.event.title for one in await world.stored()] == ["Disk f2 is full"]
        assert await PostgresRetentionStore(world.intake.engine).erase_events(older_than_seconds=-60) > 0


async def test_only_a_change_is_sent_of_an_incident_that_is_investigated_again(database_url: str) -> None:
    verdicts = replace(ALL, on=frozenset({EventKind.VERDICT}), only_if_changed=True)
    async with notify_world(database_url, {"chat": Mailbox()}, [verdicts]) as world:
        taken = await world.intake.take(alert())
        assert taken.main
        assert taken.main.incident_id
        changed = replace(JUDGED, confidence=Confidence.MEDIUM)
        for judged in (JUDGED, JUDGED, changed, changed):
            await world.intake.finish(await world.intake.begin(), ANALYSIS, judged)
            await world.feed().advance()
            await world.intake.commands().investigate(taken.main.incident_id, actor="alice")
        assert [one.event.confidence for one in await world.stored()] == [Confidence.HIGH, Confidence.MEDIUM]
        async with world.intake.engine.begin() as connection:
            await connection.exec_driver_sql("UPDATE notifications SET status = 'dead_letter' WHERE event ->> 'confidence' = 'medium'")
        await world.intake.finish(await world.intake.begin(), ANALYSIS, changed)
        await world.feed().advance()
        # Nobody has read the one that was given up.
        assert [one.event.confidence for one in await world.stored()] == [Confidence.HIGH, Confidence.MEDIUM, Confidence.MEDIUM]


async def test_an_event_without_an_incident_has_no_earlier_ones_and_none_are_searched_for(database_url: str) -> None:
    async with notify_world(database_url, {"chat": Mailbox()}, [ALL]) as world:
        statements: list[str] = []
        log_statements(world.intake.engine, statements)
        async with world.intake.engine.connect() as connection:
            assert await last_events(connection, message(EventKind.VERDICT, world.clock.now()).event) == {}
        assert statements == []


async def test_rules_that_no_process_has_any_more_are_forgotten_after_ten_minutes_and_later_ones_begin_with_new_events(
    database_url: str,
) -> None:
    async with notify_world(database_url, {"chat": Mailbox()}, [ALL]) as world:
        without = NotificationFeed(world.intake.engine, NotificationPolicy(), str)
        await world.intake.take(alert("f1", problem="p1"))
        await world.intake.begin()
        await without.clean_up()
        assert len(await world.rows("SELECT channel FROM notification_cursors")) == len(CHANNELS)
        async with world.intake.engine.begin() as connection:
            await connection.exec_driver_sql("UPDATE events SET created_at = now() - interval '11 minutes'")
        await without.clean_up()
        assert await world.rows("SELECT channel FROM notification_cursors") == []
        feed = world.feed()
        await feed.advance()
        await world.intake.take(alert("f2", problem="p2"))
        await world.intake.begin()
        await feed.advance()
        assert [one.event.title for one in await world.stored()] == ["Disk f2 is full"]


async def test_a_process_without_rules_takes_nothing_from_one_that_has_them(database_url: str) -> None:
    async with notify_world(database_url, {"chat": (box := Mailbox())}, [ALL]) as world:
        feed, without = world.feed(), NotificationFeed(world.intake.engine, NotificationPolicy(), str)
        for number in (1, 2):
            await world.intake.take(alert(f"f{number}", problem=f"p{number}"))
            await world.intake.begin()
            await feed.advance()
            await without.advance()
            await without.clean_up()
        assert await world.deliver("chat") == 2
        assert [one.event.title for one in box.received] == ["Disk f1 is full", "Disk f2 is full"]


async def test_a_clean_up_that_failed_is_repeated_though_there_are_no_rules(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tarsy.notify.feed.CLEAN_UP_SECONDS", 0.0)
    outages = [OSError("the database is away")]

    class Outage(NotificationFeed):
        async def clean_up(self) -> None:
            if outages:
                raise outages.pop()
            await super().clean_up()
            cleaned_up.set()

    cleaned_up = anyio.Event()
    async with notify_world(database_url, {"chat": Mailbox()}, [ALL]) as world:
        await world.intake.take(alert())
        await world.intake.begin()
        async with world.intake.engine.begin() as connection:
            await connection.exec_driver_sql("UPDATE events SET created_at = now() - interval '11 minutes'")
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(Outage(world.intake.engine, NotificationPolicy(), str).run)
                await cleaned_up.wait()
                tasks.cancel_scope.cancel()
        assert await world.rows("SELECT channel FROM notification_cursors") == []


async def test_a_process_whose_cursors_another_version_has_deleted_begins_again(database_url: str) -> None:
    async with notify_world(database_url, {"chat": Mailbox()}, [ALL]) as world:
        feed = world.feed()
        await feed.advance()
        async with world.intake.engine.begin() as connection:
            await connection.exec_driver_sql("DELETE FROM notification_cursors")
        await feed.advance()
        await world.intake.take(alert())
        await world.intake.begin()
        await feed.advance()
        assert [one.event.kind for one in await world.stored()] == [EventKind.STARTED]


async def test_what_was_to_go_to_a_target_that_is_gone_is_a_dead_letter(database_url: str) -> None:
    async with notify_world(database_url, {"chat": Mailbox()}, [ALL]) as world:
        await world.intake.take(alert())
        await world.intake.begin()
        feed = world.feed()
        await feed.advance()
        feed.reconfigure(NotificationPolicy(), str)
        async with world.intake.engine.begin() as connection:
            await connection.exec_driver_sql("UPDATE notifications SET expires_at = now()")
        await feed.clean_up()
        [gone] = await world.stored()
        assert (gone.status, gone.error) == (NotificationStatus.DEAD_LETTER, "the configuration no longer has this target")


async def test_old_notifications_are_erased_with_their_work_and_pending_ones_are_kept(database_url: str) -> None:
    async with notify_world(database_url, {"chat": Mailbox()}, [ALL]) as world:
        for number in (1, 2):
            await world.intake.take(alert(f"f{number}", problem=f"p{number}"))
            await world.intake.begin()
            await world.feed().advance()
            if number == 1:
                await world.deliver("chat")
        async with world.intake.engine.begin() as connection:
            await connection.exec_driver_sql("UPDATE notifications SET created_at = now() - interval '100 days'")
        await PostgresRetentionStore(world.intake.engine).erase_incidents(days=90)
        assert [one.status for one in await world.stored()] == [NotificationStatus.PENDING]
        assert len(await world.rows("SELECT id FROM work WHERE kind = 'notification:chat'")) == 1


async def test_the_work_of_notifications_that_were_erased_with_their_session_is_erased_too(database_url: str) -> None:
    async with notify_world(database_url, {"chat": Mailbox()}, [ALL]) as world:
        for number in (1, 2):
            await world.intake.take(alert(f"f{number}", problem=f"p{number}"))
            await world.intake.finish(await world.intake.begin())
            await world.feed().advance()
            if number == 1:
                assert await world.deliver("chat")
        for session in await world.intake.sessions():
            await SessionRepository(Publisher(world.intake.engine)).purge(str(session["id"]), actor="alice")
        assert await world.stored() == []
        await PostgresRetentionStore(world.intake.engine).erase_incidents(days=90)
        assert await world.rows("SELECT kind, state FROM work") == []


async def test_what_falls_into_quiet_hours_is_not_sent_before_they_end(database_url: str) -> None:
    async with notify_world(database_url, {"chat": (box := Mailbox())}, [ALL]) as world:
        await world.intake.take(alert())
        await world.intake.begin()
        await world.feed().advance()
        async with world.intake.engine.begin() as connection:
            await connection.exec_driver_sql("UPDATE work SET not_before = now() + interval '8 hours' WHERE kind = 'notification:chat'")
        assert await world.deliver("chat") == 0
        await world.make_due()
        world.clock.at += timedelta(hours=8)
        assert await world.deliver("chat") == 1
        assert len(box.received) == 1
