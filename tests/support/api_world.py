"""The API on a real PostgreSQL behind a real HTTP server, with chains and surroundings made up."""

import socket
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import anyio
import httpx
from fastapi import FastAPI
from sqlalchemy.ext.asyncio import AsyncEngine
from uvicorn.config import Config
from uvicorn.server import Server

from tarsy.agent.budget.unpriced import UnpricedCeiling
from tarsy.api.app import create_app
from tarsy.api.auth import AuthSettings
from tarsy.api.http_server import prepare_listener
from tarsy.api.schemas.system import DefaultTools, Sample, SystemWarningItem, WarningSource
from tarsy.api.services import (
    Health,
    HealthServices,
    IncidentServices,
    LiveServices,
    NotificationServices,
    Probe,
    Services,
    SystemServices,
)
from tarsy.config.load.display import Differences
from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedChain, ResolvedMcpServer, ResolvedStage, ResolvedTransport
from tarsy.config.schema.selection import McpSelection, SelectionError
from tarsy.config.schema.system import QueueConfig
from tarsy.db.api_tokens import TokenRepository
from tarsy.db.audit import AuditLog
from tarsy.db.connection import create_engine
from tarsy.db.incident.changes import ChangeRepository
from tarsy.db.incident.mutes import MuteRepository
from tarsy.db.incident.repository import IncidentRepository
from tarsy.db.notification_repository import NotificationRepository
from tarsy.db.notifications import ReloadNotices
from tarsy.db.outbox import Outbox, Publisher
from tarsy.db.processes import HealthReader
from tarsy.db.repositories import SessionRepositories
from tarsy.db.session.admission import Admission
from tarsy.db.sign_ins import SignInRepository
from tarsy.db.spending import PostgresSpendingStore
from tarsy.db.tool_pins import ToolPinRepository
from tarsy.db.usage import UsageRepository
from tarsy.db.work.pauses import PauseRepository
from tarsy.domain.execution import AgentType
from tarsy.domain.llm import LLMBackend, ProviderType, ResolvedProvider
from tarsy.domain.tool import ServerHealth, ServerState, ToolCalling, ToolDefinition
from tarsy.events.hub import Hub
from tarsy.events.live_state import LiveState
from tarsy.intake.acceptance import DeliveryMetrics
from tarsy.intake.policy import Policy
from tarsy.intake.service import IncidentService
from tarsy.intake.sns import SnsClient
from tarsy.notify.policy import NotificationPolicy
from tarsy.session.chains import AlertType, UnknownAlertTypeError
from tarsy.session.submission import SubmissionService
from tarsy.tools.masking.masker import Masker

AT = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


def agent(name: str = "KubernetesAgent") -> ResolvedAgentConfig:
    provider = ResolvedProvider(name="recorded", type=ProviderType.REPLAY, model="recorded", recording="nowhere.yaml")
    return ResolvedAgentConfig(
        agent_name=name, type=AgentType.DEFAULT, llm_backend=LLMBackend.LANGCHAIN, tool_calling=ToolCalling.NATIVE, provider=provider
    )


def chain(chain_id: str = "kubernetes", *, followed_up: bool = True) -> ResolvedChain:
    stages = (
        ResolvedStage(name="triage", agents=(agent(),)),
        ResolvedStage(name="analysis", agents=(agent("A"), agent("B")), synthesis=agent("SynthesisAgent")),
    )
    follow_up = agent("ChatAgent") if followed_up else None
    return ResolvedChain(chain_id=chain_id, stages=stages, executive_summary=agent("ExecSummaryAgent"), chat=follow_up, scoring=follow_up)


class FixedChains:
    def alert_types(self) -> Sequence[AlertType]:
        return (AlertType("kubernetes", "kubernetes", "Pods and nodes"), AlertType("silent", "silent"))

    def resolve(self, alert_type: str, selection: McpSelection | None) -> ResolvedChain:
        if selection and any(server.name != "kubernetes-server" for server in selection.servers):
            raise SelectionError(("mcp.servers[0]: there is no such MCP server",))
        if alert_type not in {"kubernetes", "silent"}:
            raise UnknownAlertTypeError(alert_type, ["kubernetes", "silent"])
        return chain(alert_type, followed_up=alert_type == "kubernetes")


def tool_server(name: str) -> ResolvedMcpServer:
    return ResolvedMcpServer(name=name, transport=ResolvedTransport(type="http", url=f"http://{name}"))


class FixedSystem:
    def config(self) -> Mapping[str, Any]:
        return {"llm_providers": {"google-default": {"api_key_env": "GOOGLE_API_KEY"}}}

    def default_tools(self) -> Sequence[DefaultTools]:
        return (DefaultTools(alert_type="kubernetes", servers=["kubernetes-server"], native_tools={"google_search": False}),)

    def mcp_servers(self) -> Sequence[ServerHealth]:
        tools = (ToolDefinition("pods_list", "List pods"),)
        return (ServerHealth(name="kubernetes-server", transport="stdio", state=ServerState.CONNECTED, checked_at=AT, tools=tools),)

    def warnings(self) -> Sequence[SystemWarningItem]:
        return (SystemWarningItem(source=WarningSource.CONFIG, message="defaults.memory is accepted but has no effect yet"),)

    def models(self) -> Mapping[str, ResolvedProvider]:
        return {}

    async def unpriced_ceilings(self) -> Sequence[UnpricedCeiling]:
        return ()


