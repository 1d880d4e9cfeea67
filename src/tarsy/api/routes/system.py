"""The installation: its configuration, tools, warnings and queue."""

from dataclasses import asdict

from fastapi import APIRouter

from tarsy.api.schemas.system import (
    DefaultTools,
    DefaultToolsList,
    EffectiveConfig,
    MCPServerItem,
    MCPServers,
    QueueReport,
    SystemWarningItem,
    SystemWarnings,
    Version,
    WorkerItem,
)
from tarsy.api.services import AuthorOf, ServicesOf
from tarsy.db.audit import AuditAction

router = APIRouter(prefix="/system", tags=["system"])


@router.get("/config", operation_id="getConfig")
async def get_config(services: ServicesOf, author: AuthorOf) -> EffectiveConfig:
    """The configuration in force. Secrets are never shown; who looked is noted."""
    await services.audit.append(author, AuditAction.CONFIG_VIEWED)
    return EffectiveConfig(config=dict(services.system.config()))


@router.get("/default-tools", operation_id="getDefaultTools")
async def get_default_tools(services: ServicesOf) -> DefaultToolsList:
    """The tool servers that the chain of each alert type uses unless the alert chooses its own."""
    return DefaultToolsList(defaults=[DefaultTools.model_validate(entry) for entry in services.system.default_tools()])


@router.get("/mcp-servers", operation_id="getMCPServers")
async def get_mcp_servers(services: ServicesOf) -> MCPServers:
    """The tool servers as their monitor last saw them."""
    return MCPServers(servers=[MCPServerItem.model_validate(server) for server in services.system.mcp_servers()])


@router.get("/warnings", operation_id="getWarnings")
async def get_warnings(services: ServicesOf) -> SystemWarnings:
    """What the operator should look at."""
    return SystemWarnings(warnings=[SystemWarningItem.model_validate(warning) for warning in services.system.warnings()])


@router.get("/queue", operation_id="getQueue")
async def get_queue(services: ServicesOf) -> QueueReport:
    """The queue of the whole installation, and the workers of the process that answers."""
    return QueueReport(
        **asdict(await services.sessions.queue_state()),
        **asdict(services.queue_limits),
        pod_id=services.pod_id,
        workers=[WorkerItem.model_validate(worker) for worker in services.workers.states()],
    )


@router.get("/version", operation_id="getVersion")
async def get_version(services: ServicesOf) -> Version:
    return Version(version=services.version)
