"""The composition root: the only module that knows all others. Here the type checker proves that the adapters fit their ports."""

import os
import socket
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from uuid import uuid4

import anyio
import structlog
from anyio import to_thread
from fastapi import FastAPI
from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy import __version__
from tarsy.agent.ports import LLMClient, Mask, ToolServers
from tarsy.api.app import create_app
from tarsy.api.auth import auth_settings
from tarsy.api.services import Services
from tarsy.api.tokens import read_tokens
from tarsy.config.load.loader import LoadedConfig, load_config
from tarsy.config.schema.configuration import Config
from tarsy.db.audit import AuditLog
from tarsy.db.chats import ChatRepository
from tarsy.db.connection import create_engine, pool_use
from tarsy.db.embedded.server import open_database
from tarsy.db.history import SessionHistory, StoredResults
from tarsy.db.interactions import InteractionRepository
from tarsy.db.journal import PostgresJournal
from tarsy.db.listen import NotificationListener, NotificationSender
from tarsy.db.migrate import upgrade
from tarsy.db.outbox import EVENTS_NOTIFICATION, Outbox
from tarsy.db.pauses import PauseRepository
from tarsy.db.processes import ProcessRepository
from tarsy.db.retention import OldSessions
from tarsy.db.retry import is_transient
from tarsy.db.scores import ScoreRepository
from tarsy.db.sessions import SessionRepository
from tarsy.db.signals import CANCEL, PAUSE, WORK
from tarsy.db.timeline import TimelineRepository
from tarsy.db.work.queue import WorkQueue
from tarsy.db.work.recovery import Recovery
from tarsy.demo.samples import recording_loader
from tarsy.domain.live import StoredLiveEvent
from tarsy.domain.overview import LiveProcess
from tarsy.events.live_updates import LiveUpdates
from tarsy.installation import Installation, PoolView, SampleChains, probes, recorded_alert, sample_incidents, watched_servers
from tarsy.kit.clock import SystemClock
from tarsy.kit.imports import load
from tarsy.llm.in_process import in_process_client
from tarsy.llm.providers.replay import RecordingFiles
from tarsy.queue.handler import Runner
from tarsy.queue.pool import WorkerPool
from tarsy.queue.presence import Presence
from tarsy.queue.retention import Retention
from tarsy.session.cancellation import Cancellations
from tarsy.session.dependencies import Dependencies
from tarsy.session.executor import SessionExecutor
from tarsy.session.followup import ChatAnswers, Scorings
from tarsy.session.intake import ConfiguredChains, Intake, SeveralSources
from tarsy.session.runbook import RunbookSource
from tarsy.settings import Role, Settings
from tarsy.telemetry.event_lag import EventLag
from tarsy.telemetry.exposition import Exposition
from tarsy.telemetry.gauges import InstallationGauges, PoolUse, ProcessGauges
from tarsy.telemetry.measured_http import MeasuredHttp
from tarsy.telemetry.measured_work import MeasuredJournal, MeasuredQueue, MeasuredRecovery, MeasuredStore, measured_delivery
from tarsy.telemetry.metrics import Metrics
from tarsy.telemetry.ports import Observer
from tarsy.telemetry.session_times import SessionTimes
from tarsy.telemetry.untraced import Untraced
from tarsy.tools.health import HealthMonitor
from tarsy.tools.masking import Masker, Unmasked
from tarsy.tools.pool import connection_pool
from tarsy.tools.server_process import kept_supervisor
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
async def application(
    settings: Settings, *, tools: ToolServers | None = None, llm: LLMClient | None = None, mask: Mask | None = None
) -> AsyncGenerator[Application]:
    """Build the application on its database and keep its connections alive.

    Raises:
        ConfigError: the configuration has problems (all of them are in it).
        DatabaseUnavailableError: there is no database to work with.
    """
    loaded = load_config(settings.config_dir, settings.env)
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(open_database(settings.database_url, settings.data_dir))
        engine = create_engine(url)
        stack.push_async_callback(engine.dispose)
        await upgrade(engine)
        model = llm or llm_client(settings, loaded)
        stack.push_async_callback(model.aclose)
        await stack.enter_async_context(kept_supervisor())
        listener, sender = NotificationListener(url), NotificationSender(url)
        metrics = Metrics()
        observer = await _observer(loaded.env)
        stack.push_async_callback(to_thread.run_sync, observer.close)
        parts = _Parts(
            settings=settings,
            loaded=loaded,
            engine=engine,
            live=_live(engine, listener, sender),
            llm=model,
            tools=tools or McpToolServers(env=loaded.env, pool=await stack.enter_async_context(connection_pool())),
            monitor=HealthMonitor(watched_servers(loaded), env=loaded.env),
            mask=mask or configured_mask(loaded.config),
            metrics=metrics,
            observer=observer,
            times=SessionTimes(metrics.sessions),
            pod_id=f"{socket.gethostname()}-{os.getpid()}-{uuid4().hex[:6]}",
        )
        built = _assemble(parts, listener)
        async with anyio.create_task_group() as tasks:
            await tasks.start(listener.run)
            await tasks.start(sender.run)
            await tasks.start(parts.live.run)
            if settings.role is not Role.WORKER:
                tasks.start_soon(parts.monitor.run, name="tool server health")
            tasks.start_soon(_retention(parts).run, name="retention")
            tasks.start_soon(_presence(parts, built.pool).run, name="presence")
            yield built
            tasks.cancel_scope.cancel()