MASK = Masker((), custom=[("hunter2", "[MASKED]")])


OPEN_POLICY = Policy(default_alert_type="kubernetes")


async def healthy() -> Health:
    return Health(healthy=True)


async def nothing_new() -> Differences:
    return Differences()


def services_on(
    engine: AsyncEngine,
    *,
    auth: AuthSettings | None = None,
    max_queue_size: int | None = None,
    policy: Policy = OPEN_POLICY,
    sns: SnsClient | None = None,
    metrics: DeliveryMetrics | None = None,
) -> Services:
    admission = Admission(Publisher(engine), max_queue_size=max_queue_size)
    repositories = SessionRepositories.on(Publisher(engine), admission)
    submissions = SubmissionService(chains=FixedChains(), store=repositories.sessions, mask=MASK, default_alert_type="kubernetes")
    sample = Sample(
        name="oom",
        title="Out of memory",
        description="A pod is killed.",
        alert_type="sample-oom",
        alert_data="OOMKilled",
        questions=[],
        recorded=True,
    )
    return Services(
        auth=auth or AuthSettings(),
        tokens=TokenRepository(engine),
        sign_ins=SignInRepository(engine),
        mask=MASK,
        repositories=repositories,
        submissions=submissions,
        samples=lambda: (sample,),
        incidents=IncidentServices(
            service=IncidentService.build(Publisher(engine), policy, submissions, admission, tool_server, sns=sns, metrics=metrics),
            repository=IncidentRepository(engine),
            mutes=MuteRepository(engine),
            changes=ChangeRepository(engine),
        ),
        usage=UsageRepository(engine),
        spending=PostgresSpendingStore(engine),
        period_budgets=(),
        notifications=NotificationServices(repository=NotificationRepository(engine), policy=NotificationPolicy()),
        system=SystemServices(
            version="1.2.3",
            pod_id="pod-1",
            installation=FixedSystem(),
            workers=tuple,
            queue=QueueConfig(max_queue_size=max_queue_size),
            pauses=PauseRepository(Publisher(engine)),
            tool_pins=ToolPinRepository(engine),
            audit=AuditLog(engine),
            vital_signs=HealthReader(engine),
            reload=nothing_new,
            reloads=ReloadNotices(engine, pod_id="pod-1"),
        ),
        health=HealthServices(probes={"database": healthy, "worker_pool": healthy, "llm_service": healthy}),
        live=LiveServices(hub=Hub(Outbox(engine), repositories.sessions.exists, LiveState())),
    )


@dataclass(frozen=True)
class World:
    """A server and a client that talks to it."""

    services: Services
    client: httpx.AsyncClient
    port: int

    async def submit(self, data: str = "pod is down", **more: Any) -> str:
        answer = await self.client.post("/api/v1/alerts", json={"data": data, **more})
        assert answer.status_code == 202, answer.text
        return answer.json()["session_id"]


@asynccontextmanager
async def serving(services: Services, app: FastAPI | None = None) -> AsyncGenerator[World]:
    """Serve on a free port of 127.0.0.1 for as long as the block lasts; `app` is an application that was put together elsewhere."""
    with socket.socket() as listener:
        prepare_listener(listener)
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        settings = Config(app or create_app(services), log_config=None, ws="none", lifespan="off", proxy_headers=False)
        server = Server(settings)
        async with anyio.create_task_group() as group:
            group.start_soon(server.serve, [listener])
            with anyio.fail_after(60):
                while not server.started:
                    await anyio.lowlevel.checkpoint()
            # No TLS: reading the trusted certificates would take longer than most tests.
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=20, verify=False) as client:  # noqa: S501 - plain HTTP
                yield World(services, client, port)
            server.should_exit = True


@asynccontextmanager
async def world(
    database_url: str,
    *,
    auth: AuthSettings | None = None,
    max_queue_size: int | None = None,
    policy: Policy = OPEN_POLICY,
    sns: SnsClient | None = None,
    metrics: DeliveryMetrics | None = None,
    probes: Mapping[str, Probe] | None = None,
    is_stopping: Callable[[], bool] = lambda: False,
) -> AsyncGenerator[World]:
    engine = create_engine(database_url)
    try:
        services = services_on(engine, auth=auth, max_queue_size=max_queue_size, policy=policy, sns=sns, metrics=metrics)
        if probes is not None:
            services = replace(services, health=replace(services.health, probes=probes, is_stopping=is_stopping))
        async with serving(services) as served:
            yield served
    finally:
        await engine.dispose()
