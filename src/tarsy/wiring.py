"""The composition root: the only module that knows all others. Here the type checker proves that the adapters fit their ports."""

import os
import socket
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any
from uuid import uuid4

import anyio
import structlog
from anyio import to_thread
from anyio.abc import TaskGroup
from fastapi import FastAPI
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy import __version__
from tarsy.agent.execution import AgentServices, SessionOverrides
from tarsy.agent.ports import LLMClient, Mask, ToolServers
from tarsy.api.app import create_app
from tarsy.api.auth import AuthSettings, auth_settings
from tarsy.api.services import (
    AlertServices,
    HealthServices,
    IncidentServices,
    LiveServices,
    Services,
    SystemServices,
    UsageServices,
)
from tarsy.api.tokens import read_tokens
from tarsy.config.load.loader import LoadedConfig, load_config
from tarsy.config.load.skill_catalog import shipped_skills
from tarsy.config.problems import ConfigError, Problem
from tarsy.config.resolve.resolved import resolved_server
from tarsy.config.schema.configuration import Config
from tarsy.config.schema.system import QueueConfig
from tarsy.db.audit import AuditLog
from tarsy.db.connection import LEAST_POOL_SIZE, POOL_SIZE, create_engine, pool_use
from tarsy.db.embedded.server import open_database
from tarsy.db.incident.changes import ChangeRepository, StoredChanges
from tarsy.db.incident.mutes import MuteRepository
from tarsy.db.incident.repository import IncidentRepository
from tarsy.db.migrate import upgrade
from tarsy.db.notifications import CANCEL, PAUSE, RELOAD, WORK, NotificationListener, NotificationSender, ReloadNotices
from tarsy.db.outbox import EVENTS_NOTIFICATION, Outbox
from tarsy.db.processes import ProcessRepository, VitalSignsReader
from tarsy.db.repositories import SessionRepositories
from tarsy.db.retry import is_transient
from tarsy.db.run.evidence import StoredResults
from tarsy.db.run.history import SessionHistory
from tarsy.db.run.journal import PostgresJournal
from tarsy.db.session.repository import SessionRepository
from tarsy.db.session.retention import OldIncidents, OldSessions
from tarsy.db.skill_texts import SkillTextRepository
from tarsy.db.spending import PostgresSpendingStore
from tarsy.db.usage import UsageRepository
from tarsy.db.work.parking import wake_within
from tarsy.db.work.pauses import PauseRepository
from tarsy.db.work.queue import WorkQueue
from tarsy.db.work.recovery import Recovery
from tarsy.demo.samples import recording_loader
from tarsy.domain.diagnosis import LiveProcess
from tarsy.domain.live_events import StoredLiveEvent
from tarsy.domain.period_budget import PeriodBudget
from tarsy.domain.run_input import AnyInput
from tarsy.events.live_updates import LiveUpdates
from tarsy.installation import (
    Installation,
    PoolView,
    SampleChains,
    probes,
    recorded_alert,
    sample_incidents,
    watched_servers,
)
from tarsy.intake.maintenance import maintain_incidents
from tarsy.intake.policy import policy_of
from tarsy.intake.service import IncidentService
from tarsy.kit.clock import SystemClock
from tarsy.llm.grpc_client import GrpcLLMClient
from tarsy.llm.in_process import in_process_client
from tarsy.llm.prices import PriceList
from tarsy.llm.providers.replay import RecordingFiles
from tarsy.queue.handler import Handler, Runner
from tarsy.queue.maintenance import BudgetWatch, Presence, Retention
from tarsy.queue.pool import WorkerPool
from tarsy.reload import Reload
from tarsy.session.chains import CombinedChains, ConfiguredChains
from tarsy.session.handlers import session_handlers
from tarsy.session.ledgers import Ledgers
from tarsy.session.run_scope import Cancellations
from tarsy.session.runbook import RunbookSource
from tarsy.session.submission import SubmissionService
from tarsy.settings import Role, Settings
from tarsy.setup.access import SetupAccess
from tarsy.setup.service import SetupService
from tarsy.skills.sync import bring_accepted
from tarsy.telemetry.exposition import Exposition, PoolUse, ProcessGauges, show_installation
from tarsy.telemetry.measured_requests import CountedIntake, EventLag, MeasuredHttp
from tarsy.telemetry.measured_work import MeasuredJournal, MeasuredQueue, MeasuredRecovery, MeasuredStore, SessionTimes, measured_delivery
from tarsy.telemetry.metrics import Metrics
from tarsy.telemetry.observer import Observer, observer
from tarsy.tools.executor import McpToolServers
from tarsy.tools.health import HealthMonitor
from tarsy.tools.masking.masker import Masker, Unmasked
from tarsy.tools.pool import ConnectionPool, connection_pool
from tarsy.tools.server_process import kept_supervisor

