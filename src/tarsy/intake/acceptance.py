"""What intake needs from the rest of the program."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol
from uuid import uuid4

import sqlalchemy as sa
import structlog
from anyio import to_thread
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tarsy.db.batcher import Turns
from tarsy.db.incident.changes import store_changes
from tarsy.db.incident.investigations import WantedLook, cancel_looks, lock_waiting, raise_looks, room_in_queue, store_looks
from tarsy.db.incident.mutes import mutes_at
from tarsy.db.incident.state import answered, count_activity, lock_keys, read_known, remember_answers, write_incidents, write_members
from tarsy.db.outbox import publish_for
from tarsy.domain import live_events
from tarsy.domain.alert import AlertStatus, Change
from tarsy.domain.incident import Incident, Investigation, Member, identity_of
from tarsy.domain.route import RouteAction
from tarsy.intake.answer import Taken, summed_up, taken_from
from tarsy.intake.batch import Arrival, Entered, Ledger, NewLook, Rules
from tarsy.intake.delivery import Delivery
from tarsy.intake.investigations import Chains, Investigations, Request
from tarsy.intake.masking import Mask, masked_alert, masked_change
from tarsy.intake.policy import Policy, route_for
from tarsy.intake.updates import news_text, tell_news
from tarsy.kit.clock import Clock, SystemClock


class IntakeWatch(Protocol):
    """Is told of what came in once it is stored, and of what was refused."""

    def taken(self, source: str, action: str, alerts: int) -> None: ...

    def changed(self, source: str, changes: int) -> None: ...

    def investigated(self, alert_type: str) -> None: ...

    def refused(self, source: str, reason: str) -> None: ...


class Unwatched:
    """Counts nothing."""

    def taken(self, source: str, action: str, alerts: int) -> None: ...

    def changed(self, source: str, changes: int) -> None: ...

    def investigated(self, alert_type: str) -> None: ...

    def refused(self, source: str, reason: str) -> None: ...


async def write_ledger(connection: AsyncConnection, ledger: Ledger, investigations: Investigations, chains: Chains) -> None:
    """Store everything that has changed. Work is locked before anything is told: the order that all writers keep."""
    waiting = await lock_waiting(connection, [*ledger.cancelled.values(), *ledger.raised, *_may_have_begun(ledger)])
    _spare_what_has_begun(ledger, waiting)
    looks = await _looks(connection, ledger, investigations, chains)
    incidents = [ledger.incidents[incident_id] for incident_id in sorted(ledger.touched)]
    await write_incidents(connection, incidents)
    await write_members(connection, list(ledger.written.values()), set(ledger.retired))
    await count_activity(connection, ledger.activity, ledger.now)
    told = await store_looks(connection, looks)
    await raise_looks(connection, {session: priority for session, priority in ledger.raised.items() if session in waiting})
    await cancel_looks(connection, [session for session in ledger.cancelled.values() if session in waiting])
    news = await tell_news(connection, _news(ledger, waiting), ledger.now)
    changed = [(None, live_events.incident_changed(incident, ledger.now)) for incident in incidents]
    await publish_for(connection, [*news, *told, *changed])


def _may_have_begun(ledger: Ledger) -> list[str]:
    """Investigations that waited when the alerts were decided about, and that are told of them if a worker has begun meanwhile."""
    told = (ledger.incidents[incident_id] for incident_id in ledger.news if incident_id not in ledger.looks)
    return [incident.session_id for incident in told if incident.session_id and incident.view.investigation is Investigation.PENDING]


def _news(ledger: Ledger, waiting: set[str]) -> list[tuple[Incident, str]]:
    """What those hear who investigate; an investigation that has not begun is briefed when it does."""
    incidents = {incident_id: ledger.incidents[incident_id] for incident_id in ledger.news if incident_id not in ledger.looks}
    return [
        (incident, news_text(ledger.news[incident_id], incident))
        for incident_id, incident in incidents.items()
        if incident.session_id and incident.session_id not in waiting
    ]


def _spare_what_has_begun(ledger: Ledger, waiting: set[str]) -> None:
    """An investigation that a worker took while we decided is not taken back: it is the incident's, and goes on."""
    for incident_id, session_id in ledger.cancelled.items():
        if session_id not in waiting:
            ledger.incidents[incident_id] = replace(ledger.incidents[incident_id], session_id=session_id)


