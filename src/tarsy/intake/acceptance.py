"""Accepting deliveries: their alerts are masked, decided about, and stored in one transaction under locks on their keys."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import anyio.lowlevel
import sqlalchemy as sa
import structlog
from anyio import to_thread

from tarsy.config.resolve.resolved import ResolvedChain
from tarsy.db.batcher import Batcher
from tarsy.db.incident.changes import store_changes
from tarsy.db.incident.investigations import cancel_investigations, lock_waiting, raise_priorities
from tarsy.db.incident.mutes import mutes_at
from tarsy.db.incident.state import (
    batches,
    count_activity,
    lock_keys,
    lock_known_incidents,
    store_answers,
    stored_answers,
    write_incidents,
    write_members,
)
from tarsy.db.outbox import Publisher, Transaction
from tarsy.db.session.admission import Admission, NewInvestigation, store_investigations
from tarsy.domain import live_events
from tarsy.domain.alert import AlertStatus, Change
from tarsy.domain.incident import InvestigationState, identity_of
from tarsy.domain.route import RouteAction
from tarsy.intake.answer import Answer, Result, answer_from, summarise
from tarsy.intake.delivery import Delivery
from tarsy.intake.fields import QUICK_CHARACTERS
from tarsy.intake.investigations import Investigations
from tarsy.intake.masking import masked_alert, masked_change
from tarsy.intake.policy import Policy, route_for
from tarsy.intake.unit_of_work import IncomingAlert, UnitOfWork
from tarsy.intake.updates import store_updates, update_text
from tarsy.kit.clock import Clock
from tarsy.session.chains import UnknownAlertTypeError

log = structlog.get_logger(__name__)

# Deliveries that share a transaction. A larger batch would keep its first delivery waiting.
MAX_TOGETHER = 32
# Alerts after which other tasks get their turn.
YIELD_AFTER = 20
# Sessions that one transaction stores, each with the snapshot of its chain. Maintenance starts the investigations of further incidents.
MAX_NEW_INVESTIGATIONS = 100
# PagerDuty gives up after five seconds, most other senders after ten to thirty.
TAKE_SECONDS = 25.0
# Longer than storing the largest delivery takes. The server ends a longer statement, and the rest of the batch is stored without that delivery.
_TIME_LIMIT = sa.text("SET LOCAL statement_timeout = '10s'")


class DeliveryMetrics(Protocol):
    """Counts deliveries once they are stored, and requests that got an error response."""

    def count_alerts(self, source: str, action: str, alerts: int) -> None: ...

    def count_changes(self, source: str, changes: int) -> None: ...

    def count_refusal(self, source: str, reason: str) -> None: ...


class NoMetrics:
    def count_alerts(self, source: str, action: str, alerts: int) -> None: ...

    def count_changes(self, source: str, changes: int) -> None: ...

    def count_refusal(self, source: str, reason: str) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PreparedDelivery:
    """A delivery whose secrets are masked and whose chains are resolved: the transaction waits for nothing but the database."""

    delivery: Delivery
    alerts: Sequence[IncomingAlert]
    changes: Sequence[Change]
    chains: Mapping[str, ResolvedChain]

    @property
    def key(self) -> str | None:
        """Identifies a repeated delivery; None if the sender does not number its deliveries."""
        delivery = self.delivery
        return identity_of("delivery", delivery.source, delivery.delivery_id) if delivery.delivery_id else None


@dataclass(slots=True)
class AlertAcceptance:
    publisher: Publisher
    policy: Policy
    investigations: Investigations
    admission: Admission
    mask: Callable[[str], str]
    clock: Clock
    metrics: DeliveryMetrics
    _batches: Batcher[PreparedDelivery, Answer] = field(init=False)

    def __post_init__(self) -> None:
        self._batches = Batcher(self._store_batch, max_batch=MAX_TOGETHER, seconds=TAKE_SECONDS)

    async def accept(self, delivery: Delivery, *, author: str, alert_type: str | None = None, runbook_url: str | None = None) -> Answer:
        """Store a delivery, together with others that arrive at the same time. `alert_type` and `runbook_url` override those of the route and the alerts.

        Raises:
            AlertRefusedError: an alert's type has no chain, or its model is a recording of another alert.
            NoProviderError: there is no model to investigate with; nothing was stored, and the sender should try again.
        """
        masked_url = self.mask(runbook_url) if runbook_url else None
        runbook = await self.investigations.submissions.prefetch_runbook(runbook_url)

        def masked() -> tuple[list[IncomingAlert], list[Change]]:
            alerts = [
                IncomingAlert(
                    sent=alert,
                    masked=masked_alert(alert, self.mask),
                    route=(route := route_for(alert, self.policy.routes)),
                    alert_type=alert_type or route.alert_type or self.policy.default_alert_type,
                    author=author,
                    runbook_url=masked_url or self.investigations.runbook_of(alert),
                    runbook=runbook,
                    truncated=delivery.truncated,
                )
                for alert in delivery.alerts
            ]
            return alerts, [masked_change(change, self.mask) for change in delivery.changes]

        # Masking a long text would block the event loop.
        is_long = sum(len(one.body) for one in (*delivery.alerts, *delivery.changes)) > QUICK_CHARACTERS
        alerts, changes = await to_thread.run_sync(masked) if is_long else masked()
        bodies: dict[str, list[str]] = {}
        for alert in alerts:
            if alert.sent.status is AlertStatus.FIRING and alert.route.action is RouteAction.INVESTIGATE:
                bodies.setdefault(alert.alert_type, []).append(alert.masked.body)
        submissions = self.investigations.submissions
        chains = {alert_type: await submissions.chain_for(alert_type, texts) for alert_type, texts in bodies.items()}
        answer = await self._batches.submit(PreparedDelivery(delivery=delivery, alerts=alerts, changes=changes, chains=chains))
        log.info("webhook.taken", source=answer.source, alerts=answer.alerts, changes=answer.changes, incidents=len(answer.results))
        return answer

    async def _store_batch(self, batch: Sequence[PreparedDelivery]) -> Sequence[Answer]:
        """Lock the keys of a batch, decide about each alert, and write what follows, in one transaction."""
        alerts = [alert for prepared in batch for alert in prepared.alerts]
        identified = [*alerts, *(alert.earlier for alert in alerts if alert.sent.instance)]
        incident_keys, alert_keys = {alert.incident_key for alert in identified}, {alert.key for alert in identified}
        delivery_keys = [prepared.key for prepared in batch if prepared.key]
        async with self.publisher.transaction() as transaction:
            connection = transaction.connection
            await connection.execute(_TIME_LIMIT)
            await lock_keys(connection, [*incident_keys, *alert_keys, *delivery_keys])
            known = await lock_known_incidents(connection, incident_keys, alert_keys)
            # After the locks: rows that were stored while this transaction waited must not lie in its future.
            now = self.clock.now()
            unit = UnitOfWork(
                now=now,
                mutes=[*self.policy.mutes, *await mutes_at(connection, now)],
                incidents=known.incidents,
                latest=known.latest,
                alerts=known.alerts,
            )
            answers = {key: answer_from(stored) for key, stored in (await stored_answers(connection, delivery_keys)).items()}
            # A repeated delivery gets the answer that the first one got.
            new: dict[str, PreparedDelivery] = {}
            for number, prepared in enumerate(batch):
                if prepared.key not in answers:
                    new.setdefault(prepared.key or str(number), prepared)
            results: dict[PreparedDelivery, list[Result]] = {}
            for prepared in new.values():
                results[prepared] = []
                for alert in prepared.alerts:
                    results[prepared].append(unit.apply(alert))
                    if len(results[prepared]) % YIELD_AFTER == 0:
                        await anyio.lowlevel.checkpoint()
            await store_changes(connection, [change for prepared in new.values() for change in prepared.changes], now)
            chains = {alert_type: chain for prepared in new.values() for alert_type, chain in prepared.chains.items()}
            started = await self._write_changes(transaction, unit, chains)
            written = {
                prepared: Answer(
                    source=prepared.delivery.source,
                    alerts=len(prepared.alerts),
                    changes=len(prepared.changes),
                    truncated=prepared.delivery.truncated,
                    remark=prepared.delivery.remark,
                    results=summarise(results[prepared], unit.incidents),
                )
                for prepared in new.values()
            }
            await store_answers(connection, {one.key: answer.as_json() for one, answer in written.items() if one.key}, now)
        self.admission.report_submitted(started)
        for answer in written.values():
            for result in answer.results:
                self.metrics.count_alerts(answer.source, result.action, result.alerts)
            if answer.changes:
                self.metrics.count_changes(answer.source, answer.changes)
        answers |= {prepared.key: answer for prepared, answer in written.items() if prepared.key}
        return [written[prepared] if prepared in written else answers[prepared.key or ""] for prepared in batch]

    async def _write_changes(
        self, transaction: Transaction, unit: UnitOfWork, chains: Mapping[str, ResolvedChain]
    ) -> list[NewInvestigation]:
        """Write and publish everything that has changed. Return the new sessions.

        Every writer locks work before it publishes, so that no two wait for each other.
        """
        connection = transaction.connection
        pending = [
            incident.session_id
            for incident in (unit.incidents[incident_id] for incident_id in unit.updates if incident_id not in unit.planned)
            if incident.session_id and incident.investigation is InvestigationState.PENDING
        ]
        to_cancel = {incident_id: before.session_id for incident_id, before in unit.cancelled.items() if before.session_id}
        waiting = await lock_waiting(connection, [*to_cancel.values(), *unit.priorities, *pending])
        for incident_id, session_id in to_cancel.items():
            if session_id not in waiting:
                unit.keep_investigation(incident_id)
        planned = sorted(unit.planned.items(), key=lambda item: -item[1].schedule.priority)
        wanted = min(len(planned), MAX_NEW_INVESTIGATIONS)
        room = await self.admission.lock_room(connection, wanted)
        for incident_id, _ in planned[room:]:
            # The incident keeps its alerts; maintenance starts its investigation when there is room.
            unit.drop_investigation(incident_id)
        sessions: list[NewInvestigation] = []
        for incident_id, investigation in planned[:room]:
            incident, trigger = unit.incidents[incident_id], investigation.trigger
            try:
                session = self.investigations.session(
                    incident,
                    unit.alerts[trigger.key],
                    unit.now,
                    session_id=investigation.session_id,
                    author=trigger.author,
                    runbook_url=trigger.runbook_url,
                    runbook=trigger.runbook,
                    chain=chains.get(incident.alert_type),
                )
            except UnknownAlertTypeError as error:
                # Only of an older incident: those of the alerts have chains. The delivery must not be lost because of it.
                log.warning("incidents.not_investigated", incident_id=incident_id, reason=str(error))
                unit.drop_investigation(incident_id)
            else:
                sessions.append(NewInvestigation(session, investigation.schedule.priority, investigation.schedule.delay))
        incidents = [unit.incidents[incident_id] for incident_id in sorted(unit.changed)]
        await write_incidents(connection, incidents)
        await write_members(connection, list(unit.rows.values()), set(unit.retired))
        await count_activity(connection, unit.activity, unit.now)
        announced = await store_investigations(connection, sessions)
        await raise_priorities(
            connection, {session_id: priority for session_id, priority in unit.priorities.items() if session_id in waiting}
        )
        # An investigation that has not started reads all alerts of its incident when it does.
        notes = [
            (incident, update_text(unit.updates[incident.id], incident))
            for incident in (unit.incidents[incident_id] for incident_id in unit.updates if incident_id not in unit.planned)
            if incident.session_id and incident.investigation is not InvestigationState.FINISHED and incident.session_id not in waiting
        ]
        await transaction.publish_for(await store_updates(connection, notes, unit.now))
        # After the notes, because it locks the shared channel of events: a worker locks the channel of its session, which a note is published
        # to, before the shared one.
        await cancel_investigations(transaction, [session_id for session_id in to_cancel.values() if session_id in waiting])
        await transaction.publish_for(announced)
        for some in batches(incidents):
            await transaction.publish_for([(None, live_events.incident_changed(incident, unit.now)) for incident in some])
        return sessions
