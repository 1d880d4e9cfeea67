"""The services that routes use, built by `tarsy.wiring`, and the FastAPI dependencies on them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Protocol

from fastapi import Depends, Request
from fastapi.requests import HTTPConnection
from prometheus_client import generate_latest

from tarsy.agent.budget.unpriced import UnpricedCeiling
from tarsy.api.auth import ANONYMOUS, AuthSettings, Identity, identify
from tarsy.api.http_server import Streams
from tarsy.api.oidc import OidcProvider
from tarsy.api.schemas.system import DefaultTools, Sample, SystemWarningItem, WorkerItem
from tarsy.config.load.display import Differences
from tarsy.config.schema.system import QueueConfig
from tarsy.db.api_tokens import TokenRepository
from tarsy.db.audit import AuditLog
from tarsy.db.incident.changes import ChangeRepository
from tarsy.db.incident.mutes import MuteRepository
from tarsy.db.incident.repository import IncidentRepository
from tarsy.db.notification_repository import NotificationRepository
from tarsy.db.notifications import ReloadNotices
from tarsy.db.processes import HealthReader
from tarsy.db.repositories import SessionRepositories
from tarsy.db.sign_ins import SignInRepository
from tarsy.db.spending import PostgresSpendingStore
from tarsy.db.tool_pins import ToolPinRepository
from tarsy.db.usage import UsageRepository
from tarsy.db.work.pauses import PauseRepository
from tarsy.domain.llm import ResolvedProvider
from tarsy.domain.period_budget import PeriodBudget
from tarsy.domain.tool import ServerHealth
from tarsy.events.hub import Hub
from tarsy.intake.service import IncidentService
from tarsy.notify.policy import NotificationPolicy
from tarsy.session.submission import SubmissionService
from tarsy.setup.service import SetupService

DATABASE = "database"


@dataclass(frozen=True, slots=True)
class Health:
    """The result of a probe; `message` has the reason, or something worth knowing."""

    healthy: bool
    message: str = ""
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])


Probe = Callable[[], Awaitable[Health]]


class SystemView(Protocol):
    """The installation without its secrets."""

    def config(self) -> Mapping[str, Any]: ...

    def default_tools(self) -> Sequence[DefaultTools]: ...

    def mcp_servers(self) -> Sequence[ServerHealth]: ...

    def warnings(self) -> Sequence[SystemWarningItem]: ...

    def models(self) -> Mapping[str, ResolvedProvider]:
        """The configured models that can be called now, by the names of their providers."""
        ...

    async def unpriced_ceilings(self) -> Sequence[UnpricedCeiling]:
        """The ceilings in dollars that do not count calls of some model."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentServices:
    # Receives webhooks, and carries out people's commands on incidents.
    service: IncidentService
    repository: IncidentRepository
    mutes: MuteRepository
    changes: ChangeRepository


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationServices:
    repository: NotificationRepository
    policy: NotificationPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemServices:
    """The installation, and this process."""

    version: str
    pod_id: str
    installation: SystemView
    # The workers of this process; none if it only serves the API.
    workers: Callable[[], Sequence[WorkerItem]]
    queue: QueueConfig
    pauses: PauseRepository
    tool_pins: ToolPinRepository
    audit: AuditLog
    vital_signs: HealthReader
    # Loads the configuration files again and applies them; a ConfigError leaves everything unchanged.
    reload: Callable[[], Awaitable[Differences]]
    reloads: ReloadNotices


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthServices:
    """Probes and metrics. They outlive a reload of the configuration."""

    # By name; only the one called `database` makes the process unhealthy.
    probes: Mapping[str, Probe]
    # Whether the process has begun to stop.
    is_stopping: Callable[[], bool] = lambda: False
    # The metrics in Prometheus' text format.
    metrics: Callable[[], bytes] = generate_latest


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveServices:
    """Live delivery. It outlives a reload of the configuration."""

    hub: Hub
    streams: Streams = field(default_factory=Streams)


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    auth: AuthSettings
    tokens: TokenRepository
    sign_ins: SignInRepository
    # Hides secrets in what people write; the same as for alerts.
    mask: Callable[[str], str]
    repositories: SessionRepositories
    submissions: SubmissionService
    incidents: IncidentServices
    notifications: NotificationServices
    usage: UsageRepository
    spending: PostgresSpendingStore
    period_budgets: Sequence[PeriodBudget]
    system: SystemServices
    health: HealthServices
    live: LiveServices
    samples: Callable[[], Sequence[Sample]] = tuple
    # None without `system.oidc`.
    oidc: OidcProvider | None = None
    # None if this server cannot be set up from its dashboard, as in tests.
    setup: SetupService | None = None


async def services_of(connection: HTTPConnection) -> Services:
    return connection.app.state.services


ServicesDep = Annotated[Services, Depends(services_of)]


async def identity_in(connection: HTTPConnection) -> Identity | None:
    """Return the identity of the caller by the services in force now; None if a login is required and missing."""
    services: Services = connection.app.state.services
    return await identify(connection, services.auth, services.tokens, services.sign_ins)


async def identity_of(request: Request) -> Identity | None:
    """Return the identity of the caller, as the `AccessControl` middleware found it."""
    return request.state.identity


IdentityDep = Annotated[Identity | None, Depends(identity_of)]


async def author_of(identity: IdentityDep) -> str:
    return identity.author if identity else ANONYMOUS


AuthorDep = Annotated[str, Depends(author_of)]
