"""Intake on a real PostgreSQL, at a time that the test chooses, with alerts that the test makes up."""

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine

from support.api_world import MASK, FixedChains, tool_server
from support.claims import take
from tarsy.db.connection import create_engine
from tarsy.db.outbox import Publisher
from tarsy.db.run.journal import PostgresJournal
from tarsy.db.session.admission import Admission
from tarsy.db.session.repository import SessionRepository
from tarsy.domain.alert import Alert, AlertStatus, Severity
from tarsy.domain.citation import CitationCounts
from tarsy.domain.incident import Mute
from tarsy.domain.session import AlertSession, SessionClose
from tarsy.domain.status import SessionStatus
from tarsy.domain.step import Step
from tarsy.domain.verdict import JudgedVerdict
from tarsy.domain.work import Claimed
from tarsy.intake.acceptance import AlertAcceptance, NoMetrics
from tarsy.intake.answer import Answer
from tarsy.intake.commands import IncidentCommands
from tarsy.intake.delivery import Delivery
from tarsy.intake.investigations import Investigations
from tarsy.intake.maintenance import IncidentMaintenance
from tarsy.intake.policy import Policy, Route
from tarsy.kit.clock import FixedClock
from tarsy.session.chains import ChainSource
from tarsy.session.submission import SubmissionService
from tarsy.telemetry.measured_work import SessionTimes, measured_delivery
from tarsy.telemetry.metrics import Metrics

FIRING, RESOLVED = AlertStatus.FIRING, AlertStatus.RESOLVED
# One problem, however many alerts tell of it; and no waiting for more of them, so that a worker can begin.
ROUTE = Route(name="test", group_by=("problem",), group_wait=timedelta())


def alert(fingerprint: str = "f1", status: AlertStatus = FIRING, *, problem: str = "p1", **more: Any) -> Alert:
    one = Alert(
        source="monitor",
        fingerprint=fingerprint,
        title=f"Disk {fingerprint} is full",
        severity=Severity.WARNING,
        status=status,
        labels={"problem": problem, "disk": fingerprint},
        body=json.dumps({"disk": fingerprint}),
    )
    return replace(one, **more)


def delivery(*alerts: Alert, **more: Any) -> Delivery:
    return Delivery(source="monitor", alerts=alerts, **more)


@dataclass
class IntakeWorld:
    engine: AsyncEngine
    routes: Sequence[Route] = (ROUTE,)
    mutes: Sequence[Mute] = ()
    max_queue_size: int | None = None
    chains: ChainSource = field(default_factory=FixedChains)
    # A little ago: what may begin now may also begin by the clock of PostgreSQL, which claims go by, if the machine's is set back meanwhile.
    metrics: Metrics = field(default_factory=Metrics)
    clock: FixedClock = field(default_factory=lambda: FixedClock(datetime.now(UTC) - timedelta(seconds=10)))

    def __post_init__(self) -> None:
        self.times = SessionTimes(self.metrics.sessions)

    @property
    def investigations(self) -> Investigations:
        sessions = SessionRepository(self.publisher)
        submissions = SubmissionService(chains=self.chains, store=sessions, mask=MASK, default_alert_type="kubernetes")
        return Investigations(submissions, self.routes, tool_server)

    @property
    def publisher(self) -> Publisher:
        return Publisher(self.engine, measured_delivery(lambda _events: None, self.times))

    @property
    def admission(self) -> Admission:
        return Admission(self.publisher, max_queue_size=self.max_queue_size, on_submitted=self.times.count_submission)

    def policy(self) -> Policy:
        return Policy(routes=tuple(self.routes), mutes=tuple(self.mutes), default_alert_type="kubernetes")

    def acceptance(self) -> AlertAcceptance:
        """A new one, as another replica has it."""
        return AlertAcceptance(self.publisher, self.policy(), self.investigations, self.admission, MASK, self.clock, NoMetrics())

    def commands(self) -> IncidentCommands:
        return IncidentCommands(self.publisher, self.policy(), self.investigations, self.admission, self.clock)

    def maintenance(self) -> IncidentMaintenance:
        return IncidentMaintenance(self.publisher, self.policy(), self.commands(), self.acceptance())

    async def take(self, *alerts: Alert, **more: Any) -> Answer:
        return await self.acceptance().accept(delivery(*alerts, **more), author="monitor")

    def later(self, **by: float) -> None:
        self.clock.at += timedelta(**by)

    async def rows(self, query: str, **parameters: Any) -> list[Mapping[str, Any]]:
        async with self.engine.connect() as connection:
            return [dict(row) for row in (await connection.execute(sa.text(query), parameters)).mappings()]

    async def incidents(self) -> list[Mapping[str, Any]]:
        return await self.rows("SELECT * FROM incidents ORDER BY opened_at, id")

    async def sessions(self) -> list[Mapping[str, Any]]:
        return await self.rows("SELECT id, incident_id, status, alert_data FROM alert_sessions ORDER BY created_at")

    async def begin(self) -> Claimed[AlertSession]:
        """A worker begins the next investigation."""
        claimed = await take(self.engine)
        assert claimed
        return claimed

    async def finish(
        self,
        claimed: Claimed[AlertSession],
        analysis: str = "The disk is full of logs.",
        verdict: JudgedVerdict | None = None,
        partial: str | None = None,
    ) -> None:
        """The investigation ends, at the time of the clock."""
        close = SessionClose(
            status=SessionStatus.COMPLETED,
            completed_at=self.clock.at,
            final_analysis=analysis,
            analysis_is_partial=partial is not None,
            analysis_partial_reason=partial,
            verdict=verdict,
            # A verdict is stored with what its citations came to.
            citations=CitationCounts() if verdict else None,
        )
        await PostgresJournal(self.engine, lambda _events: None).commit(Step(claim=claimed.claim, session_close=close))


@asynccontextmanager
async def intake_world(database_url: str, **changes: Any) -> AsyncGenerator[IntakeWorld]:
    engine = create_engine(database_url)
    try:
        yield IntakeWorld(engine, **changes)
    finally:
        await engine.dispose()