async def _looks(connection: AsyncConnection, ledger: Ledger, investigations: Investigations, chains: Chains) -> list[WantedLook]:
    """The investigations that there is room for. Incidents that get none keep their alerts; time brings them one when there is room."""
    wanted = sorted(ledger.looks.items(), key=lambda item: -item[1].look.priority)
    room = await room_in_queue(connection, investigations.max_queue_size, len(wanted))
    for incident_id, _ in wanted[room:]:
        ledger.without_look(incident_id)
    return [
        investigations.of(ledger.incidents[incident_id], _told(ledger, look), _request(look), chains, ledger.now)
        for incident_id, look in wanted[:room]
    ]


def _told(ledger: Ledger, look: NewLook) -> Member:
    return ledger.members[look.cause.key]


def _request(look: NewLook) -> Request:
    cause = look.cause
    return Request(session_id=look.session_id, look=look.look, author=cause.author, runbook_url=cause.runbook_url, runbook=cause.runbook)


log = structlog.get_logger(__name__)

# As many requests as share a transaction: more would keep the first of them waiting.
MAX_TOGETHER = 32
# Some milliseconds of a masker's work.
QUICK_CHARACTERS = 16_000
# PagerDuty gives up after five seconds, most others after ten to thirty.
TAKE_SECONDS = 25.0
# Longer than storing the largest request takes; what takes longer is ended by the server, and the others of its batch are taken without it.
_TIME_LIMIT = sa.text("SET LOCAL statement_timeout = '10s'")


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """A request that may come in. `alert_type` and `runbook_url` are what it asks for beside its body."""

    delivery: Delivery
    author: str
    alert_type: str | None = None
    runbook_url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Prepared:
    """A request with its secrets hidden and its chains found: all that can be done before the transaction."""

    delivery: Delivery
    arrivals: tuple[Arrival, ...]
    changes: tuple[Change, ...]
    chains: Chains

    @property
    def key(self) -> str | None:
        """Names the request, if its sender numbers them."""
        delivery = self.delivery
        return identity_of("delivery", delivery.source, delivery.delivery_id) if delivery.delivery_id else None


