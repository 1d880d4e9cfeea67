"""Whether the program is well, for people, load balancers and Prometheus."""

from collections.abc import Mapping

import anyio
from fastapi import Request, Response

from tarsy.api.auth import Identity, IdentityKind, is_loopback, peer_of
from tarsy.api.problems import ProblemKind, RequestRefusedError
from tarsy.api.router import plain_router
from tarsy.api.schemas.system import Check, HealthReport
from tarsy.api.services import DATABASE, Health, Probe, Services, ServicesOf
from tarsy.kit.prometheus import CONTENT_TYPE_LATEST

router = plain_router(tag="health")

# A load balancer that asks for health gives up after five seconds.
PROBE_SECONDS = 3.0


# Some monitors ask for the status alone.
@router.head("/health", include_in_schema=False)
@router.get("/health", operation_id="getHealth", responses={503: {"model": HealthReport, "description": "The database is unreachable."}})
async def get_health(services: ServicesOf, response: Response) -> HealthReport:
    """The state of every component. Returns 503 only if the database is unreachable."""
    report = await _report(services)
    if report.status == "unhealthy":
        response.status_code = 503
    return report


async def _report(services: Services) -> HealthReport:
    found = await _ask_all(services.probes)
    checks = {name: _check(found[name]) for name in services.probes}
    if DATABASE in found and not found[DATABASE].healthy:
        return HealthReport(status="unhealthy", version=services.version, checks=checks)
    all_well = all(health.healthy for health in found.values())
    return HealthReport(status="healthy" if all_well else "degraded", version=services.version, checks=checks)


async def _ask_all(probes: Mapping[str, Probe]) -> Mapping[str, Health]:
    found: dict[str, Health] = {}

    async def ask(name: str, probe: Probe) -> None:
        found[name] = Health(healthy=False, message=f"no answer within {PROBE_SECONDS:g} s")
        with anyio.move_on_after(PROBE_SECONDS):
            found[name] = await probe()

    async with anyio.create_task_group() as group:
        for name, probe in probes.items():
            group.start_soon(ask, name, probe, name=f"health:{name}")
    return found


def _check(health: Health) -> Check:
    return Check(status="healthy" if health.healthy else "unhealthy", message=health.message, details=dict(health.details))


@router.get("/metrics", operation_id="getMetrics", include_in_schema=False)
async def get_metrics(request: Request, services: ServicesOf) -> Response:
    """Figures for Prometheus, for callers with a login and for this machine."""
    identity: Identity | None = request.state.identity
    anonymous = identity is None or identity.kind is IdentityKind.OPEN
    if anonymous and not is_loopback(peer_of(request.scope) or ""):
        raise RequestRefusedError(ProblemKind.FORBIDDEN, "Metrics are for this machine and for callers with a token.")
    return Response(services.metrics(), media_type=CONTENT_TYPE_LATEST)
