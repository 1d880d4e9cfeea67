"""The composition root: the only module that knows all others. Here the type checker proves that the adapters fit their ports."""

import os
import socket
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import uuid4

import anyio
import structlog
from fastapi import FastAPI
from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy import __version__
from tarsy.agent.ports import ToolServers
from tarsy.api.app import create_app
from tarsy.api.auth import AuthSettings, auth_settings
from tarsy.api.services import (
    DATABASE,
    Health,
    Probe,
    QueueLimits,
    SampleIncident,
    ServerHealth,
    ServerState,
    ServerTool,
    Services,
    SystemWarning,
    ToolDefaults,
    WarningSource,
    WorkerState,
)
from tarsy.api.tokens import read_tokens
from tarsy.config.configuration import Config, NoProviderError
from tarsy.config.default_tools import default_tools
from tarsy.config.loader import LoadedConfig, load_config
from tarsy.config.redaction import redacted
from tarsy.config.resolved import ResolvedChain, ResolvedMcpServer, ResolvedProvider
from tarsy.config.resolved_entries import resolved_provider, resolved_server
from tarsy.config.resolver import resolve_chain
from tarsy.config.selection import McpSelection
from tarsy.config.templates import variables
from tarsy.db.audit import AuditLog
from tarsy.db.chats import ChatRepository
from tarsy.db.connection import DatabaseUnavailableError, create_engine, ping
from tarsy.db.embedded import open_database
from tarsy.db.history import SessionHistory, StoredResults
from tarsy.db.interactions import InteractionRepository
from tarsy.db.journal import PostgresJournal
from tarsy.db.listen import NotificationListener, NotificationSender
from tarsy.db.migrate import upgrade
from tarsy.db.outbox import EVENTS_NOTIFICATION, Outbox
from tarsy.db.queue import WorkQueue
from tarsy.db.recovery import Recovery
from tarsy.db.scores import ScoreRepository
from tarsy.db.sessions import SessionRepository
from tarsy.db.signals import CANCEL, WORK
from tarsy.db.timeline import TimelineRepository
from tarsy.demo.samples import list_samples, recording_loader
from tarsy.domain.agent import ProviderType
from tarsy.events.live_updates import LiveUpdates
from tarsy.kit.clock import SystemClock
from tarsy.llm.client import LLMClient
from tarsy.llm.health import LLMHealth
from tarsy.llm.in_process import in_process_client
from tarsy.llm.providers.replay import RecordingFiles
from tarsy.queue.executor import WorkExecutor
from tarsy.queue.pool import PoolSettings, WorkerPool
from tarsy.session.cancellation import Cancellations
from tarsy.session.intake import AlertType, ConfiguredChains, Intake, SeveralSources, UnknownAlertTypeError
from tarsy.session.runbook import RunbookSource
from tarsy.session.workshop import Workshop
from tarsy.settings import Role, Settings
from tarsy.tools.health import HealthMonitor, ServerReport
from tarsy.tools.masking.masker import Masker
from tarsy.tools.servers import McpToolServers

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """Everything put together and connected; `pool` is None where this process only serves."""

    api: FastAPI
    services: Services
    pool: WorkerPool | None
    engine: AsyncEngine
    live: LiveUpdates


@asynccontextmanager
async def application(settings: Settings, *, tools: ToolServers | None = None, llm: LLMClient | None = None) -> AsyncGenerator[Application]:
    """Build the application on its database and keep its connections alive.

    Raises:
        ConfigError: the configuration has problems (all of them are in it).
        DatabaseUnavailableError: there is no database to work with.
    """
    loaded = load_config(settings.config_dir, settings.env)
    auth = auth_settings(
        host=settings.host,
        tokens=read_tokens(settings.api_tokens),
        trusted_proxies=loaded.config.system.trusted_proxies,
        insecure=settings.insecure,
        allowed_origins=loaded.config.system.allowed_ws_origins,
        dashboard_url=loaded.config.system.dashboard_url,
    )
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(open_database(settings.database_url, settings.data_dir))
        engine = create_engine(url)
        stack.push_async_callback(engine.dispose)
        await upgrade(engine)
        model = llm or llm_client(settings, loaded)
        stack.push_async_callback(model.aclose)
        built = _build(settings, loaded, auth, engine, url, model, tools or McpToolServers(env=loaded.env))
        async with anyio.create_task_group() as tasks:
            await tasks.start(built.listener.run)
            await tasks.start(built.sender.run)
            await tasks.start(built.application.live.run)
            if settings.role is not Role.WORKER:
                tasks.start_soon(built.monitor.run, name="tool server health")
            yield built.application
            tasks.cancel_scope.cancel()


@dataclass(frozen=True, slots=True)
class _Built:
    application: Application
    listener: NotificationListener
    sender: NotificationSender
    monitor: HealthMonitor


