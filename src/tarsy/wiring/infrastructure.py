"""The parts that live as long as the process: database, models, tools, live updates, telemetry."""

import os
import socket
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal
from uuid import uuid4

from anyio import to_thread
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy.agent.execution import SessionOverrides
from tarsy.agent.ports import ApprovalStore, LLMClient, Mask, ToolServers
from tarsy.api.auth import AuthSettings
from tarsy.config.load.loader import LoadedConfig
from tarsy.config.load.skill_catalog import shipped_skills
from tarsy.db.connection import LEAST_POOL_SIZE, POOL_SIZE, open_engine
from tarsy.db.embedded.server import open_database
from tarsy.db.errors import DatabaseUnavailableError
from tarsy.db.masking_key import masking_key
from tarsy.db.migrate import upgrade
from tarsy.db.notifications import NotificationListener, NotificationSender
from tarsy.db.outbox import EVENTS_NOTIFICATION, Outbox, Publisher
from tarsy.db.session.repository import SessionRepository
from tarsy.db.skill_texts import SkillTextRepository
from tarsy.db.tool_pins import ToolPinRepository
from tarsy.demo.samples import recording_loader
from tarsy.domain.tool_pin import ToolPin
from tarsy.events.live_updates import LiveUpdates
from tarsy.kit.clock import SystemClock
from tarsy.llm.in_process import in_process_client
from tarsy.llm.providers.replay import RecordingFiles
from tarsy.session.run_scope import Cancellations
from tarsy.settings import CannotServeError, Settings
from tarsy.setup.access import SetupAccess
from tarsy.telemetry.measured_work import SessionTimes, Telemetry, measured_delivery
from tarsy.telemetry.metrics import Metrics
from tarsy.telemetry.traced_runs import RunSpans
from tarsy.telemetry.tracing import Tracing, is_traced
from tarsy.tools.executor import McpToolServers
from tarsy.tools.health import HealthMonitor
from tarsy.tools.pool import ConnectionPool, connection_pool
from tarsy.tools.server_process import kept_supervisor
from tarsy.wiring.installation import watched_servers


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """Replacements for what the settings and the configuration would give: for replays, evals and tests."""

    llm: LLMClient | None = None
    tools: ToolServers | None = None
    mask: Mask | None = None
    auth: AuthSettings | None = None
    # None: serve all work. Otherwise only these sessions, to which the command of the process may add more, and no recovery or upkeep.
    own_sessions: Collection[str] | None = None
    # Where agents request approvals: the database, as usual, or another store; None: no person can be asked.
    approvals: ApprovalStore | Literal["stored"] | None = "stored"
    # By session id.
    sessions: Mapping[str, SessionOverrides] = field(default_factory=dict[str, SessionOverrides])


@dataclass(frozen=True, slots=True)
class Database:
    engine: AsyncEngine
    listener: NotificationListener
    sender: NotificationSender
    masking_key: bytes
    # When the embedded server was restarted after it had died.
    restarts: Sequence[datetime]


@dataclass(frozen=True, slots=True)
class Tools:
    servers: ToolServers
    connections: ConnectionPool
    monitor: HealthMonitor


@dataclass(frozen=True, slots=True, kw_only=True)
class Infrastructure:
    """What all work and all requests of a process share."""

    # The id of this process, named as in the API.
    pod_id: str
    # Looked up at each use and updated by a reload.
    env: dict[str, str]
    database: Database
    llm: LLMClient
    tools: Tools
    telemetry: Telemetry
    live: LiveUpdates
    publisher: Publisher
    cancellations: Cancellations
    setup_access: SetupAccess


@asynccontextmanager
async def open_infrastructure(settings: Settings, loaded: LoadedConfig, overrides: Overrides) -> AsyncGenerator[Infrastructure]:
    """Open everything, and close it in reverse order.

    Raises:
        DatabaseUnavailableError: there is no database to work with.
    """
    env = dict(loaded.env)
    async with (
        _database(settings, loaded) as database,
        aclosing(overrides.llm or llm_client(settings, env)) as llm,
        _telemetry(loaded.env) as telemetry,
        kept_supervisor(),
        connection_pool() as connections,
    ):
        pins = ToolPinRepository(database.engine)

        async def pin_if_known(server: str) -> ToolPin | None:
            # The monitor only reports, and works without a database.
            with suppress(SQLAlchemyError, DatabaseUnavailableError, OSError):
                return await pins.get(server)
            return None

        servers = overrides.tools or McpToolServers(env=env, pool=connections, read_pin=pins.get)
        live = LiveUpdates(
            store=Outbox(database.engine),
            source=database.listener,
            broadcast=database.sender,
            session_exists=SessionRepository(Publisher(database.engine)).exists,
            events_notification=EVENTS_NOTIFICATION,
        )
        yield Infrastructure(
            pod_id=f"{socket.gethostname()}-{os.getpid()}-{uuid4().hex[:6]}",
            env=env,
            database=database,
            llm=llm,
            tools=Tools(servers, connections, HealthMonitor(watched_servers(loaded), env=env, read_pin=pin_if_known)),
            telemetry=telemetry,
            live=live,
            publisher=Publisher(database.engine, measured_delivery(live.deliver, telemetry.times)),
            cancellations=Cancellations(),
            setup_access=SetupAccess(SystemClock()),
        )


@asynccontextmanager
async def _database(settings: Settings, loaded: LoadedConfig) -> AsyncGenerator[Database]:
    """Open the database with the schema of this version and the skill texts that sessions refer to."""
    restarts: list[datetime] = []
    connections = settings.share(POOL_SIZE, LEAST_POOL_SIZE)
    async with (
        open_database(settings.database_url, settings.data_dir, on_restart=restarts.append) as url,
        open_engine(url, connections=connections) as engine,
    ):
        await upgrade(engine)
        await SkillTextRepository(engine).store(skill_texts(loaded))
        yield Database(engine, NotificationListener(url), NotificationSender(url), await masking_key(engine), restarts)


def skill_texts(loaded: LoadedConfig) -> list[str]:
    """Return the texts of all skills: those of the configuration and the shipped ones, which samples load though an operator may replace them."""
    skills = (*loaded.config.skills.values(), *shipped_skills().values())
    return [text for skill in skills for text in skill.files.values()]


def llm_client(settings: Settings, env: Mapping[str, str]) -> LLMClient:
    """Return the client of the LLM service that TARSY_LLM_SERVICE_ADDR names, or one that calls models from this process.

    Raises:
        CannotServeError: the address, or one of the TLS files for it, cannot be used.
    """
    if settings.llm_service_addr:
        from tarsy.llm.grpc_client import ClientTLS, GrpcLLMClient, ServiceAddressError  # noqa: PLC0415 - gRPC is large, and needed only here

        files = (settings.llm_service_ca, settings.llm_service_cert, settings.llm_service_key)
        try:
            return GrpcLLMClient(settings.llm_service_addr, tls=ClientTLS(*files) if any(files) else None, env=env)
        except ServiceAddressError as error:
            raise CannotServeError(f"TARSY_LLM_SERVICE_ADDR: {error}") from error
    return in_process_client(env=env, recordings=recording_loader(RecordingFiles()), replay_speed=settings.replay_speed)


@asynccontextmanager
async def _telemetry(env: Mapping[str, str]) -> AsyncGenerator[Telemetry]:
    metrics, spans = Metrics(), RunSpans(Tracing(env)) if is_traced(env) else None
    try:
        yield Telemetry(metrics, SessionTimes(metrics.sessions), spans)
    finally:
        if spans:
            # In a thread: exporting the last spans can take seconds.
            await to_thread.run_sync(spans.tracing.close)
