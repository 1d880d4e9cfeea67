"""The whole application: built from its parts, connected, kept running, and changed by a reload of the configuration."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial

import anyio
from anyio import to_thread
from anyio.abc import TaskStatus
from fastapi import FastAPI
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy import __version__
from tarsy.api.app import create_app
from tarsy.api.services import Services
from tarsy.api.slack_socket import SlackSocket
from tarsy.config.load.loader import LoadedConfig, load_config
from tarsy.config.problems import ConfigError, Problem
from tarsy.config.schema.mcp_servers import TransportType
from tarsy.db.notifications import CANCEL, PAUSE, RELOAD, WORK
from tarsy.db.outbox import EVENTS_NOTIFICATION
from tarsy.db.processes import ProcessRepository
from tarsy.db.retention import PostgresRetentionStore
from tarsy.db.skill_texts import SkillTextRepository
from tarsy.db.work.parking import wake_within
from tarsy.domain.diagnosis import LiveProcess
from tarsy.intake.maintenance import maintain_incidents
from tarsy.kit.clock import SystemClock
from tarsy.llm.in_process import load_sdks
from tarsy.mcp_server.endpoint import McpEndpoint
from tarsy.notify.feed import NotificationFeed
from tarsy.queue.pool import WorkerPool
from tarsy.settings import ProcessRole, Settings
from tarsy.skills.sync import fetch_skills
from tarsy.telemetry.exposition import show_installation
from tarsy.telemetry.measured_requests import EventLag, MeasuredHttp
from tarsy.tools.connection import load_mcp_sdk
from tarsy.wiring.configured import Configured, build_handlers, build_pool, build_runner, build_services
from tarsy.wiring.infrastructure import Infrastructure, Overrides, open_infrastructure, skill_texts
from tarsy.wiring.installation import models_in_use, watched_servers
from tarsy.wiring.reload import Reload
from tarsy.wiring.upkeep import BudgetWatch, Presence, Retention

# How long a reload waits for the database.
PREPARE_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """The running application. The pool of a process that only serves the API has no workers."""

    api: FastAPI
    pool: WorkerPool
    # Makes notifications; only a server that works for the installation runs it.
    notifications: NotificationFeed
    # Connected while the server runs.
    slack: SlackSocket
    engine: AsyncEngine
    reload: Reload

    @property
    def services(self) -> Services:
        """The services of the configuration in force."""
        return self.api.state.services


@asynccontextmanager
async def application(
    settings: Settings, *, loaded: LoadedConfig | None = None, overrides: Overrides | None = None
) -> AsyncGenerator[Application]:
    """Build the application on its database and run everything but the worker pool and the HTTP server.

    Raises:
        ConfigError: the configuration has problems (all of them are in it).
        DatabaseUnavailableError: there is no database to work with.
    """
    if loaded is None:
        await to_thread.run_sync(fetch_skills, settings.config_dir, settings.env)
        loaded = load_config(settings.config_dir, settings.env)
    configured = Configured(settings, loaded, overrides or Overrides())
    await _import_sdks(configured)
    async with open_infrastructure(settings, loaded, configured.overrides) as infrastructure:
        database, metrics, clock = infrastructure.database, infrastructure.telemetry.metrics, SystemClock()
        engine, listener = database.engine, database.listener
        reload = Reload(settings, loaded, clock=clock)
        pool = build_pool(infrastructure, configured)
        if settings.role is not ProcessRole.API:
            listener.subscribe(WORK, pool.on_work)
            listener.subscribe(CANCEL, pool.on_cancel)
            listener.subscribe(PAUSE, pool.on_pause)
            listener.on_gap(pool.wake_all)
        notifications = NotificationFeed(engine, configured.notifications, configured.mask)
        listener.subscribe(EVENTS_NOTIFICATION, notifications.on_notification)
        api, mcp = create_app(build_services(infrastructure, configured, pool, reload)), McpEndpoint()
        mcp.mount(api)
        api.add_middleware(MeasuredHttp, metrics=metrics.process)
        listener.subscribe(EVENTS_NOTIFICATION, EventLag(metrics.process, clock).on_notification)
        running = Application(
            api=api,
            pool=pool,
            notifications=notifications,
            slack=SlackSocket(lambda: api.state.services),
            engine=engine,
            reload=reload,
        )
        async with anyio.create_task_group() as tasks:
            await tasks.start(_maintain, infrastructure, configured, running)
            tasks.start_soon(mcp.run, name="mcp")
            yield running
            tasks.cancel_scope.cancel()


@asynccontextmanager
async def api_on_database(settings: Settings, overrides: Overrides) -> AsyncGenerator[FastAPI]:
    """Build the API on its database, without workers, and run nothing else: for commands while no server runs.

    Raises:
        ConfigError: the configuration has problems (all of them are in it).
        DatabaseUnavailableError: there is no database to work with.
    """
    settings, loaded = replace(settings, role=ProcessRole.API), load_config(settings.config_dir, settings.env)
    configured = Configured(settings, loaded, overrides)
    async with open_infrastructure(settings, loaded, overrides) as infrastructure:
        pool, reload = build_pool(infrastructure, configured), Reload(settings, loaded, clock=SystemClock())
        yield create_app(build_services(infrastructure, configured, pool, reload))


async def _import_sdks(configured: Configured) -> None:
    """Import the SDKs of the configured models and tool servers in a process that calls them, before it takes work."""
    settings = configured.settings
    if settings.role is not ProcessRole.API and not settings.llm_service_addr and configured.overrides.llm is None:
        await to_thread.run_sync(load_sdks, models_in_use(configured.loaded).values())
    if any(server.transport.type != TransportType.STDIO for server in watched_servers(configured.loaded).values()):
        await load_mcp_sdk()


async def _maintain(
    infrastructure: Infrastructure,
    configured: Configured,
    running: Application,
    *,
    task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
) -> None:
    """Run the connections and periodic tasks of the process, and apply reloads of the configuration, until cancelled."""
    database, engine, pool, clock = infrastructure.database, running.engine, running.pool, SystemClock()
    retention = Retention(configured.config.system.retention, PostgresRetentionStore(engine))
    budgets = BudgetWatch(configured.period_budgets, lambda budgets: wake_within(infrastructure.publisher, budgets, clock.now()))
    started = clock.now()

    def process() -> LiveProcess:
        role = configured.settings.role.value
        return LiveProcess(id=infrastructure.pod_id, role=role, workers=len(pool.workers), version=__version__, started_at=started)

    presence = Presence(
        ProcessRepository(engine, lambda: budgets.budgets),
        process,
        partial(show_installation, infrastructure.telemetry.metrics.installation),
    )

    async def prepare(loaded: LoadedConfig) -> None:
        await _import_sdks(replace(configured, loaded=loaded))
        try:
            # Who asked for the reload waits, and the next one does too.
            with anyio.fail_after(PREPARE_SECONDS):
                await SkillTextRepository(engine).store(skill_texts(loaded))
        except (SQLAlchemyError, OSError) as error:
            problem = Problem(loaded.place, 0, "skills", "their texts cannot be stored: the database does not answer", "try again")
            raise ConfigError([problem]) from error

    def apply(loaded: LoadedConfig, settings: Settings) -> None:
        new = Configured(settings, loaded, configured.overrides)
        _apply(infrastructure, new, running)
        retention.reconfigure(loaded.config.system.retention)
        budgets.reconfigure(new.period_budgets)

    def on_reload(pod_id: str) -> None:
        """Follow the reload of another process."""
        if pod_id != infrastructure.pod_id:
            running.reload.request()

    running.reload.set_target(apply, prepare=prepare)
    database.listener.subscribe(RELOAD, on_reload)
    async with anyio.create_task_group() as tasks:
        for connection in (database.listener, database.sender, infrastructure.live):
            await tasks.start(connection.run)
        if configured.settings.role is not ProcessRole.WORKER:
            tasks.start_soon(infrastructure.tools.monitor.run, name="tool server health")
        tasks.start_soon(running.reload.run, name="reload")
        if configured.overrides.own_sessions is None:
            tasks.start_soon(retention.run, name="retention")
            tasks.start_soon(budgets.run, name="budgets")
            tasks.start_soon(maintain_incidents, lambda: running.services.incidents.service.maintenance, name="incidents")
            tasks.start_soon(presence.run, name="presence")
        task_status.started()


def _apply(infrastructure: Infrastructure, new: Configured, running: Application) -> None:
    """Use the new configuration for everything that begins from now on; running sessions keep the one they began with."""
    # Everything that can fail is built first, before anything changes.
    # Health, live and setup outlive a reload: they depend on no configuration, and have open streams and a lock.
    kept = running.services
    services = replace(
        build_services(infrastructure, new, running.pool, running.reload), health=kept.health, live=kept.live, setup=kept.setup
    )
    queue, runner, handlers = new.queue, build_runner(infrastructure, new), build_handlers(infrastructure, new)
    servers = watched_servers(new.loaded)
    if any(infrastructure.env.get(name) != value for name, value in new.loaded.env.items()):
        # A variable that was removed is kept: a running session may still need it.
        infrastructure.env.update(new.loaded.env)
        infrastructure.tools.connections.renew()
    running.api.state.services = services
    infrastructure.tools.monitor.watch(servers)
    running.slack.reconfigure()
    running.notifications.reconfigure(new.notifications, new.mask)
    running.pool.reconfigure(queue, runner, handlers)