def _build(
    settings: Settings,
    loaded: LoadedConfig,
    auth: AuthSettings,
    engine: AsyncEngine,
    url: str,
    llm: LLMClient,
    tools: ToolServers,
) -> _Built:
    listener, sender = NotificationListener(url), NotificationSender(url)
    sessions = SessionRepository(engine)
    live = LiveUpdates(
        store=Outbox(engine),
        source=listener,
        broadcast=sender,
        session_exists=sessions.exists,
        events_notification=EVENTS_NOTIFICATION,
    )
    pod_id = f"{socket.gethostname()}-{os.getpid()}-{uuid4().hex[:6]}"
    pool = None if settings.role is Role.API else _pool(loaded, engine, live, llm, tools, pod_id)
    if pool:
        listener.subscribe(WORK, pool.on_work)
        listener.subscribe(CANCEL, pool.on_cancel)
        listener.on_gap(pool.on_gap)
    monitor = HealthMonitor(watched_servers(loaded), env=loaded.env)
    services = _services(loaded, auth, engine, sessions, live, llm, pool, pod_id, monitor)
    built = Application(api=create_app(services), services=services, pool=pool, engine=engine, live=live)
    return _Built(built, listener, sender, monitor)


def llm_client(settings: Settings, loaded: LoadedConfig) -> LLMClient:
    """The way to the models: in this process, or the LLM service that TARSY_LLM_SERVICE_ADDR names."""
    if settings.llm_service_addr:
        from tarsy.llm.grpc_client import GrpcLLMClient  # noqa: PLC0415 - heavy, imported on first use

        return GrpcLLMClient(settings.llm_service_addr, env=loaded.env)
    return in_process_client(env=loaded.env, recordings=recording_loader(RecordingFiles()), replay_speed=settings.replay_speed)


def _pool(loaded: LoadedConfig, engine: AsyncEngine, live: LiveUpdates, llm: LLMClient, tools: ToolServers, pod_id: str) -> WorkerPool:
    config, clock, cancellations = loaded.config, SystemClock(), Cancellations()
    runbooks = config.system.runbooks
    workshop = Workshop(
        journal=PostgresJournal(engine, live.publisher.announce),
        history=SessionHistory(engine),
        llm=llm,
        tools=tools,
        results=StoredResults(engine),
        live=live.publisher,
        progress=live.publisher,
        runbooks=RunbookSource(
            allowed_domains=runbooks.allowed_domains,
            github_token=loaded.env.get(config.system.github.token_env),
            cache_ttl=runbooks.cache_ttl,
        ),
        mask=_mask(loaded),
        clock=clock,
        cancellations=cancellations,
    )
    queue = config.queue
    return WorkerPool(
        PoolSettings(
            worker_count=queue.worker_count,
            max_concurrent_sessions=queue.max_concurrent_sessions,
            poll_interval=queue.poll_interval,
            poll_interval_jitter=queue.poll_interval_jitter,
            heartbeat_interval=queue.heartbeat_interval,
            orphan_detection_interval=queue.orphan_detection_interval,
            orphan_threshold=queue.orphan_threshold,
            graceful_shutdown_timeout=queue.graceful_shutdown_timeout,
        ),
        WorkQueue(engine, pod_id=pod_id),
        Recovery(engine),
        WorkExecutor(workshop),
        cancellations=cancellations,
        deliver=live.publisher.announce,
        clock=clock,
    )


def _services(
    loaded: LoadedConfig,
    auth: AuthSettings,
    engine: AsyncEngine,
    sessions: SessionRepository,
    live: LiveUpdates,
    llm: LLMClient,
    pool: WorkerPool | None,
    pod_id: str,
    monitor: HealthMonitor,
) -> Services:
    config, mask = loaded.config, _mask(loaded)
    intake = Intake(
        chains=SeveralSources((ConfiguredChains(config), SampleChains(config))),
        store=sessions,
        mask_alert=mask,
        default_alert_type=config.defaults.alert_type,
        max_queue_size=config.queue.max_queue_size,
    )
    return Services(
        version=__version__,
        pod_id=pod_id,
        auth=auth,
        intake=intake,
        sessions=sessions,
        timeline=TimelineRepository(engine),
        interactions=InteractionRepository(engine),
        chats=ChatRepository(engine),
        scores=ScoreRepository(engine),
        audit=AuditLog(engine),
        system=Installation(loaded, monitor),
        workers=PoolView(pool),
        queue_limits=QueueLimits(
            worker_count=config.queue.worker_count,
            max_concurrent_sessions=config.queue.max_concurrent_sessions,
            max_queue_size=config.queue.max_queue_size,
        ),
        probes=_probes(engine, llm, pool),
        mask=mask,
        samples=partial(sample_incidents, config),
        hub=live.hub,
    )


def _mask(loaded: LoadedConfig) -> Callable[[str], str]:
    masking = loaded.config.defaults.alert_masking
    return Masker.for_group(masking.pattern_group).mask if masking.enabled else lambda text: text


