"""Tool servers to talk to, third-party ones from npm and one of ours that misbehaves, opened the way an execution opens them."""

import os
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import pytest

from support.paths import FAULT_SERVER, TESTS
from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedMasking, ResolvedMcpServer, ResolvedTransport
from tarsy.domain.claim import INVESTIGATION, Claim
from tarsy.domain.conversation import ToolCall
from tarsy.domain.execution import AgentType, ExecutionPlace
from tarsy.domain.llm import LLMBackend, ProviderType, ResolvedProvider
from tarsy.domain.tool import ApprovalPolicy, ToolCalling, ToolCatalog, ToolResult
from tarsy.tools.executor import MaskedTools, McpToolServers
from tarsy.tools.pool import ConnectionPool

SERVERS = TESTS / "contract" / "tools" / "servers"
MASKING = ResolvedMasking(enabled=True, pattern_groups=("all",))
EXECUTION_ID = "execution-7"


@dataclass(slots=True)
class Tools:
    """An execution's tools, and their output while they ran."""

    executor: MaskedTools
    output: list[str] = field(default_factory=list[str])

    async def list(self) -> ToolCatalog:
        return await self.executor.list_tools()

    async def call(self, name: str, arguments: str = "{}") -> ToolResult:
        return await self.executor.execute(ToolCall("call-1", name, arguments), self.output.append)


def server(
    name: str, transport: ResolvedTransport, *, tools: tuple[str, ...] | None = None, approval: ApprovalPolicy = ApprovalPolicy.NEVER
) -> ResolvedMcpServer:
    return ResolvedMcpServer(name=name, transport=transport, masking=MASKING, tools=tools, approval=approval)


def stdio(
    name: str, command: str, *args: str, env: Mapping[str, str] | None = None, tools: tuple[str, ...] | None = None
) -> ResolvedMcpServer:
    return server(name, ResolvedTransport(type="stdio", command=command, args=args, env=env or {}), tools=tools)


def fault(
    mode: str = "", *, name: str = "fault", env: Mapping[str, str] | None = None, tools: tuple[str, ...] | None = None
) -> ResolvedMcpServer:
    return stdio(name, sys.executable, "-S", str(FAULT_SERVER), mode, env=env, tools=tools)


def npm_program(name: str) -> str:
    """The path of a third-party server's program."""
    path = SERVERS / "node_modules" / ".bin" / name
    if not path.exists():
        pytest.fail(f"{name} is not installed; run: npm install --no-save --ignore-scripts --prefix tests/contract/tools/servers")
    return str(path)


def agent(
    *servers: ResolvedMcpServer, call_timeout: float = 20.0, filters: Mapping[str, tuple[str, ...]] | None = None
) -> ResolvedAgentConfig:
    return ResolvedAgentConfig(
        agent_name="tester",
        type=AgentType.DEFAULT,
        llm_backend=LLMBackend.LANGCHAIN,
        tool_calling=ToolCalling.NATIVE,
        provider=ResolvedProvider(name="none", type=ProviderType.REPLAY, model="none"),
        tool_call_timeout=call_timeout,
        mcp_servers=tuple(each.name for each in servers),
        tool_filters=filters or {},
    )


def place_of(execution_id: str) -> ExecutionPlace:
    """An execution of a session that is stored nowhere."""
    claim = Claim(INVESTIGATION, "work", "session", "token", "session")
    return ExecutionPlace(claim=claim, stage_id="stage", execution_id=execution_id, track="0.analysis/0.tester")


@asynccontextmanager
async def opened(
    *servers: ResolvedMcpServer,
    call_timeout: float = 20.0,
    filters: Mapping[str, tuple[str, ...]] | None = None,
    env: Mapping[str, str] | None = None,
    pool: ConnectionPool | None = None,
) -> AsyncGenerator[Tools]:
    tool_servers = McpToolServers(env={**os.environ, **(env or {})}, pool=pool)
    configured = {each.name: each for each in servers}
    async with tool_servers.open(
        agent(*servers, call_timeout=call_timeout, filters=filters), configured, place=place_of(EXECUTION_ID)
    ) as executor:
        yield Tools(executor)


def four_servers(url: str) -> tuple[ResolvedMcpServer, ...]:
    """Two stdio servers and two behind `url`, one of which is given the execution's id."""
    return (
        fault(name="one"),
        fault(name="two"),
        server("three", ResolvedTransport(type="http", url=url)),
        server("four", ResolvedTransport(type="http", url=url, custom_headers={"X-Execution": "{{.SESSION_ID}}"})),
    )


async def use_at_once(servers: Sequence[ResolvedMcpServer], count: int) -> None:
    """Run so many executions at the same time, each with a call to every server."""
    present = 0
    all_present = anyio.Event()

    async def execution(number: int) -> None:
        nonlocal present
        async with opened(*servers, call_timeout=60) as tools:
            assert (await tools.list()).warnings == ()
            present += 1
            if present == count:
                all_present.set()
            await all_present.wait()
            for one in servers:
                assert (await tools.call(f"{one.name}.echo", f"number {number}")).content == f"number {number}"

    async with anyio.create_task_group() as tasks:
        for number in range(count):
            tasks.start_soon(execution, number)
