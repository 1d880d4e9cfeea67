"""The installation: health, configuration, tools, queue, login."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from tarsy.api.schemas.view import View
from tarsy.api.services import WarningSource
from tarsy.domain.server_health import ServerState


class Check(View):
    status: Literal["healthy", "unhealthy"]
    message: str
    details: dict[str, Any]


class HealthReport(View):
    # `unhealthy` only when the database is away; `degraded` when something else is.
    status: Literal["healthy", "degraded", "unhealthy"]
    version: str
    checks: dict[str, Check]


class Version(View):
    version: str


class EffectiveConfig(View):
    """The configuration in force, built-ins included, secrets hidden."""

    config: dict[str, Any]


class AlertTypeItem(View):
    name: str
    chain_id: str
    description: str
    is_sample: bool


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


class MCPServers(View):
    servers: list[MCPServerItem]


class SystemWarningItem(View):
    source: WarningSource
    message: str
    since: datetime | None


class SystemWarnings(View):
    warnings: list[SystemWarningItem]


class WorkerItem(View):
    name: str
    session_id: UUID | None
    busy_since: datetime | None


class QueueReport(View):
    pending: int
    running: int
    oldest_pending_at: datetime | None
    # Process → sessions it works on, over the whole installation.
    running_by_pod: dict[str, int]
    max_concurrent_sessions: int
    max_queue_size: int | None
    # Of the process that answers.
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
    # Nothing else is there to ask: the model's words come from a recording. The tools are simulated either way.
    recorded: bool


class Samples(View):
    samples: list[Sample]


class Login(BaseModel):
    model_config = ConfigDict(extra="forbid")

    token: str


class Me(View):
    # Absent when a login is needed and missing.
    author: str | None
    login_required: bool
    # How the server knows: a token, the login cookie, a trusted proxy, or nobody had to say.
    identified_by: Literal["token", "cookie", "proxy", "open"] | None