@dataclass(slots=True)
class Door:
    engine: AsyncEngine
    policy: Callable[[], Policy]
    investigations: Investigations
    mask: Mask
    clock: Clock = field(default_factory=SystemClock)
    watch: IntakeWatch = field(default_factory=Unwatched)
    _turns: Turns[_Prepared, Taken] = field(init=False)

    def __post_init__(self) -> None:
        self._turns = Turns(self._take_all, together=MAX_TOGETHER, seconds=TAKE_SECONDS)

    async def take(self, incoming: Incoming) -> Taken:
        """Take what a sender says.

        Raises:
            AlertRefusedError: an alert is of a type that no chain answers, or its model is a recording of another.
            NoProviderError: there is no model to investigate with; nothing was stored, and the sender should try again.
        """
        taken = await self._turns.take(await self._prepared(incoming))
        log.info("webhook.taken", source=taken.source, alerts=taken.alerts, changes=taken.changes, incidents=len(taken.results))
        return taken

    async def _prepared(self, incoming: Incoming) -> _Prepared:
        arrivals = await self._arrivals(incoming)
        return _Prepared(
            delivery=incoming.delivery,
            arrivals=tuple(arrivals),
            changes=tuple(masked_change(change, self.mask) for change in incoming.delivery.changes),
            chains=await self.investigations.chains_for(_wanted_types(arrivals, self.policy())),
        )

    async def _arrivals(self, incoming: Incoming) -> list[Arrival]:
        alerts = incoming.delivery.alerts
        asked_url, runbook = await self.investigations.asked_runbook(incoming.runbook_url)
        runbook_urls = [asked_url or await self.investigations.runbook_of(alert) for alert in alerts]

        def hidden() -> list[Arrival]:
            return [
                Arrival(
                    sent=alert,
                    masked=masked_alert(alert, self.mask),
                    author=incoming.author,
                    alert_type=incoming.alert_type,
                    runbook_url=runbook_url,
                    runbook=runbook,
                )
                for alert, runbook_url in zip(alerts, runbook_urls, strict=True)
            ]

        # Masking is arithmetic: what is long would hold up the others.
        long = sum(len(alert.body) for alert in alerts) > QUICK_CHARACTERS
        return await to_thread.run_sync(hidden) if long else hidden()

    async def _take_all(self, batch: Sequence[_Prepared]) -> Sequence[Taken]:
        async with self.engine.begin() as connection:
            await connection.execute(_TIME_LIMIT)
            ledger = await self._ledger(connection, batch)
            stored = await answered(connection, [one.key for one in batch if one.key])
            before = {key: taken_from(answer) for key, answer in stored.items()}
            taken = await self._enter_all(connection, _without_repeats(batch, before), ledger)
        self._tell(taken.values(), ledger)
        every = {**before, **{one.key: answer for one, answer in taken.items() if one.key}}
        return [taken[one] if one in taken else every[one.key or ""] for one in batch]

    async def _ledger(self, connection: AsyncConnection, batch: Sequence[_Prepared]) -> Ledger:
        """What concerns these requests, with their keys locked."""
        policy, arrivals = self.policy(), [arrival for one in batch for arrival in one.arrivals]
        keys = {route_for(arrival.sent, policy.routes).incident_key(arrival.sent) for arrival in arrivals}
        alert_keys = {arrival.key for arrival in arrivals}
        await lock_keys(connection, [*keys, *alert_keys, *(one.key for one in batch if one.key)])
        known = await read_known(connection, keys, alert_keys)
        # After the locks: what was stored while this transaction waited for them was not stored in its future.
        now = self.clock.now()
        mutes = [*policy.mutes, *await mutes_at(connection, now)]
        return Ledger(
            rules=Rules(routes=policy.routes, mutes=mutes, default_alert_type=policy.default_alert_type),
            now=now,
            new_id=lambda: str(uuid4()),
            incidents=known.incidents,
            latest=known.latest,
            members=known.members,
        )

    async def _enter_all(self, connection: AsyncConnection, fresh: Sequence[_Prepared], ledger: Ledger) -> Mapping[_Prepared, Taken]:
        entered = {one: [ledger.enter(arrival) for arrival in one.arrivals] for one in fresh}
        chains = {name: chain for one in fresh for name, chain in one.chains.items()}
        await store_changes(connection, [change for one in fresh for change in one.changes], ledger.now)
        await write_ledger(connection, ledger, self.investigations, chains)
        taken = {one: _taken(one, entered[one], ledger) for one in fresh}
        given = {one.key: answer.as_json() for one, answer in taken.items() if one.key}
        await remember_answers(connection, given, ledger.now)
        return taken

    def _tell(self, taken: Iterable[Taken], ledger: Ledger) -> None:
        """Say what is stored now."""
        for one in taken:
            for result in one.results:
                self.watch.taken(one.source, result.action, result.alerts)
            if one.changes:
                self.watch.changed(one.source, one.changes)
        for incident_id in ledger.looks:
            self.watch.investigated(ledger.incidents[incident_id].alert_type)


def _taken(one: _Prepared, entered: Sequence[Entered], ledger: Ledger) -> Taken:
    return Taken(
        source=one.delivery.source,
        alerts=len(one.arrivals),
        changes=len(one.changes),
        truncated=one.delivery.truncated,
        remark=one.delivery.remark,
        results=summed_up(entered, ledger.incidents),
    )


def _wanted_types(arrivals: Sequence[Arrival], policy: Policy) -> dict[str, str]:
    """The alert types that an investigation of these alerts may need, each with an alert of it."""
    wanted: dict[str, str] = {}
    for arrival in arrivals:
        route = route_for(arrival.sent, policy.routes)
        if arrival.sent.status is AlertStatus.FIRING and route.action is RouteAction.INVESTIGATE:
            wanted.setdefault(arrival.alert_type or route.alert_type or policy.default_alert_type, arrival.masked.body)
    return wanted


def _without_repeats(batch: Sequence[_Prepared], before: Mapping[str, Taken]) -> list[_Prepared]:
    """The requests that were not taken before, and of those that are one, the first."""
    fresh: dict[str, _Prepared] = {}
    for number, one in enumerate(batch):
        if one.key not in before:
            fresh.setdefault(one.key or str(number), one)
    return list(fresh.values())
