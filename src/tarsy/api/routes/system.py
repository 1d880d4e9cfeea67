"""Health and metrics for load balancers and Prometheus; configuration, warnings, queue and pauses for operators."""

from datetime import UTC, datetime
from typing import Annotated

import anyio
from fastapi import Path, Query, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import Field

from tarsy.agent.budget.unpriced import REMEDY
from tarsy.api.auth import IdentityKind, is_loopback, peer_of
from tarsy.api.problems import ProblemKind, RequestRefusedError
from tarsy.api.router import api_router, plain_router
from tarsy.api.schemas.system import (
    AcceptedTools,
    Check,
    DefaultToolsList,
    EffectiveConfig,
    HealthReport,
    MCPServerItem,
    MCPServers,
    PauseRequest,
    Pauses,
    QueueReport,
    RefusedDeliveries,
    ReloadReport,
    SystemWarningItem,
    SystemWarnings,
    Version,
    WarningSource,
)
from tarsy.api.schemas.view import Name
from tarsy.api.services import DATABASE, AuthorDep, Health, IdentityDep, Probe, ServicesDep
from tarsy.config.problems import did_you_mean, dotted
from tarsy.db.audit import AuditAction
from tarsy.db.errors import ConflictError, NotFoundError
from tarsy.db.incident.refusals import refusal_warnings
from tarsy.db.session.listing import SessionFilter
from tarsy.domain.diagnosis import diagnose
from tarsy.domain.tool import ServerHealth
from tarsy.domain.tool_pin import ToolPin, digest, pin_problem

health_router = plain_router(tag="health")

# The health check of a load balancer times out after five seconds.
PROBE_SECONDS = 3.0


# Some monitors send HEAD.
@health_router.head("/health", include_in_schema=False)
@health_router.get(
    "/health", operation_id="getHealth", responses={503: {"model": HealthReport, "description": "The database is unreachable."}}
)
async def get_health(services: ServicesDep, response: Response) -> HealthReport:
    """The state of every component. Returns 503 only if the database is unreachable."""
    found: dict[str, Health] = {}

    async def ask(name: str, probe: Probe) -> None:
        found[name] = await _answer(probe)

    async with anyio.create_task_group() as group:
        for name, probe in services.health.probes.items():
            group.start_soon(ask, name, probe, name=f"health:{name}")
    checks = {
        name: Check(
            status="healthy" if found[name].healthy else "unhealthy", message=found[name].message, details=dict(found[name].details)
        )
        for name in services.health.probes
    }
    if DATABASE in found and not found[DATABASE].healthy:
        response.status_code = 503
        return HealthReport(status="unhealthy", version=services.system.version, checks=checks)
    all_healthy = all(one.healthy for one in found.values())
    return HealthReport(status="healthy" if all_healthy else "degraded", version=services.system.version, checks=checks)


@health_router.head("/live", include_in_schema=False)
@health_router.get("/live", include_in_schema=False)
async def get_live() -> dict[str, str]:
    """Whether the process responds; if it does not, restart it."""
    return {"status": "alive"}


@health_router.head("/ready", include_in_schema=False)
@health_router.get("/ready", include_in_schema=False)
async def get_ready(services: ServicesDep, response: Response) -> dict[str, str]:
    """Whether to send requests to this process. Returns 503 while its database is unreachable, or once it is stopping."""
    if services.health.is_stopping():
        response.status_code = 503
        return {"status": "not ready", "reason": "this process is stopping"}
    database = await _answer(services.health.probes[DATABASE])
    if not database.healthy:
        response.status_code = 503
        return {"status": "not ready", "reason": database.message}
    return {"status": "ready"}


async def _answer(probe: Probe) -> Health:
    with anyio.move_on_after(PROBE_SECONDS):
        return await probe()
    return Health(healthy=False, message=f"no answer within {PROBE_SECONDS:g} s")


@health_router.get("/metrics", operation_id="getMetrics", include_in_schema=False)
async def get_metrics(request: Request, services: ServicesDep, identity: IdentityDep) -> Response:
    """Figures for Prometheus, for callers with a login; a server without one serves them only to this machine."""
    anonymous = identity is None or identity.kind is IdentityKind.OPEN
    if anonymous and not is_loopback(peer_of(request.scope) or ""):
        raise RequestRefusedError(ProblemKind.FORBIDDEN, "Metrics are for this machine and for callers with a token.")
    return Response(services.health.metrics(), media_type=CONTENT_TYPE_LATEST)


router = api_router("/system", tag="system")


@router.get("/config", operation_id="getConfig")
async def get_config(services: ServicesDep, author: AuthorDep) -> EffectiveConfig:
    """The current configuration, without secrets. The audit log records who read it."""
    await services.system.audit.append(author, AuditAction.CONFIG_VIEWED)
    return EffectiveConfig(config=dict(services.system.installation.config()))


@router.get("/default-tools", operation_id="getDefaultTools")
async def get_default_tools(services: ServicesDep) -> DefaultToolsList:
    """The tool servers that the chain of each alert type uses, unless the alert selects others."""
    return DefaultToolsList(defaults=[*services.system.installation.default_tools()])


@router.get("/mcp-servers", operation_id="getMCPServers")
async def get_mcp_servers(services: ServicesDep) -> MCPServers:
    """The tool servers, as of the monitor's last check."""
    pins = await services.system.tool_pins.all()
    return MCPServers(servers=[_server(health, pins.get(health.name)) for health in services.system.installation.mcp_servers()])