async def _observer(env: Mapping[str, str]) -> Observer:
    """Tracing, where the environment names a collector."""
    if not env.get("OTEL_EXPORTER_OTLP_ENDPOINT"):
        return Untraced()
    await load("tarsy.telemetry.traces.traced")
    from tarsy.telemetry.traces.traced import Traced  # noqa: PLC0415 - just loaded, and off for most
    from tarsy.telemetry.traces.tracing import tracing_to  # noqa: PLC0415 - just loaded, and off for most

    return Traced(tracing_to(env))


def configured_mask(config: Config) -> Mask:
    """What alerts, questions, runbooks and the words of models are masked with."""
    masking = config.defaults.alert_masking
    return Masker.for_group(masking.pattern_group) if masking.enabled else Unmasked()


def _live(engine: AsyncEngine, listener: NotificationListener, sender: NotificationSender) -> LiveUpdates:
    return LiveUpdates(
        store=Outbox(engine),
        source=listener,
        broadcast=sender,
        session_exists=SessionRepository(engine).exists,
        events_notification=EVENTS_NOTIFICATION,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """What everything else is built from."""

    settings: Settings
    loaded: LoadedConfig
    engine: AsyncEngine
    live: LiveUpdates
    llm: LLMClient
    tools: ToolServers
    monitor: HealthMonitor
    mask: Mask
    metrics: Metrics
    observer: Observer
    times: SessionTimes
    pod_id: str

    @property
    def config(self) -> Config:
        return self.loaded.config

    @property
    def deliver(self) -> Callable[[Sequence[StoredLiveEvent]], None]:
        return measured_delivery(self.live.publisher.announce, self.times)

    @property
    def gauges(self) -> ProcessGauges:
        return ProcessGauges(
            metrics=self.metrics,
            version=__version__,
            connections=lambda: self.live.hub.connection_count,
            pool=lambda: PoolUse(*pool_use(self.engine)),
            servers=lambda: self.monitor.reports,
        )

    @property
    def runbooks(self) -> RunbookSource:
        configured = self.config.system.runbooks
        return RunbookSource(
            allowed_domains=configured.allowed_domains,
            github_token=self.loaded.env.get(self.config.system.github.token_env),
            cache_ttl=configured.cache_ttl,
        )


def _assemble(parts: _Parts, listener: NotificationListener) -> Application:
    pool = None if parts.settings.role is Role.API else _pool(parts)
    if pool:
        listener.subscribe(WORK, pool.on_work)
        listener.subscribe(CANCEL, pool.on_cancel)
        listener.subscribe(PAUSE, pool.on_pause)
        listener.on_gap(pool.on_gap)
    listener.subscribe(EVENTS_NOTIFICATION, EventLag(parts.metrics.process, SystemClock()).on_notification)
    services = _services(parts, pool)
    api = create_app(services)
    api.add_middleware(MeasuredHttp, metrics=parts.metrics.process)
    return Application(api=api, services=services, pool=pool, engine=parts.engine, live=parts.live)


def llm_client(settings: Settings, loaded: LoadedConfig) -> LLMClient:
    """The way to the models: in this process, or the LLM service that TARSY_LLM_SERVICE_ADDR names."""
    if settings.llm_service_addr:
        from tarsy.llm.grpc_client import GrpcLLMClient  # noqa: PLC0415 - heavy, imported on first use

        return GrpcLLMClient(settings.llm_service_addr, env=loaded.env)
    return in_process_client(env=loaded.env, recordings=recording_loader(RecordingFiles()), replay_speed=settings.replay_speed)


def _pool(parts: _Parts) -> WorkerPool:
    config, engine, live, observer = parts.config, parts.engine, parts.live, parts.observer
    clock, cancellations = SystemClock(), Cancellations()
    dependencies = Dependencies(
        journal=observer.journal(MeasuredJournal(PostgresJournal(engine, parts.deliver), parts.metrics, parts.times)),
        history=observer.history(SessionHistory(engine)),
        llm=observer.model(parts.llm),
        tools=observer.tools(parts.tools),
        results=StoredResults(engine),
        live=live.publisher,
        progress=live.publisher,
        runbooks=parts.runbooks,
        mask=parts.mask,
        clock=clock,
        cancellations=cancellations,
    )
    runner = Runner(
        queue=observer.queue(MeasuredQueue(WorkQueue(engine, pod_id=parts.pod_id), parts.metrics, parts.times)),
        cancellations=cancellations,
        deliver=parts.deliver,
        is_transient=is_transient,
        mask=dependencies.mask,
    )
    handlers = (SessionExecutor(dependencies), ChatAnswers(dependencies), Scorings(dependencies))
    return WorkerPool(config.queue, runner, MeasuredRecovery(Recovery(engine), parts.metrics), handlers, clock=clock)


def _retention(parts: _Parts) -> Retention:
    return Retention(parts.config.system.retention, OldSessions(parts.engine), Outbox(parts.engine))


def _presence(parts: _Parts, pool: WorkerPool | None) -> Presence:
    process = LiveProcess(
        id=parts.pod_id,
        role=parts.settings.role.value,
        workers=len(pool.slots) if pool else 0,
        version=__version__,
        started_at=SystemClock().now(),
    )
    return Presence(ProcessRepository(parts.engine), process, InstallationGauges(parts.metrics.installation).show)


def _services(parts: _Parts, pool: WorkerPool | None) -> Services:
    config, engine, settings = parts.config, parts.engine, parts.settings
    sessions = SessionRepository(engine, deliver=parts.deliver)
    intake = Intake(
        chains=SeveralSources((ConfiguredChains(config, parts.monitor.known_tools), SampleChains(config, settings.replay_speed))),
        store=MeasuredStore(sessions, parts.times),
        mask=parts.mask,
        runbooks=parts.runbooks,
        default_alert_type=config.defaults.alert_type,
        recorded_alert=partial(recorded_alert, recording_loader(RecordingFiles())),
        max_queue_size=config.queue.max_queue_size,
    )
    return Services(
        version=__version__,
        pod_id=parts.pod_id,
        auth=auth_settings(
            host=settings.host,
            tokens=read_tokens(settings.api_tokens),
            trusted_proxies=config.system.trusted_proxies,
            insecure=settings.insecure,
            allowed_origins=config.system.allowed_ws_origins,
            dashboard_url=config.system.dashboard_url,
        ),
        intake=intake,
        sessions=sessions,
        timeline=TimelineRepository(engine),
        interactions=InteractionRepository(engine),
        chats=ChatRepository(engine),
        scores=ScoreRepository(engine),
        audit=AuditLog(engine),
        system=Installation(parts.loaded, parts.monitor),
        workers=PoolView(pool),
        pauses=PauseRepository(engine),
        queue=config.queue,
        probes=probes(parts.engine, parts.llm, pool),
        mask=parts.mask,
        samples=partial(sample_incidents, config),
        hub=parts.live.hub,
        metrics=Exposition(parts.metrics.registry, parts.gauges.refresh),
    )