log = structlog.get_logger(__name__)

# Who reloaded, in the audit log, when the setup page wrote something; the entry beside it has the person.
SETUP = "setup"


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """Everything put together and connected; `pool` is None where this process only serves."""

    api: FastAPI
    services: Services
    pool: WorkerPool | None
    engine: AsyncEngine
    live: LiveUpdates
    reload: Reload


@asynccontextmanager
async def application(
    settings: Settings,
    *,
    tools: ToolServers | None = None,
    llm: LLMClient | None = None,
    mask: Mask | None = None,
    auth: AuthSettings | None = None,
    loaded: LoadedConfig | None = None,
    recorded_inputs: Sequence[AnyInput] = (),
    overrides: Mapping[str, SessionOverrides] | None = None,
) -> AsyncGenerator[Application]:
    """Build the application on its database and keep its connections alive; what is given takes the place of what the settings say.

    Raises:
        ConfigError: the configuration has problems (all of them are in it).
        DatabaseUnavailableError: there is no database to work with.
    """
    given = _Given(tools=tools, llm=llm, mask=mask, auth=auth, recorded_inputs=recorded_inputs, overrides=overrides or {})
    async with AsyncExitStack() as stack:
        parts = await _parts(stack, settings, loaded or await _configuration(settings), given)
        built = _assemble(parts)
        async with anyio.create_task_group() as tasks:
            for connection in (parts.listener, parts.sender, parts.live):
                await tasks.start(connection.run)
            _look_after(parts, built, tasks)
            yield built
            tasks.cancel_scope.cancel()


async def _configuration(settings: Settings) -> LoadedConfig:
    await to_thread.run_sync(bring_accepted, settings.config_dir, settings.env)
    return load_config(settings.config_dir, settings.env)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    """What takes the place of what the settings say."""

    tools: ToolServers | None
    llm: LLMClient | None
    mask: Mask | None
    auth: AuthSettings | None
    recorded_inputs: Sequence[AnyInput]
    overrides: Mapping[str, SessionOverrides]


async def _parts(stack: AsyncExitStack, settings: Settings, loaded: LoadedConfig, given: _Given) -> "_Parts":
    """What everything else is built from; `stack` lets go of what is open."""
    # Looked into at each use, so that a reload reaches those who have it.
    env = dict(loaded.env)
    url, engine = await _database(stack, settings, loaded)
    llm = given.llm or llm_client(settings, env)
    stack.push_async_callback(llm.aclose)
    await stack.enter_async_context(kept_supervisor())
    observing = observer(loaded.env)
    stack.push_async_callback(to_thread.run_sync, observing.close)
    connections = await stack.enter_async_context(connection_pool())
    listener, sender, metrics = NotificationListener(url), NotificationSender(url), Metrics()
    return _Parts(
        settings=settings,
        loaded=loaded,
        env=env,
        given=given,
        engine=engine,
        listener=listener,
        sender=sender,
        live=_live(engine, listener, sender),
        llm=llm,
        connections=connections,
        tools=given.tools or McpToolServers(env=env, pool=connections),
        monitor=HealthMonitor(watched_servers(loaded), env=env),
        retention=_retention(engine, loaded.config),
        reload=Reload(settings, loaded, clock=SystemClock()),
        metrics=metrics,
        observer=observing,
        times=SessionTimes(metrics.sessions),
        budget_watch=_budget_watch(engine, loaded.config),
        pod_id=f"{socket.gethostname()}-{os.getpid()}-{uuid4().hex[:6]}",
    )


def _budget_watch(engine: AsyncEngine, config: Config) -> BudgetWatch:
    return BudgetWatch(_period_budgets(config), lambda budgets: wake_within(engine, budgets, SystemClock().now()))


def _retention(engine: AsyncEngine, config: Config) -> Retention:
    return Retention(config.system.retention, OldSessions(engine), OldIncidents(engine), Outbox(engine), VitalSignsReader(engine))


async def _database(stack: AsyncExitStack, settings: Settings, loaded: LoadedConfig) -> tuple[str, AsyncEngine]:
    """The database with the schema of this version, and with what sessions will refer to; `stack` lets go of it."""
    url = await stack.enter_async_context(open_database(settings.database_url, settings.data_dir))
    engine = create_engine(url, connections=settings.share(POOL_SIZE, LEAST_POOL_SIZE))
    stack.push_async_callback(engine.dispose)
    await upgrade(engine)
    await SkillTextRepository(engine).keep(_skill_texts(loaded))
    return url, engine