@router.post("/mcp-servers/{name}/accept", operation_id="acceptTools")
async def accept_tools(
    name: Annotated[Name, Path(description="The tool server's name.")], accepted: AcceptedTools, services: ServicesDep, author: AuthorDep
) -> MCPServerItem:
    """Accept the tools of a server as they are now: later changes are reported, and with `pin: strict` agents do not use the server then.

    Returns 409 if the tools have changed since the caller read their fingerprint.
    """
    health = next((one for one in services.system.installation.mcp_servers() if one.name == name), None)
    if health is None:
        raise NotFoundError("tool server", name)
    if not health.fingerprints:
        raise ConflictError(f"The tools of {name} are not known yet: {health.error or 'it has not been checked'}.")
    if digest(health.fingerprints) != accepted.fingerprint:
        raise ConflictError(f"The tools of {name} have changed in the meantime: check them again.")
    await services.system.tool_pins.accept(name, health.fingerprints, actor=author)
    return _server(health, await services.system.tool_pins.get(name))


def _server(health: ServerHealth, pin: ToolPin | None) -> MCPServerItem:
    listed = health.fingerprints
    return MCPServerItem.build(
        health,
        fingerprint=digest(listed) if listed else None,
        accepted_at=pin.accepted_at if pin else None,
        accepted_by=pin.accepted_by if pin else None,
        pin_problem=pin_problem(health.name, health.pin, pin, listed, named=health.named_tools) if listed else None,
    )


@router.get("/warnings", operation_id="getWarnings")
async def get_warnings(services: ServicesDep) -> SystemWarnings:
    """Warnings for the operator."""
    diagnosed = [
        SystemWarningItem(source=WarningSource(one.kind.value), message=f"{one.message} {one.remedy[0].upper()}{one.remedy[1:]}.")
        for one in diagnose(await services.system.vital_signs.read())
    ]
    refused_senders = [
        SystemWarningItem(source=WarningSource.SENDER, message=message, since=at)
        for message, at in refusal_warnings(await services.incidents.service.refusals.repository.latest(), datetime.now(UTC))
    ]
    unpriced = [
        SystemWarningItem(source=WarningSource.CONFIG, message=f"{dotted(one.path)}: {one.message}; {REMEDY}")
        for one in await services.system.installation.unpriced_ceilings()
    ]
    servers = (await get_mcp_servers(services)).servers
    changed = [SystemWarningItem(source=WarningSource.MCP, message=one.pin_problem) for one in servers if one.pin_problem]
    return SystemWarnings(warnings=[*diagnosed, *services.system.installation.warnings(), *changed, *refused_senders, *unpriced])


@router.get("/refused-deliveries", operation_id="getRefusedDeliveries")
async def get_refused_deliveries(services: ServicesDep) -> RefusedDeliveries:
    """The last webhook requests that TARSy refused, or that failed: nothing of them is stored."""
    return RefusedDeliveries.build(deliveries=await services.incidents.service.refusals.repository.latest())


@router.get("/queue", operation_id="getQueue")
async def get_queue(services: ServicesDep) -> QueueReport:
    """The queue of the whole installation, and the workers of the process that answers."""
    system, state = services.system, await services.repositories.sessions.queue_state()
    return QueueReport.build(state, system.queue, system, pauses=await system.pauses.current(), workers=system.workers())


@router.get("/pause", operation_id="getPauses")
async def get_pauses(services: ServicesDep) -> Pauses:
    """What is paused: TARSy starts no new work of it."""
    return Pauses.build(pauses=await services.system.pauses.current())


@router.post("/pause", operation_id="pause")
async def pause(wanted: PauseRequest, services: ServicesDep, author: AuthorDep) -> Pauses:
    """Start no new work, of one chain or of all; with `now`, also park running sessions. Waiting sessions keep their place."""
    chain_id, chains = wanted.chain_id, {one.chain_id for one in services.submissions.chains.alert_types()}
    # Sessions of a chain that was removed from the configuration may still wait.
    if chain_id and chain_id not in chains and not await services.repositories.sessions.counts(SessionFilter(chain_id=chain_id)):
        raise RequestRefusedError(ProblemKind.BAD_REQUEST, f'There is no chain "{chain_id}": {did_you_mean(chain_id, chains)}')
    reason = services.mask(wanted.reason)
    return Pauses.build(pauses=await services.system.pauses.pause(chain_id, actor=author, reason=reason, now=wanted.now))


@router.delete("/pause", operation_id="resume")
async def resume(
    services: ServicesDep,
    author: AuthorDep,
    chain_id: Annotated[
        Annotated[Name, Field(min_length=1)] | None, Query(description="The chain; absent: end the pause of everything.")
    ] = None,
) -> Pauses:
    """End a pause: start waiting sessions, and continue parked ones before new ones."""
    return Pauses.build(pauses=await services.system.pauses.resume(chain_id, actor=author))


@router.post("/reload", operation_id="reloadConfig")
async def reload_config(services: ServicesDep, author: AuthorDep) -> ReloadReport:
    """Reload the configuration, in this process and in all others. Running sessions keep theirs; a file with mistakes changes nothing (409)."""
    found = await services.system.reload()
    report = ReloadReport.model_validate(found)
    await services.system.reloads.publish(author, report.model_dump())
    return report


@router.get("/version", operation_id="getVersion")
async def get_version(services: ServicesDep) -> Version:
    return Version(version=services.system.version)
