"""The installation: its configuration, tools, warnings and queue."""

from typing import Annotated

from fastapi import Query

from tarsy.agent.budget.unpriced import CURE
from tarsy.api.router import api_router
from tarsy.api.schemas.system import (
    MAX_NAME,
    DefaultToolsList,
    EffectiveConfig,
    MCPServers,
    PauseRequest,
    Pauses,
    QueueReport,
    ReloadReport,
    SystemWarningItem,
    SystemWarnings,
    Version,
    WarningSource,
)
from tarsy.api.schemas.view import StorableText
from tarsy.api.services import AuthorOf, Services, ServicesOf
from tarsy.config.problems import dotted
from tarsy.db.audit import AuditAction
from tarsy.domain.diagnosis import diagnose
from tarsy.intake.service import Refusals

router = api_router("/system", tag="system")


@router.get("/config", operation_id="getConfig")
async def get_config(services: ServicesOf, author: AuthorOf) -> EffectiveConfig:
    """The current configuration, without secrets. The audit log records who read it."""
    await services.audit.append(author, AuditAction.CONFIG_VIEWED)
    return EffectiveConfig(config=dict(services.system.config()))


@router.get("/default-tools", operation_id="getDefaultTools")
async def get_default_tools(services: ServicesOf) -> DefaultToolsList:
    """The tool servers that the chain of each alert type uses, unless the alert selects others."""
    return DefaultToolsList(defaults=[*services.system.default_tools()])


@router.get("/mcp-servers", operation_id="getMCPServers")
async def get_mcp_servers(services: ServicesOf) -> MCPServers:
    """The tool servers, as of the monitor's last check."""
    return MCPServers.shown(servers=services.system.mcp_servers())


@router.get("/warnings", operation_id="getWarnings")
async def get_warnings(services: ServicesOf) -> SystemWarnings:
    """Warnings for the operator."""
    found = [*await _diagnosed(services), *services.system.warnings(), *_refused_senders(services.desk.reception.refusals)]
    return SystemWarnings(warnings=[*found, *await _unpriced(services)])


async def _diagnosed(services: Services) -> list[SystemWarningItem]:
    """What ails the installation as a whole."""
    found = diagnose(await services.vital_signs.read())
    return [
        SystemWarningItem(source=WarningSource(one.ailment.value), message=f"{one.message} {one.cure[0].upper()}{one.cure[1:]}.")
        for one in found
    ]


async def _unpriced(services: Services) -> list[SystemWarningItem]:
    found = await services.system.unpriced_ceilings()
    return [SystemWarningItem(source=WarningSource.CONFIG, message=f"{dotted(one.path)}: {one.message}; {CURE}") for one in found]


def _refused_senders(refusals: Refusals) -> list[SystemWarningItem]:
    return [
        SystemWarningItem(
            source=WarningSource.SENDER,
            message=f"{count} requests of sender {source} were refused by this process: {refusal.told}.",
            since=refusals.last[source, refusal],
        )
        for (source, refusal), count in sorted(refusals.counts.items())
    ]


@router.get("/queue", operation_id="getQueue")
async def get_queue(services: ServicesOf) -> QueueReport:
    """The queue of the whole installation, and the workers of the process that answers."""
    pauses, workers = await services.pauses.current(), services.workers.states()
    return QueueReport.shown(await services.sessions.queue_state(), services.queue, services, pauses=pauses, workers=workers)


@router.get("/pause", operation_id="getPauses")
async def get_pauses(services: ServicesOf) -> Pauses:
    """What is paused: TARSy starts no new work of it."""
    return Pauses.shown(pauses=await services.pauses.current())


@router.post("/pause", operation_id="pause")
async def pause(wanted: PauseRequest, services: ServicesOf, author: AuthorOf) -> Pauses:
    """Start no new work, of one chain or of all; with `now`, also park running sessions. Waiting sessions keep their place."""
    return Pauses.shown(
        pauses=await services.pauses.pause(wanted.chain_id, actor=author, reason=services.mask(wanted.reason), now=wanted.now)
    )


@router.delete("/pause", operation_id="resume")
async def resume(
    services: ServicesOf,
    author: AuthorOf,
    chain_id: Annotated[
        StorableText | None, Query(max_length=MAX_NAME, description="The chain; absent: end the pause of everything.")
    ] = None,
) -> Pauses:
    """End a pause: start waiting sessions, and continue parked ones before new ones."""
    return Pauses.shown(pauses=await services.pauses.resume(chain_id, actor=author))


@router.post("/reload", operation_id="reloadConfig")
async def reload_config(services: ServicesOf, author: AuthorOf) -> ReloadReport:
    """Reload the configuration, in this process and in all others. Running sessions keep theirs; a file with mistakes changes nothing (409)."""
    found = await services.reload()
    report = ReloadReport.model_validate(found)
    await services.reloads.tell(author, report.model_dump())
    return report


@router.get("/version", operation_id="getVersion")
async def get_version(services: ServicesOf) -> Version:
    return Version(version=services.version)
