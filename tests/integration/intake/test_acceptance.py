"""Alerts that are accepted: one incident for a problem and one investigation for an incident, however often and at whichever replica they arrive."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from threading import get_ident
from typing import Any

import anyio
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import event
from sqlalchemy.exc import IntegrityError

from support.api_world import FixedChains, tool_server
from support.intake_world import FIRING, RESOLVED, ROUTE, IntakeWorld, alert, delivery, intake_world
from tarsy.config.resolve.resolved import ResolvedChain
from tarsy.config.schema.selection import McpSelection
from tarsy.domain.alert import Alert, AlertStatus, Change, ChangeOutcome, Severity
from tarsy.domain.incident import Mute
from tarsy.domain.route import MAX_REINVESTIGATIONS, OnResolved, RouteAction
from tarsy.intake.answer import Answer, Outcome
from tarsy.intake.delivery import Delivery
from tarsy.intake.fields import QUICK_CHARACTERS
from tarsy.intake.policy import Route, ServerVariants
from tarsy.session.chains import UnknownAlertTypeError

# More than one transaction takes, from as many connections as three replicas have.
CROWD = 60
REPLICAS = 3


async def test_a_repeat_is_counted_and_starts_nothing(database_url: str) -> None:
    async with intake_world(database_url) as ground:
        first = await ground.take(alert())
        ground.later(minutes=5)
        second = await ground.take(alert())
        [incident] = await ground.incidents()
        [session] = await ground.sessions()
        assert first.main
        assert second.main
        assert (first.main.action, second.main.action) == (Outcome.OPENED, Outcome.REPEATED)
        assert (incident["deliveries"], incident["alerts"], incident["firing"]) == (2, 1, 1)
        assert first.main.session_id == second.main.session_id == str(session["id"])
        assert str(session["incident_id"]) == str(incident["id"])
        activity = await ground.rows("SELECT firing, resolved FROM incident_activity ORDER BY minute")
        assert activity == [{"firing": 1, "resolved": 0}] * 2


async def test_a_crowd_on_three_replicas_opens_exactly_one_incident(database_url: str) -> None:
    async with intake_world(database_url) as one, intake_world(database_url) as two, intake_world(database_url) as three:
        replicas = [ground.acceptance() for ground in (one, two, three)]
        async with anyio.create_task_group() as tasks:
            for number in range(CROWD):
                accept = partial(replicas[number % REPLICAS].accept, delivery(alert(f"f{number % 7}")), author="monitor")
                tasks.start_soon(accept)
        [incident] = await one.incidents()
        assert len(await one.sessions()) == 1
        assert (incident["deliveries"], incident["alerts"], incident["firing"]) == (CROWD, 7, 7)
        assert await one.rows("SELECT sum(count) AS n, count(*) AS alerts FROM alerts") == [{"n": CROWD, "alerts": 7}]


async def test_what_resolves_before_its_investigation_began_costs_nothing(database_url: str) -> None:
    async with intake_world(database_url) as ground:
        await ground.take(alert("f1"), alert("f2"))
        await ground.take(alert("f1", RESOLVED))
        assert [session["status"] for session in await ground.sessions()] == ["pending"]
        over = await ground.take(alert("f2", RESOLVED))
        assert over.main
        assert over.main.action is Outcome.RESOLVED
        assert [session["status"] for session in await ground.sessions()] == ["cancelled"]
        [incident] = await ground.incidents()
        assert incident["resolved_at"] is not None
        assert incident["session_id"] is None


async def test_an_investigation_that_runs_goes_on_when_its_incident_is_over(database_url: str) -> None:
    async with intake_world(database_url) as ground:
        await ground.take(alert())
        await ground.begin()
        await ground.take(alert(status=RESOLVED))
        assert [session["status"] for session in await ground.sessions()] == ["in_progress"]


async def test_an_investigation_waits_for_further_alerts_by_the_clock_that_lets_it_begin(database_url: str) -> None:
    async with intake_world(database_url, routes=(replace(ROUTE, group_wait=timedelta(seconds=15)),)) as ground:
        ground.later(hours=1)
        await ground.take(alert())
        [waits] = await ground.rows("SELECT not_before - now() AS seconds FROM work")
        assert waits["seconds"] < timedelta(seconds=16)


async def test_a_route_can_let_pending_investigations_go_on(database_url: str) -> None:
    async with intake_world(database_url, routes=[replace(ROUTE, on_resolved=OnResolved.NOTE)]) as ground:
        await ground.take(alert())
        await ground.take(alert(status=RESOLVED))
        assert [session["status"] for session in await ground.sessions()] == ["pending"]


async def test_what_comes_back_soon_is_the_same_incident_and_what_comes_back_late_another(database_url: str) -> None:
    async with intake_world(database_url) as ground:
        await ground.take(alert())
        await ground.take(alert(status=RESOLVED))
        ground.later(minutes=20)
        again = await ground.take(alert())
        assert again.main
        assert again.main.action is Outcome.REOPENED
        # The first was cancelled before it began.
        assert [session["status"] for session in await ground.sessions()] == ["cancelled", "pending"]
        await ground.take(alert(status=RESOLVED))
        ground.later(hours=2)
        later = await ground.take(alert())
        assert later.main
        assert later.main.action is Outcome.OPENED
        assert len(await ground.incidents()) == 2
        # The alert is part of both, and current in one.
        rows = await ground.rows("SELECT count, is_current FROM alerts ORDER BY first_at")
        assert rows == [{"count": 4, "is_current": False}, {"count": 1, "is_current": True}]


async def test_what_still_fires_is_investigated_again_by_one_who_knows_what_was_found(database_url: str) -> None:
    async with intake_world(database_url) as ground:
        await ground.take(alert())
        await ground.finish(await ground.begin(), "The log rotation is broken.")
        ground.later(hours=3)
        assert len(await ground.sessions()) == 1
        await ground.take(alert())
        ground.later(hours=1, minutes=1)
        again = await ground.take(alert())
        assert again.main
        assert again.main.action is Outcome.INVESTIGATED_AGAIN
        begun = await ground.begin()
        assert "The log rotation is broken." in begun.subject.alert_data
        assert "received 3 times" in begun.subject.alert_data


async def test_an_investigation_is_informed_of_every_alert_that_joined_before_it_began(database_url: str) -> None:
    async with intake_world(database_url) as ground:
        await ground.take(alert("f1"))
        await ground.take(alert("f2", severity=Severity.CRITICAL))
        begun = await ground.begin()
        assert begun.subject.alert_data.startswith("# Disk f1 is full\n")
        assert begun.subject.alert_data.index("## Disk f2 is full") < begun.subject.alert_data.index("## Disk f1 is full")
        stored = await ground.sessions()
        assert stored[0]["alert_data"] == begun.subject.alert_data
        # What joins later is not part of what it was given.
        await ground.take(alert("f3"))
        assert (await ground.sessions())[0]["alert_data"] == begun.subject.alert_data


async def test_a_worse_alert_moves_what_waits_ahead(database_url: str) -> None:
    async with intake_world(database_url) as ground:
        await ground.take(alert("f1", problem="first"))
        ground.later(seconds=1)
        await ground.take(alert("f2", problem="second"))
        await ground.take(alert("f3", problem="second", severity=Severity.CRITICAL))
        assert "Disk f2 is full" in (await ground.begin()).subject.alert_data


async def test_secrets_are_stored_nowhere(database_url: str) -> None:
    async with intake_world(database_url) as ground:
        reported = alert(title="hunter2", body="hunter2", labels={"problem": "p", "x": "hunter2"}, annotations={"summary": "hunter2"})
        change = Change(
            source="ci", fingerprint="c", title="hunter2", outcome=ChangeOutcome.SUCCEEDED, labels={"a": "hunter2"}, body="hunter2"
        )
        await ground.take(reported, changes=(change,))
        for table in ("alerts", "incidents", "changes", "alert_sessions", "events"):
            assert await ground.rows(f"SELECT 1 AS found FROM {table} t WHERE CAST(t AS text) LIKE '%hunter2%'") == []  # noqa: S608 - our own words


async def test_a_large_delivery_is_a_few_statements(database_url: str) -> None:
    async with intake_world(database_url) as ground:
        statements: list[str] = []

        def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
            statements.append(statement)

        event.listen(ground.engine.sync_engine, "before_cursor_execute", note)
        await ground.take(*(alert(f"f{number}") for number in range(500)))
        assert len(statements) < 25
        assert (await ground.incidents())[0]["firing"] == 500


async def test_a_request_that_is_sent_again_counts_once_and_gets_the_same_answer(database_url: str) -> None:
    async with intake_world(database_url) as ground:
        acceptance, answers = ground.acceptance(), list[Answer]()

        async def send() -> None:
            answers.append(await acceptance.accept(delivery(alert(), delivery_id="d1"), author="monitor"))

        async with anyio.create_task_group() as tasks:
            for _ in range(4):
                tasks.start_soon(send)
        answers.append(await ground.take(alert(), delivery_id="d1"))
        assert all(answer == answers[0] for answer in answers)
        assert (await ground.incidents())[0]["deliveries"] == 1


async def test_a_full_queue_keeps_the_incident_without_an_investigation(database_url: str) -> None:
    async with intake_world(database_url, max_queue_size=1) as ground:
        await ground.take(alert("f1", problem="first"))
        second = await ground.take(alert("f2", problem="second"))
        assert second.main
        assert (second.main.action, second.main.session_id) == (Outcome.OPENED, None)
        assert len(await ground.incidents()) == 2
        assert len(await ground.sessions()) == 1


async def test_a_repeated_investigation_that_finds_the_queue_full_leaves_the_incident_the_last_one(database_url: str) -> None:
    async with intake_world(database_url, max_queue_size=1) as ground:
        first = await ground.take(alert())
        await ground.finish(await ground.begin())
        ground.later(hours=5)
        await ground.take(alert("f2", problem="fills the queue"))
        again = await ground.take(alert())
        assert first.main
        assert again.main
        assert (again.main.session_id, again.main.session_status) == (first.main.session_id, "completed")
        incident, _ = await ground.incidents()
        assert (str(incident["session_id"]), incident["looked_again"]) == (first.main.session_id, 0)
        await ground.begin()
        await ground.maintenance().round()
        incident, _ = await ground.incidents()
        assert (str(incident["session_id"]) != first.main.session_id, incident["looked_again"]) == (True, 1)


async def test_a_repeated_investigation_that_is_cancelled_leaves_the_incident_the_last_one(database_url: str) -> None:
    async with intake_world(database_url) as ground:
        first = await ground.take(alert())
        assert first.main
        await ground.finish(await ground.begin())
        ground.later(hours=5)
        for _ in range(MAX_REINVESTIGATIONS + 1):
            await ground.take(alert())
            assert (await ground.incidents())[0]["looked_again"] == 1
            await ground.take(alert(status=RESOLVED))
            [incident] = await ground.incidents()
            assert (str(incident["session_id"]), incident["looked_again"]) == (first.main.session_id, 0)
        # Also if it fires again in the same request, and if a person resolves the incident.
        await ground.take(alert())
        [incident] = await ground.incidents()
        ground.later(seconds=1)
        await ground.take(alert(status=RESOLVED), alert())
        assert (await ground.incidents())[0]["looked_again"] == 1
        await ground.commands().resolve(str(incident["id"]), actor="alice")
        [incident] = await ground.incidents()
        assert (str(incident["session_id"]), incident["looked_again"]) == (first.main.session_id, 0)
        assert await ground.rows("SELECT * FROM notes") == []


async def test_a_change_opens_nothing_and_is_stored_once(database_url: str) -> None:
    async with intake_world(database_url) as ground:
        begun = Change(source="ci", fingerprint="c", title="Deploy cart", outcome=ChangeOutcome.STARTED, body="{}")
        await ground.take(changes=(begun,))
        taken = await ground.take(changes=(replace(begun, outcome=ChangeOutcome.FAILED),))
        assert (taken.alerts, taken.changes, taken.results) == (0, 1, ())
        assert await ground.rows("SELECT title, outcome FROM changes") == [{"title": "Deploy cart", "outcome": "failed"}]
        assert await ground.incidents() == []


async def test_a_long_change_is_masked_without_blocking_the_event_loop(database_url: str) -> None:
    threads = set[int]()
    async with intake_world(database_url) as ground:
        acceptance = ground.acceptance()
        acceptance.mask = lambda text: threads.add(get_ident()) or text
        pushed = Change(source="ci", fingerprint="c", title="Push", outcome=ChangeOutcome.SUCCEEDED, body="commit " * QUICK_CHARACTERS)
        await acceptance.accept(delivery(changes=(pushed,)), author="ci")
    assert get_ident() not in threads


async def test_muted_and_recorded_alerts_are_kept_without_an_incident(database_url: str) -> None:
    quiet = Route(name="quiet", match=(), action=RouteAction.RECORD)
    async with intake_world(database_url, routes=[quiet]) as ground:
        taken = await ground.take(alert())
        assert taken.main
        assert (taken.main.action, taken.main.reason) == (Outcome.RECORDED, "route quiet")
        ground.routes = [ROUTE]
        ground.mutes = [Mute(starts=ground.clock.at, ends=ground.clock.at + timedelta(hours=1), reason="moving house")]
        muted = await ground.take(alert())
        assert muted.main
        assert muted.main.reason == "muted: moving house"
        ground.later(hours=1)
        fires = await ground.take(alert())
        assert fires.main
        assert fires.main.action is Outcome.OPENED
        assert await ground.rows("SELECT count, reason, incident_id IS NULL AS alone FROM alerts ORDER BY first_at") == [
            {"count": 2, "reason": "muted: moving house", "alone": True},
            {"count": 1, "reason": None, "alone": False},
        ]


async def test_one_alert_that_cannot_be_stored_does_not_keep_the_others_out(database_url: str) -> None:
    async with intake_world(database_url) as ground:
        await ground.rows("SELECT 1 AS n")
        async with ground.engine.begin() as connection:
            await connection.execute(sa.text("ALTER TABLE alerts ADD CONSTRAINT no_poison CHECK (title <> 'poison')"))
        acceptance, refused = ground.acceptance(), list[str]()

        async def send(reported: Alert) -> None:
            try:
                await acceptance.accept(delivery(reported), author="monitor")
            except IntegrityError:
                refused.append(reported.title)

        async with anyio.create_task_group() as tasks:
            for number in range(6):
                tasks.start_soon(send, alert(f"f{number}", title="poison" if number == 3 else f"disk {number}"))
        assert refused == ["poison"]
        assert (await ground.incidents())[0]["alerts"] == 5


_MINUTES = st.integers(0, 30)
_EVENTS = st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), st.sampled_from([FIRING, RESOLVED]), _MINUTES), min_size=1, max_size=12)


def _reported(events: Sequence[tuple[str, AlertStatus, int]], ground: IntakeWorld, problem: str) -> list[Alert]:
    """Events that name their own time."""
    return [
        alert(
            f"{problem}-{name}",
            status,
            problem=problem,
            starts_at=ground.clock.at - timedelta(minutes=60 - minute),
            ends_at=ground.clock.at - timedelta(minutes=60 - minute) if status is RESOLVED else None,
        )
        for name, status, minute in events
    ]


async def test_any_order_and_grouping_of_deliveries_ends_in_the_same_statuses_and_counts_them_all(database_url: str) -> None:
    async with intake_world(database_url) as ground:
        runs: list[tuple[list[tuple[str, AlertStatus, int]], list[int], int]] = []

        @settings(max_examples=12)
        @given(events=_EVENTS, data=st.data())
        def choose(events: list[tuple[str, AlertStatus, int]], data: st.DataObject) -> None:
            order = data.draw(st.permutations(range(len(events))))
            runs.append((events, list(order), data.draw(st.integers(1, 4))))

        choose()
        for number, (events, order, together) in enumerate(runs):
            one, other = f"one{number}", f"other{number}"
            for reported in _reported(events, ground, one):
                await ground.take(reported)
            shuffled = [_reported(events, ground, other)[place] for place in order]
            for start in range(0, len(shuffled), together):
                await ground.take(*shuffled[start : start + together])
            query = """
                SELECT split_part(fingerprint, '-', 2) AS name, status, count_in_all AS n FROM alerts
                WHERE is_current AND fingerprint LIKE :which || '-%' ORDER BY 1
            """
            first = await ground.rows(query, which=one)
            assert first == await ground.rows(query, which=other)
            assert sum(row["n"] for row in first) == len(events)


async def test_a_delivery_without_alerts_says_why(database_url: str) -> None:
    async with intake_world(database_url) as ground:
        taken = await ground.acceptance().accept(Delivery(source="github", remark="ping"), author="github")
        assert (taken.remark, taken.main, await ground.incidents()) == ("ping", None, [])


class WithTools(FixedChains):
    def resolve(self, alert_type: str, selection: McpSelection | None) -> ResolvedChain:
        chain = super().resolve(alert_type, selection)
        agents = tuple(agent.model_copy(update={"mcp_servers": ("kubernetes-server",)}) for agent in chain.stages[0].agents)
        stage = chain.stages[0].model_copy(update={"agents": agents})
        return chain.model_copy(update={"stages": (stage,), "mcp_servers": {"kubernetes-server": tool_server("kubernetes-server")}})


async def test_an_investigation_has_the_tool_servers_that_its_alerts_label_chooses(database_url: str) -> None:
    servers = (ServerVariants("kubernetes-server", "cluster", {"eu1": "kubernetes-eu1"}),)
    async with intake_world(database_url, routes=(replace(ROUTE, tool_servers=servers),), chains=WithTools()) as ground:
        await ground.take(alert("f1", labels={"cluster": "eu1", "problem": "one"}))
        await ground.take(alert("f2", labels={"cluster": "eu9", "problem": "two"}))
        rows = await ground.rows("SELECT chain_snapshot FROM alert_sessions ORDER BY created_at, alert_data")
        agents = [row["chain_snapshot"]["stages"][0]["agents"][0] for row in rows]
        known = next(agent for agent in agents if "absent_servers" not in agent)
        unknown = next(agent for agent in agents if "absent_servers" in agent)
    assert known["mcp_servers"] == ["kubernetes-eu1"]
    assert unknown["mcp_servers"] == []
    assert 'label "cluster" says "eu9"' in unknown["absent_servers"]["kubernetes-server"]


@dataclass
class _RenamedType(FixedChains):
    """Chains of a configuration in which the alert type "silent" has another name by now."""

    renamed: bool = False

    def resolve(self, alert_type: str, selection: McpSelection | None) -> ResolvedChain:
        if self.renamed and alert_type == "silent":
            raise UnknownAlertTypeError(alert_type, ["kubernetes"])
        return super().resolve(alert_type, selection)


async def test_a_delivery_is_stored_also_if_the_alert_type_of_an_older_incident_is_gone(database_url: str) -> None:
    chains = _RenamedType()
    async with intake_world(database_url, routes=(replace(ROUTE, alert_type="silent"),), chains=chains) as ground:
        first = await ground.take(alert())
        assert first.main
        await ground.finish(await ground.begin())
        ground.later(hours=5)
        ground.routes, chains.renamed = (replace(ROUTE, alert_type="kubernetes"),), True
        answer = await ground.take(alert(), alert("f2", problem="new"))
        assert {result.action for result in answer.results} == {Outcome.INVESTIGATED_AGAIN, Outcome.OPENED}
        older, newer = await ground.incidents()
        assert (str(older["session_id"]), older["deliveries"], older["looked_again"]) == (first.main.session_id, 2, 0)
        assert (await ground.begin()).subject.incident_id == str(newer["id"])
        assert [session["status"] for session in await ground.sessions()] == ["completed", "in_progress"]


async def test_an_alert_of_an_earlier_version_without_an_instance_is_the_same_as_that_of_its_sender(database_url: str) -> None:
    async with intake_world(database_url, routes=()) as ground:
        opened = await ground.take(alert("f1", group_key="g"))
        joined = await ground.take(alert("f2", group_key="g", instance="eu"))
        over = await ground.take(*(alert(name, RESOLVED, group_key="g", instance="eu") for name in ("f1", "f2")))
        [incident] = await ground.incidents()
    assert [answer.results[0].action for answer in (opened, joined, over)] == ["opened", "joined", "resolved"]
    assert (incident["alerts"], incident["resolved_at"] is not None) == (2, True)