def _look_after(parts: "_Parts", built: Application, tasks: TaskGroup) -> None:
    """Begin what goes on beside requests and workers, for as long as the application is there."""
    if parts.settings.role is not Role.WORKER:
        tasks.start_soon(parts.monitor.run, name="tool server health")
    tasks.start_soon(parts.retention.run, name="retention")
    tasks.start_soon(parts.reload.run, name="reload")
    tasks.start_soon(parts.budget_watch.run, parts.deliver, name="budgets")
    tasks.start_soon(maintain_incidents, lambda: built.api.state.services.incidents.service.maintenance, name="incidents")
    tasks.start_soon(_presence(parts, built.pool).run, name="presence")


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
    env: dict[str, str]
    given: _Given
    engine: AsyncEngine
    listener: NotificationListener
    sender: NotificationSender
    live: LiveUpdates
    llm: LLMClient
    connections: ConnectionPool
    tools: ToolServers
    monitor: HealthMonitor
    retention: Retention
    reload: Reload
    metrics: Metrics
    observer: Observer
    times: SessionTimes
    budget_watch: BudgetWatch
    pod_id: str
    cancellations: Cancellations = field(default_factory=Cancellations)
    # Of this process and its life, whatever is reloaded.
    setup_access: SetupAccess = field(default_factory=lambda: SetupAccess(SystemClock()))

    @property
    def config(self) -> Config:
        return self.loaded.config

    @property
    def queue(self) -> QueueConfig:
        """What this process takes on, of what one process would."""
        queue = self.config.queue
        return queue.model_copy(update={"worker_count": self.settings.share(queue.worker_count)})

    @property
    def mask(self) -> Mask:
        return self.given.mask or configured_mask(self.config)

    @property
    def auth(self) -> AuthSettings:
        return self.given.auth or auth_settings(
            host=self.settings.host,
            tokens=read_tokens(self.settings.api_tokens),
            trusted_proxies=self.config.system.trusted_proxies,
            insecure=self.settings.insecure,
            allowed_origins=self.config.system.allowed_ws_origins,
            dashboard_url=self.config.system.dashboard_url,
        )

    @property
    def deliver(self) -> Callable[[Sequence[StoredLiveEvent]], None]:
        return measured_delivery(self.live.announce, self.times)

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


def _assemble(parts: _Parts) -> Application:
    listener = parts.listener
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
    built = Application(api=api, services=services, pool=pool, engine=parts.engine, live=parts.live, reload=parts.reload)
    parts.reload.into(partial(_put_in_force, parts, built), prepare=partial(_prepare, parts.engine))
    listener.subscribe(RELOAD, partial(_follow_others, parts))
    return built


def _skill_texts(loaded: LoadedConfig) -> Iterator[str]:
    """What sessions may refer to: the skills of the configuration, and those that samples load, which the operator may have replaced."""
    skills = (*loaded.config.skills.values(), *shipped_skills().values())
    return (text for skill in skills for text in skill.files.values())


async def _prepare(engine: AsyncEngine, loaded: LoadedConfig) -> None:
    """Store what sessions of the new configuration will refer to.

    Raises:
        ConfigError: the database does not take it.
    """
    try:
        await SkillTextRepository(engine).keep(_skill_texts(loaded))
    except (SQLAlchemyError, OSError) as error:
        problem = Problem(loaded.place, 0, "skills", "their texts cannot be stored: the database does not answer", "try again")
        raise ConfigError([problem]) from error


def _put_in_force(parts: _Parts, running: Application, loaded: LoadedConfig, settings: Settings) -> None:
    """Give everything that begins from now on the new configuration; what runs has its snapshot."""
    new = replace(parts, loaded=loaded, settings=settings)
    # All that could go wrong goes wrong here, before anything has changed.
    kept = running.services
    services = replace(_services(new, running.pool), health=kept.health, live=kept.live, setup=kept.setup)
    queue, runner, handlers, servers = new.queue, _runner(new), _handlers(new), watched_servers(loaded)
    if any(parts.env.get(name) != value for name, value in loaded.env.items()):
        # A variable that is gone stays known: a running session may still need it.
        parts.env.update(loaded.env)
        parts.connections.renew()
    running.api.state.services = services
    parts.monitor.watch(servers)
    parts.retention.reconfigure(loaded.config.system.retention)
    parts.budget_watch.reconfigure(_period_budgets(loaded.config))
    if running.pool:
        running.pool.reconfigure(queue, runner, handlers)


def _follow_others(parts: _Parts, reloaded_pod: str) -> None:
    if reloaded_pod != parts.pod_id:
        parts.reload.ask()


def llm_client(settings: Settings, env: Mapping[str, str]) -> LLMClient:
    """The way to the models: in this process, or the LLM service that TARSY_LLM_SERVICE_ADDR names."""
    if settings.llm_service_addr:
        return GrpcLLMClient(settings.llm_service_addr, env=env)
    return in_process_client(env=env, recordings=recording_loader(RecordingFiles()), replay_speed=settings.replay_speed)


