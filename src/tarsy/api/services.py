"""What the routes need from the rest of the program, filled by the wiring."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Protocol

from fastapi import Depends, Request
from prometheus_client import generate_latest

from tarsy.agent.budget.unpriced import UnpricedCeiling
from tarsy.api.auth import ANONYMOUS, AuthSettings, Identity
from tarsy.api.http_server import Streams
from tarsy.api.schemas.system import DefaultTools, Sample, SystemWarningItem, WorkerItem
from tarsy.config.load.display import Differences
from tarsy.config.schema.system import QueueConfig
from tarsy.db.audit import AuditLog
from tarsy.db.incident.changes import ChangeRepository
from tarsy.db.incident.mutes import MuteRepository
from tarsy.db.incident.repository import IncidentRepository
from tarsy.db.notifications import ReloadNotices
from tarsy.db.processes import VitalSignsReader
from tarsy.db.run.evidence import CitationRepository, EvidenceRepository
from tarsy.db.run.timeline import TimelineRepository
from tarsy.db.run.trace import InteractionRepository
from tarsy.db.session.followups import ChatRepository, ScoreRepository
from tarsy.db.session.forks import ForkRepository
from tarsy.db.session.notes import NoteRepository
from tarsy.db.session.recordings import RecordingSource
from tarsy.db.session.repository import SessionRepository
from tarsy.db.spending import PostgresSpendingStore
from tarsy.db.usage import UsageRepository
from tarsy.db.work.pauses import PauseRepository
from tarsy.domain.llm import ResolvedProvider
from tarsy.domain.period_budget import PeriodBudget
from tarsy.domain.tool import ServerHealth
from tarsy.events.hub import ConnectionManager
from tarsy.intake.service import IncidentService
from tarsy.session.submission import Intake
from tarsy.setup.service import SetupDesk

DATABASE = "database"


@dataclass(frozen=True, slots=True)
class Health:
    """What a probe found; `message` says what is wrong, or something worth knowing."""

    healthy: bool
    message: str = ""
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])


Probe = Callable[[], Awaitable[Health]]


class SystemView(Protocol):
    """The installation as people may see it. Nothing here ever shows a secret."""

    def config(self) -> Mapping[str, Any]: ...

    def default_tools(self) -> Sequence[DefaultTools]: ...

    def mcp_servers(self) -> Sequence[ServerHealth]: ...

    def warnings(self) -> Sequence[SystemWarningItem]: ...

    async def unpriced_ceilings(self) -> Sequence[UnpricedCeiling]:
        """The ceilings in dollars that do not count calls of some model."""
        ...


class WorkerView(Protocol):
    """The workers of this process; none when it only serves."""

    def states(self) -> Sequence[WorkerItem]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    version: str
    pod_id: str
    auth: AuthSettings
    intake: Intake
    incident_service: IncidentService
    incidents: IncidentRepository
    mutes: MuteRepository
    changes: ChangeRepository
    sessions: SessionRepository
    timeline: TimelineRepository
    interactions: InteractionRepository
    evidence: EvidenceRepository
    citations: CitationRepository
    chats: ChatRepository
    notes: NoteRepository
    forks: ForkRepository
    recordings: RecordingSource
    scores: ScoreRepository
    audit: AuditLog
    hub: ConnectionManager
    system: SystemView
    workers: WorkerView
    queue: QueueConfig
    pauses: PauseRepository
    usage: UsageRepository
    spending: PostgresSpendingStore
    period_budgets: Sequence[PeriodBudget]
    vital_signs: VitalSignsReader
    # Puts in force what the files say now; ConfigError: they have problems, and nothing changes.
    reload: Callable[[], Awaitable[Differences]]
    reloads: ReloadNotices
    # By name; the one called `database` alone decides whether we are of any use.
    probes: Mapping[str, Probe]
    # Hides secrets in what people write; the same as for alerts.
    mask: Callable[[str], str]
    samples: Callable[[], Sequence[Sample]] = tuple
    # Those that can be asked now, by the names under which they are configured.
    models: Callable[[], Mapping[str, ResolvedProvider]] = dict
    # Figures for Prometheus, in its text format.
    metrics: Callable[[], bytes] = generate_latest
    streams: Streams = field(default_factory=Streams)
    # Absent where there is nothing to set up: a test, a server for one command.
    setup: SetupDesk | None = None


async def services_of(request: Request) -> Services:
    return request.app.state.services


async def author_of(request: Request) -> str:
    """Who is asking; the gate has let them in."""
    identity: Identity | None = request.state.identity
    return identity.author if identity else ANONYMOUS


ServicesOf = Annotated[Services, Depends(services_of)]
AuthorOf = Annotated[str, Depends(author_of)]
