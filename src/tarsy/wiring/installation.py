"""The installation as the API shows it: its configuration, samples, tool servers, workers and health."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import structlog
from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy.agent.budget.unpriced import UnpricedCeiling, unpriced_ceilings
from tarsy.agent.ports import LLMClient
from tarsy.api.schemas.system import DefaultTools, Sample, SystemWarningItem, WarningSource, WorkerItem
from tarsy.api.services import DATABASE, Health, Probe
from tarsy.config.load.loader import LoadedConfig
from tarsy.config.resolve.redaction import redacted
from tarsy.config.resolve.resolved import ResolvedChain, ResolvedMcpServer, ResolvedProvider, resolved_provider, resolved_server
from tarsy.config.resolve.resolver import default_tools, resolve_chain, variants_in_use
from tarsy.config.schema.configuration import Config, with_any_model
from tarsy.config.schema.selection import McpSelection
from tarsy.config.templates import variables
from tarsy.db.connection import DatabaseUnavailableError, ping
from tarsy.demo.chain import replay_provider
from tarsy.demo.samples import list_samples
from tarsy.domain.llm import LLMBackend, LLMHealth, ProviderType
from tarsy.domain.tool import ServerHealth
from tarsy.llm.prices import PriceList
from tarsy.llm.providers.replay import RecordingLoader, RecordingUnreadableError
from tarsy.queue.pool import WorkerPool
from tarsy.session.chains import AlertType, UnknownAlertTypeError
from tarsy.tools.health import HealthMonitor
from tarsy.wiring.reload import Reload

log = structlog.get_logger(__name__)


def probes(engine: AsyncEngine, llm: LLMClient, pool: WorkerPool) -> Mapping[str, Probe]:
    """Return the probes by name. Their results need no login, so only the log has addresses and causes."""

    async def database() -> Health:
        try:
            await ping(engine)
        except DatabaseUnavailableError as error:
            log.warning("health.database_away", error=error.problem)
            return Health(healthy=False, message="does not answer; the log has the cause")
        return Health(healthy=True)

    async def workers() -> Health:
        if not pool.workers:
            return Health(healthy=True, message="this process has no workers")
        busy = sum(worker.claim is not None for worker in pool.workers)
        return Health(healthy=True, details={"workers": len(pool.workers), "busy": busy})

    async def model() -> Health:
        health: LLMHealth = await llm.health()
        if not health.ok:
            log.warning("health.llm_service_away", error=health.detail)
        return Health(healthy=health.ok, message="" if health.ok else "does not answer; the log has the cause")

    return {DATABASE: database, "worker_pool": workers, "llm_service": model}


@dataclass(frozen=True, slots=True)
class SampleChains:
    """Sample incidents as alert types: investigated by the default model, or by a recorded one if none is configured."""

    config: Config
    # Stored with the session: a worker of another process replays it at the same speed.
    replay_speed: float | None = None

    def alert_types(self) -> Sequence[AlertType]:
        return tuple(AlertType(sample.alert_type, sample.alert_type, sample.title, is_sample=True) for sample in list_samples())

    def resolve(self, alert_type: str, selection: McpSelection | None) -> ResolvedChain:
        del selection  # a sample has one tool server, its simulated cluster
        for sample in list_samples():
            if sample.alert_type == alert_type:
                provider = sample_model(self.config)
                settings = sample_settings(self.config) if provider else None
                chain = sample.chain_with(provider or replay_provider(sample.name, self.replay_speed), settings)
                return chain.model_copy(update={"session_timeout": self.config.queue.session_timeout})
        raise UnknownAlertTypeError(alert_type, [sample.alert_type for sample in list_samples()])


def recorded_alert(recordings: RecordingLoader, chain: ResolvedChain) -> str | None:
    """Return the alert that the recorded model of a chain was recorded with, or None if it is not known."""
    names = {agent.provider.recording for stage in chain.stages for top in stage.agents for agent in top.tree if agent.provider.recording}
    for name in sorted(names):
        # The session that needs an unreadable recording reports it.
        with suppress(RecordingUnreadableError):
            alert = recordings(name).alert
            if alert is not None:
                return alert.data
    return None


def sample_model(config: Config) -> ResolvedProvider | None:
    """Return the model that investigates the samples, or None if they are replayed from recordings."""
    name = config.defaults.llm_provider or config.default_provider
    if name is None or config.llm_providers[name].type is ProviderType.REPLAY:
        return None
    return resolved_provider(name, config.llm_providers[name])


def sample_settings(config: Config) -> Mapping[str, Any]:
    """Return the configured defaults that apply to samples, too: the way of tool calling and the timeouts."""
    names = ("tool_calling", "iteration_timeout", "llm_call_timeout", "tool_call_timeout")
    return {name: value for name in names if (value := getattr(config.defaults, name)) is not None}


def chains_in_use(config: Config) -> tuple[ResolvedChain, ...]:
    """Resolve every chain, with an arbitrary model if none is configured: tools can be checked without one."""
    resolvable = with_any_model(config)
    return tuple(resolve_chain(resolvable, chain_id) for chain_id in config.chains)


def models_in_use(loaded: LoadedConfig) -> Mapping[str, tuple[ResolvedProvider, LLMBackend]]:
    """Return the models of all chains whose keys are set, each with its SDK, by name."""
    found: dict[str, tuple[ResolvedProvider, LLMBackend]] = {}
    for agent in (agent for chain in chains_in_use(loaded.config) for agent in chain.agents):
        asked = [(agent.provider, agent.llm_backend), *((fallback.provider, fallback.backend) for fallback in agent.fallback_providers)]
        for provider, backend in asked:
            entry = loaded.config.llm_providers[provider.name]
            if provider.type is not ProviderType.REPLAY and not entry.missing_variables(loaded.env):
                found.setdefault(provider.name, (provider, backend))
    return found


def sample_incidents(config: Config) -> Sequence[Sample]:
    recorded = sample_model(config) is None
    return tuple(Sample.build(sample, recorded=recorded) for sample in list_samples())


@dataclass(frozen=True, slots=True)
class Installation:
    """The configuration without secrets, and its problems."""

    loaded: LoadedConfig
    monitor: HealthMonitor
    reload: Reload
    # Of the embedded database, after it had died.
    restarts: Sequence[datetime]
    # By the hour, because promotions begin and end.
    _unpriced: dict[datetime, Sequence[UnpricedCeiling]] = field(default_factory=dict[datetime, Sequence[UnpricedCeiling]])

    def config(self) -> Mapping[str, Any]:
        return redacted(self.loaded.config)

    def default_tools(self) -> Sequence[DefaultTools]:
        config = self.loaded.config
        found = {alert_type: default_tools(config, alert_type) for alert_type in config.chains.alert_types}
        return tuple(
            DefaultTools(alert_type=alert_type, servers=servers, native_tools=native) for alert_type, (servers, native) in found.items()
        )

    def models(self) -> Mapping[str, ResolvedProvider]:
        """The configured models that have all they need, by their names."""
        providers = self.loaded.config.llm_providers
        return {name: resolved_provider(name, one) for name, one in providers.items() if not one.missing_variables(self.loaded.env)}

    def mcp_servers(self) -> Sequence[ServerHealth]:
        watched = {report.name: report for report in self.monitor.reports}
        config = self.loaded.config
        return tuple(
            with_short_tool_names(watched[name])
            if name in watched
            else unwatched(name, server.transport.type.value, missing_variables(self.loaded, name))
            for name, server in config.mcp_servers.items()
        )

    async def unpriced_ceilings(self) -> Sequence[UnpricedCeiling]:
        hour = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
        if hour not in self._unpriced:
            config = self.loaded.config
            found = await unpriced_ceilings(config, PriceList(config.system.cost_estimation, self.loaded.env), hour)
            self._unpriced.clear()
            self._unpriced[hour] = found
        return self._unpriced[hour]

    def warnings(self) -> Sequence[SystemWarningItem]:
        warnings = [SystemWarningItem(source=WarningSource.CONFIG, message=str(problem)) for problem in self.loaded.warnings]
        warnings += [
            SystemWarningItem(source=WarningSource.MCP, message=report.error or report.name, since=report.since)
            for report in self.monitor.warnings
        ]
        if self.restarts:
            times = f"{len(self.restarts)} times" if len(self.restarts) > 1 else "once"
            message = (
                f"The embedded PostgreSQL died and was restarted {times}. See server.log.old in its data directory, and the system's log."
            )
            warnings.append(SystemWarningItem(source=WarningSource.MAINTENANCE, message=message, since=self.restarts[-1]))
        if failure := self.reload.failure:
            warnings[:0] = [
                SystemWarningItem(
                    source=WarningSource.CONFIG, message=f"The changed configuration is not in force: {problem}", since=failure.at
                )
                for problem in failure.error.problems
            ]
        return warnings


def missing_variables(loaded: LoadedConfig, name: str) -> frozenset[str]:
    """Return the variables that a tool server needs and the environment lacks."""
    transport = resolved_server(loaded.config, name).transport
    return frozenset(variable for variable in variables(transport.model_dump_json()) if variable not in loaded.env)


def servers_in_use(config: Config) -> Mapping[str, ResolvedMcpServer]:
    """Return the tool servers that a chain or route can use."""
    used = {name: server for chain in chains_in_use(config) for name, server in chain.mcp_servers.items()}
    return used | {name: resolved_server(config, name) for name in variants_in_use(config)}


def watched_servers(loaded: LoadedConfig) -> Mapping[str, ResolvedMcpServer]:
    """Return the tool servers in use whose variables are set."""
    used = servers_in_use(loaded.config)
    return {name: used[name] for name in sorted(used) if not missing_variables(loaded, name)}


def with_short_tool_names(health: ServerHealth) -> ServerHealth:
    """Remove the server from the names of its tools: models use `server.tool`, configuration files and alerts only `tool`."""
    return replace(health, tools=tuple(replace(tool, name=tool.name.removeprefix(f"{health.name}.")) for tool in health.tools))


def unwatched(name: str, transport: str, missing: frozenset[str]) -> ServerHealth:
    reason = f"not started: set {', '.join(sorted(missing))}" if missing else "not used by any chain"
    return ServerHealth(name=name, transport=transport, error=reason)


def worker_items(pool: WorkerPool) -> Sequence[WorkerItem]:
    """Return the workers of this process; none if it only serves the API."""
    return tuple(WorkerItem.build(worker, session_id=worker.claim.session if worker.claim else None) for worker in pool.workers)