def _pool(parts: _Parts) -> WorkerPool:
    recovery = MeasuredRecovery(Recovery(parts.engine), parts.metrics)
    return WorkerPool(parts.queue, _runner(parts), recovery, _handlers(parts), clock=SystemClock())


def _runner(parts: _Parts) -> Runner:
    return Runner(
        queue=parts.observer.queue(MeasuredQueue(WorkQueue(parts.engine, pod_id=parts.pod_id), parts.metrics, parts.times)),
        cancellations=parts.cancellations,
        deliver=parts.deliver,
        is_transient=is_transient,
        mask=parts.mask,
    )


def _handlers(parts: _Parts) -> Sequence[Handler[Any]]:
    engine, observer, clock = parts.engine, parts.observer, SystemClock()
    services = AgentServices(
        llm=observer.model(parts.llm),
        prices=PriceList(parts.config.system.cost_estimation, parts.loaded.env),
        tools=observer.tools(parts.tools),
        journal=observer.journal(MeasuredJournal(PostgresJournal(engine, parts.deliver), parts.metrics, parts.times)),
        results=StoredResults(engine),
        changes=StoredChanges(engine),
        skills=SkillTextRepository(engine),
        live=parts.live,
        mask=parts.mask,
        clock=clock,
    )
    return session_handlers(
        services,
        history=observer.history(SessionHistory(engine)),
        ledgers=Ledgers(store=PostgresSpendingStore(engine), clock=clock, periods=_period_budgets(parts.config)),
        runbooks=parts.runbooks,
        progress=parts.live,
        cancellations=parts.cancellations,
        overrides=parts.given.overrides,
        recorded_inputs=parts.given.recorded_inputs,
    )


def _setup_service(parts: _Parts) -> SetupService:
    notices = ReloadNotices(parts.engine, pod_id=parts.pod_id)

    async def apply() -> None:
        found = await parts.reload()
        await notices.publish(SETUP, asdict(found))

    return SetupService(settings=parts.settings, loaded=lambda: parts.reload.loaded, apply=apply, access=parts.setup_access)


def _period_budgets(config: Config) -> Sequence[PeriodBudget]:
    return tuple(one.budget for one in config.system.budgets)


def _presence(parts: _Parts, pool: WorkerPool | None) -> Presence:
    started = SystemClock().now()

    def process() -> LiveProcess:
        workers = len(pool.slots) if pool else 0
        return LiveProcess(id=parts.pod_id, role=parts.settings.role.value, workers=workers, version=__version__, started_at=started)

    return Presence(
        ProcessRepository(parts.engine, lambda: parts.budget_watch.budgets), process, partial(show_installation, parts.metrics.installation)
    )


def _services(parts: _Parts, pool: WorkerPool | None) -> Services:
    config, engine, settings = parts.config, parts.engine, parts.settings
    repositories = SessionRepositories.on(engine, deliver=parts.deliver)
    submissions = SubmissionService(
        chains=CombinedChains((ConfiguredChains(config, parts.monitor.known_tools), SampleChains(config, settings.replay_speed))),
        store=MeasuredStore(repositories.sessions, parts.times),
        mask=parts.mask,
        runbooks=parts.runbooks,
        default_alert_type=config.defaults.alert_type,
        recorded_alert=partial(recorded_alert, recording_loader(RecordingFiles())),
        max_queue_size=config.queue.max_queue_size,
    )
    return Services(
        auth=parts.auth,
        mask=parts.mask,
        repositories=repositories,
        alerts=AlertServices(submissions=submissions, samples=partial(sample_incidents, config)),
        incidents=IncidentServices(
            service=IncidentService.build(
                engine,
                policy_of(config, parts.loaded.env),
                submissions,
                partial(resolved_server, config),
                metrics=CountedIntake(parts.metrics),
            ),
            repository=IncidentRepository(engine),
            mutes=MuteRepository(engine),
            changes=ChangeRepository(engine),
        ),
        usage=UsageServices(
            repository=UsageRepository(engine), spending=PostgresSpendingStore(engine), period_budgets=_period_budgets(config)
        ),
        system=SystemServices(
            version=__version__,
            pod_id=parts.pod_id,
            installation=Installation(parts.loaded, parts.monitor, parts.reload),
            workers=PoolView(pool),
            queue=config.queue,
            pauses=PauseRepository(engine),
            audit=AuditLog(engine),
            vital_signs=VitalSignsReader(engine),
            reload=parts.reload,
            reloads=ReloadNotices(engine, pod_id=parts.pod_id),
        ),
        health=HealthServices(
            version=__version__,
            probes=probes(parts.engine, parts.llm, pool),
            metrics=Exposition(parts.metrics.registry, parts.gauges.refresh),
        ),
        live=LiveServices(hub=parts.live.hub),
        setup=_setup_service(parts),
    )