def _probes(engine: AsyncEngine, llm: LLMClient, pool: WorkerPool | None) -> Mapping[str, Probe]:
    async def database() -> Health:
        try:
            await ping(engine)
        except DatabaseUnavailableError as error:
            return Health(healthy=False, message=error.problem)
        return Health(healthy=True)

    async def workers() -> Health:
        if pool is None:
            return Health(healthy=True, message="this process has no workers")
        busy = sum(slot.claim is not None for slot in pool.slots)
        return Health(healthy=True, details={"workers": len(pool.slots), "busy": busy})

    async def model() -> Health:
        health: LLMHealth = await llm.health()
        return Health(healthy=health.ok, message=health.detail)

    return {DATABASE: database, "worker_pool": workers, "llm_service": model}


@dataclass(frozen=True, slots=True)
class SampleChains:
    """Sample incidents as alert types: on the model that other alerts would get, on the recorded one where there is none."""

    config: Config

    def alert_types(self) -> Sequence[AlertType]:
        return tuple(AlertType(sample.alert_type, sample.chain.chain_id, sample.title, is_sample=True) for sample in list_samples())

    def resolve(self, alert_type: str, selection: McpSelection | None) -> ResolvedChain:
        del selection  # a sample has one tool server, its simulated cluster
        for sample in list_samples():
            if sample.alert_type == alert_type:
                provider = sample_model(self.config)
                return sample.live(provider) if provider else sample.chain
        raise UnknownAlertTypeError(alert_type, [sample.alert_type for sample in list_samples()])


def sample_model(config: Config) -> ResolvedProvider | None:
    """The real model that investigates the samples; None: they are played from their recordings."""
    name = config.defaults.llm_provider or config.default_provider
    if name is None or config.llm_providers[name].type is ProviderType.REPLAY:
        return None
    return resolved_provider(name, config.llm_providers[name])


def sample_incidents(config: Config) -> Sequence[SampleIncident]:
    recorded = sample_model(config) is None
    return tuple(
        SampleIncident(
            name=sample.name,
            title=sample.title,
            description=sample.description,
            alert_type=sample.alert_type,
            alert_data=sample.alert_data,
            questions=sample.questions,
            recorded=recorded,
        )
        for sample in list_samples()
    )


@dataclass(frozen=True, slots=True)
class Installation:
    """What people may see of the configuration."""

    loaded: LoadedConfig
    monitor: HealthMonitor

    def config(self) -> Mapping[str, Any]:
        return redacted(self.loaded.config)

    def default_tools(self) -> Sequence[ToolDefaults]:
        config = self.loaded.config
        found = (default_tools(config, alert_type) for alert_type in config.chains.alert_types)
        return tuple(
            ToolDefaults(entry["alert_type"], tuple(server["name"] for server in entry["servers"]), entry["native_tools"])
            for entry in found
        )

    def mcp_servers(self) -> Sequence[ServerHealth]:
        watched = {report.name: report for report in self.monitor.reports}
        config = self.loaded.config
        return tuple(
            server_health(watched[name])
            if name in watched
            else unwatched(name, server.transport.type.value, missing_variables(self.loaded, name))
            for name, server in config.mcp_servers.items()
        )

    def warnings(self) -> Sequence[SystemWarning]:
        config = self.loaded.config
        found = [SystemWarning(WarningSource.CONFIG, str(problem)) for problem in self.loaded.warnings]
        found += [SystemWarning(WarningSource.MCP, report.problem or report.name, report.since) for report in self.monitor.warnings]
        try:
            for chain_id in config.chains:
                resolve_chain(config, chain_id)
        except NoProviderError as error:
            found.append(SystemWarning(WarningSource.LLM, str(error)))
        return tuple(found)


def missing_variables(loaded: LoadedConfig, name: str) -> frozenset[str]:
    """What the environment lacks to start a tool server."""
    transport = resolved_server(loaded.config, name).transport
    return frozenset(variable for variable in variables(transport.model_dump_json()) if variable not in loaded.env)


def watched_servers(loaded: LoadedConfig) -> Mapping[str, ResolvedMcpServer]:
    """The tool servers that some chain can use and that have all they need."""
    used = {
        server
        for alert_type in loaded.config.chains.alert_types
        for server in (entry["name"] for entry in default_tools(loaded.config, alert_type)["servers"])
    }
    return {name: resolved_server(loaded.config, name) for name in sorted(used) if not missing_variables(loaded, name)}


def server_health(report: ServerReport) -> ServerHealth:
    return ServerHealth(
        name=report.name,
        transport=report.transport,
        state=ServerState(report.state.value),
        error=report.problem,
        checked_at=report.checked_at,
        tools=tuple(ServerTool(tool.name, tool.description) for tool in report.tools),
    )


def unwatched(name: str, transport: str, missing: frozenset[str]) -> ServerHealth:
    reason = f"not started: set {', '.join(sorted(missing))}" if missing else "not used by any chain"
    return ServerHealth(name=name, transport=transport, state=ServerState.UNKNOWN, error=reason)


@dataclass(frozen=True, slots=True)
class PoolView:
    """The workers of this process."""

    pool: WorkerPool | None

    def states(self) -> Sequence[WorkerState]:
        slots = self.pool.slots if self.pool else ()
        return tuple(
            WorkerState(name=slot.name, session_id=slot.claim.session_id if slot.claim else None, busy_since=slot.busy_since)
            for slot in slots
        )
