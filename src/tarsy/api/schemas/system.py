"""The installation: health, configuration, tools, queue, login."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field

from tarsy.api.schemas.view import MAX_NAME, Request, StorableText, UtcTime, View
from tarsy.domain.access_role import AccessRole
from tarsy.domain.tool import ServerState
from tarsy.domain.tool_pin import PinMode


class Check(View):
    status: Literal["healthy", "unhealthy"]
    message: str
    details: dict[str, Any]


class HealthReport(View):
    # `unhealthy` only when the database is unreachable; `degraded` when another part does not work.
    status: Literal["healthy", "degraded", "unhealthy"]
    version: str
    checks: dict[str, Check]


class Version(View):
    version: str


class EffectiveConfig(View):
    """The current configuration, including built-ins, with secrets hidden."""

    config: dict[str, Any]


class AlertTypeItem(View):
    name: str
    chain_id: str
    description: str
    is_sample: bool
    # Whether there is a model to investigate it; without one, alerts of this type are refused.
    has_model: bool


class AlertTypes(View):
    alert_types: list[AlertTypeItem]
    default_alert_type: str


class DefaultTools(View):
    alert_type: str
    servers: list[str]
    native_tools: dict[str, bool]


class DefaultToolsList(View):
    defaults: list[DefaultTools]


class ServerToolItem(View):
    name: str
    description: str


class MCPServerItem(View):
    name: str
    transport: str
    state: ServerState
    error: str | None
    checked_at: datetime | None
    tools: list[ServerToolItem]
    # Those of the tools whose calls need a person's approval, and why.
    needs_approval: dict[str, str]
    pin: PinMode
    # Identifies the tools with their descriptions and schemas, as they were listed last; absent before the first listing.
    fingerprint: str | None
    # When the tools were last accepted, and by whom.
    accepted_at: datetime | None
    accepted_by: str | None
    # How the tools differ from the accepted ones, and what to do.
    pin_problem: str | None


class AcceptedTools(Request):
    fingerprint: Annotated[str, Field(max_length=64, description="Of the tools that are accepted, as `GET /mcp-servers` returned it.")]


class MCPServers(View):
    servers: list[MCPServerItem]


class WarningSource(StrEnum):
    CONFIG = "config"
    MCP = "mcp"
    SENDER = "sender"
    WORKERS = "workers"
    QUEUE = "queue"
    MODEL = "model"
    MAINTENANCE = "upkeep"


class SystemWarningItem(View):
    source: WarningSource
    message: str
    since: datetime | None = None


class SystemWarnings(View):
    warnings: list[SystemWarningItem]


class RefusedDeliveryItem(View):
    at: datetime
    # The sender, by the URL or by the shape of the body; anyone can make it up.
    source: str
    # The address that the request came from.
    peer: str | None
    reason: str
    # Of the response.
    status: int
    # Bytes of the body, or those that it declared.
    size: int
    detail: str


class RefusedDeliveries(View):
    # The latest first.
    deliveries: list[RefusedDeliveryItem]


class ReloadReport(View):
    """What the reload changed in this process; all other processes of the installation reload too."""

    # Entries such as `agents.Web`, settings such as `queue.worker_count`, variables of `.env` by their names.
    added: list[str]
    changed: list[str]
    removed: list[str]
    # Changed, but read only when a process starts.
    at_next_start: list[str]


class WorkerItem(View):
    name: str
    session_id: UUID | None
    busy_since: datetime | None


class PauseItem(View):
    # Absent: everything is paused.
    chain_id: str | None
    since: datetime
    actor: str
    reason: str
    # Sessions that ran when the pause began were parked.
    parks_running: bool


class Pauses(View):
    pauses: list[PauseItem]


class PauseRequest(Request):
    chain_id: Annotated[StorableText, Field(min_length=1, max_length=MAX_NAME)] | None = Field(
        default=None, description="Only sessions of this chain; absent: everything."
    )
    reason: Annotated[StorableText, Field(max_length=1000)] = Field(default="", description="Why; shown to people who use TARSy.")
    now: bool = Field(default=False, strict=True, description="Also park what runs.")


class NextSessionItem(View):
    session_id: UUID
    title: str


class QueueReport(View):
    pending: int
    running: int
    # Parked: they continue when the event that they wait for has happened.
    waiting: int
    oldest_pending_at: datetime | None
    # Process → sessions it works on, over the whole installation.
    running_by_pod: dict[str, int]
    # The first in the queue, in the order in which they start.
    next_sessions: list[NextSessionItem]
    max_concurrent_sessions: int
    max_queue_size: int | None
    pauses: list[PauseItem]
    # Of the process that handles the request.
    pod_id: str
    worker_count: int
    workers: list[WorkerItem]


class Sample(View):
    name: str
    title: str
    description: str
    alert_type: str
    alert_data: str
    questions: list[str]
    # There is no model, so its text comes from a recording. The tools are simulated in any case.
    recorded: bool


class Samples(View):
    samples: list[Sample]


class Login(Request):
    # Far longer than any token; it is compared with every known one.
    token: Annotated[str, Field(max_length=4096)]


class Me(View):
    # Absent if a login is required and missing.
    author: str | None
    login_required: bool
    # By a token, the login cookie, a trusted proxy, or OpenID Connect; `open` if no login is required.
    identified_by: Literal["token", "cookie", "proxy", "oidc", "open"] | None
    # Absent without a login, and if the caller is known but has no access.
    role: AccessRole | None
    # The operations that the caller may not use, with the role that each needs.
    denied: dict[str, AccessRole]
    # What the sign-in button at `/api/v1/sign-in` calls the provider; absent if none is configured.
    single_sign_on: str | None


class SignedOut(View):
    # Where the browser signs out of the provider, too.
    continue_at: str


class TokenRequest(Request):
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9._@-]+$", max_length=MAX_NAME)]
    role: AccessRole
    # Absent: the token does not expire.
    expires_at: UtcTime | None = None


class TokenItem(View):
    name: str
    role: AccessRole
    created_at: datetime
    created_by: str
    expires_at: datetime | None
    last_used_at: datetime | None


class TokenList(View):
    tokens: list[TokenItem]


class CreatedToken(TokenItem):
    # Shown only now.
    token: str
