"""Wrappers over the tools of an execution, each on its own and all together."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

import anyio

from support.agent_scenario import SERVER
from tarsy.agent.budget.ceilings import Ceilings
from tarsy.agent.toolbox.approval import Approvals, RecordedApprovals
from tarsy.agent.toolbox.toolbox import MAX_CONCURRENT_TOOLS, CallRefusedError, toolbox
from tarsy.agent.toolbox.wrapper import ToolWrapper
from tarsy.domain.approval import CallDecided, CallDecision
from tarsy.domain.claim import INVESTIGATION, Claim
from tarsy.domain.conversation import ToolCall
from tarsy.domain.execution import ExecutionPlace
from tarsy.domain.run_input import PlacedInput
from tarsy.domain.tool import LOST_CALL, OnOutput, ToolCalling, ToolCatalog, ToolDefinition, ToolResult
from tarsy.kit.clock import FixedClock
from tarsy.tools.masking import Masker, Unmasked

CLOCK = FixedClock()
PLACE = ExecutionPlace(claim=Claim(INVESTIGATION, "w", "s", "t", "s"), stage_id="g", execution_id="x", track="t")


def ignored(_: str) -> None:
    """What a tool says while it runs is of no interest here."""


@dataclass(slots=True)
class Servers:
    """One server with one tool, which fails when the test wants it to."""

    asked: list[str] = field(default_factory=list[str])
    running: int = 0
    most: int = 0
    release: anyio.Event = field(default_factory=anyio.Event)

    async def list_tools(self) -> ToolCatalog:
        return ToolCatalog((ToolDefinition("k8s.pods", "List pods."), ToolDefinition("k8s.slow", "Waits.")), warnings=("one is missing",))

    async def execute(self, call: ToolCall, on_output: Callable[[str], None]) -> ToolResult:
        self.asked.append(call.id)
        on_output("working")
        if call.arguments == "break":
            raise RuntimeError("password=hunter2")
        self.running += 1
        self.most = max(self.most, self.running)
        if call.name == "k8s.slow":
            await self.release.wait()
        self.running -= 1
        return ToolResult(call=call, content="pods", started_at=CLOCK.now())


class Echo:
    definition = ToolDefinition("tarsy.echo", "Says the same again.")
    is_recorded = False

    def is_offered(self, catalog: ToolCatalog) -> bool:
        return bool(catalog.tools)

    async def run(self, arguments: str) -> str:
        if not arguments:
            raise CallRefusedError("There is nothing to say.")
        return arguments


async def test_a_tool_that_does_not_exist_is_refused_before_a_server_is_asked() -> None:
    servers = Servers()
    tools = toolbox(servers, (), tool_calling=ToolCalling.REACT, mask=Unmasked(), clock=CLOCK)
    await tools.list_tools()
    result = await tools.execute(ToolCall("1", "k8s.pod", "{}"), ignored)
    assert (result.is_error, result.refused) == (True, True)
    assert "Did you mean k8s.pods" in result.content
    assert servers.asked == []


async def test_a_bug_in_an_adapter_is_the_calls_failure_reported_without_its_secrets() -> None:
    tools = toolbox(Servers(), (), tool_calling=ToolCalling.NATIVE, mask=Masker((), custom=[("hunter2", "***")]), clock=CLOCK)
    await tools.list_tools()
    result = await tools.execute(ToolCall("1", "k8s.pods", "break"), ignored)
    assert (result.content, result.is_error, result.refused) == (
        "k8s.pods broke: password=***. Whether it took effect is unknown.",
        True,
        False,
    )


async def test_a_built_in_tool_stands_beside_those_of_the_servers_and_never_reaches_them() -> None:
    servers = Servers()
    tools = toolbox(servers, (Echo(),), tool_calling=ToolCalling.REACT, mask=Unmasked(), clock=CLOCK)
    catalog = await tools.list_tools()
    assert [tool.name for tool in catalog.tools] == ["k8s.pods", "k8s.slow", "tarsy.echo"]
    assert catalog.warnings == ("one is missing",)
    assert (await tools.execute(ToolCall("1", "tarsy.echo", "hello"), ignored)).content == "hello"
    refused = await tools.execute(ToolCall("2", "tarsy.echo", ""), ignored)
    assert (refused.content, refused.refused) == ("There is nothing to say.", True)
    assert servers.asked == []


async def test_only_so_many_calls_reach_the_servers_at_once_and_built_in_tools_do_not_wait_for_them() -> None:
    servers = Servers()
    tools = toolbox(servers, (Echo(),), tool_calling=ToolCalling.REACT, mask=Unmasked(), clock=CLOCK)
    await tools.list_tools()
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            for number in range(MAX_CONCURRENT_TOOLS + 3):
                tasks.start_soon(tools.execute, ToolCall(str(number), "k8s.slow", "{}"), ignored)
            while servers.running < MAX_CONCURRENT_TOOLS:
                await anyio.lowlevel.checkpoint()
            assert (await tools.execute(ToolCall("echo", "tarsy.echo", "still here"), ignored)).content == "still here"
            servers.release.set()
    assert servers.most == MAX_CONCURRENT_TOOLS
    assert len(servers.asked) == MAX_CONCURRENT_TOOLS + 3


async def test_a_new_concern_is_one_small_wrapper() -> None:
    class AtMostOne(ToolWrapper):
        """As a budget would: counts calls where they happen, and says in a result that there are no more."""

        left = 1

        async def execute(self, call: ToolCall, on_output: OnOutput) -> ToolResult:
            if self.left == 0:
                return ToolResult(call=call, content="no calls are left", is_error=True, refused=True, started_at=CLOCK.now())
            self.left -= 1
            return await super().execute(call, on_output)

    answered: list[str] = []
    tools = AtMostOne(toolbox(Servers(), (), tool_calling=ToolCalling.REACT, mask=Unmasked(), clock=CLOCK))
    await tools.list_tools()
    contents = [(await tools.execute(ToolCall(name, "k8s.pods", "{}"), answered.append)).content for name in ("1", "2")]
    assert contents == ["pods", "no calls are left"]
    assert answered == ["working"]


class Outlook(Echo):
    """Looks at the outside."""

    definition = ToolDefinition("tarsy.outlook", "Looks out.")
    is_recorded = True


async def test_a_built_in_tool_that_looks_outside_is_listed_like_a_servers() -> None:
    (listing,) = (
        await toolbox(Servers(), (Echo(), Outlook()), tool_calling=ToolCalling.REACT, mask=Unmasked(), clock=CLOCK).list_tools()
    ).listings
    assert (listing.server, listing.tools, listing.error) == ("tarsy", ("outlook",), None)


async def test_what_was_recorded_of_a_built_in_tool_is_played_instead_of_asked_again() -> None:
    class Recorded(Servers):
        async def list_tools(self) -> ToolCatalog:
            return ToolCatalog((Outlook.definition, Echo.definition, ToolDefinition("k8s.pods")))

    servers = Recorded()
    tools = toolbox(servers, (Echo(), Outlook()), tool_calling=ToolCalling.REACT, mask=Unmasked(), clock=CLOCK)
    catalog = await tools.list_tools()
    assert catalog.names == ("k8s.pods", "tarsy.echo", "tarsy.outlook")
    assert (await tools.execute(ToolCall("1", "tarsy.outlook", "rain"), ignored)).content == "pods"
    assert (await tools.execute(ToolCall("2", "tarsy.echo", "hello"), ignored)).content == "hello"
    assert servers.asked == ["1"]


async def test_agents_are_informed_once_which_servers_they_lack() -> None:
    tools = toolbox(Servers(), (), tool_calling=ToolCalling.REACT, absent=("one is missing", "and another"), mask=Unmasked(), clock=CLOCK)
    assert (await tools.list_tools()).warnings == ("one is missing", "and another")


async def test_tools_that_need_an_approval_are_withheld_where_no_person_can_be_asked() -> None:
    class Guarded(Servers):
        async def list_tools(self) -> ToolCatalog:
            return ToolCatalog((ToolDefinition("k8s.pods"), ToolDefinition("k8s.delete", needs_approval=True)))

    servers = Guarded()
    approvals = Approvals(store=None, place=PLACE, servers={}, evidence_ids={}, mask=Unmasked(), clock=CLOCK)
    tools = toolbox(servers, (), tool_calling=ToolCalling.NATIVE, mask=Unmasked(), clock=CLOCK, approvals=approvals)
    assert (await tools.list_tools()).names == ("k8s.pods",)
    assert (await tools.execute(ToolCall("c", "k8s.delete", "{}"), ignored)).refused
    assert servers.asked == []


async def test_the_decision_about_a_call_stays_with_its_result_if_the_time_of_the_investigation_is_up() -> None:
    class Guarded(Servers):
        async def list_tools(self) -> ToolCatalog:
            return ToolCatalog((ToolDefinition("k8s.slow", needs_approval=True),))

    class OutOfTime:
        seconds_left = 0.01

        def refusal(self, _call: ToolCall) -> None: ...

    decided, ceilings = CallDecided("A1", CallDecision.APPROVED, "ada"), cast("Ceilings", OutOfTime())
    approvals = Approvals(
        store=RecordedApprovals([PlacedInput("t", 0, decided)]),
        place=PLACE,
        servers={"k8s": SERVER},
        evidence_ids={"c": "A1"},
        mask=Unmasked(),
        clock=CLOCK,
    )
    tools = toolbox(Guarded(), (), tool_calling=ToolCalling.NATIVE, mask=Unmasked(), clock=CLOCK, approvals=approvals, ceilings=ceilings)
    await tools.list_tools()
    result = await tools.execute(ToolCall("c", "k8s.slow", "{}"), ignored)
    assert LOST_CALL in result.content
    assert result.decision == decided
