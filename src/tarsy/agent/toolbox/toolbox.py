"""The toolbox of an execution, put together."""

from collections.abc import Callable, Sequence

from tarsy.agent.ceilings.ceilings import Ceilings
from tarsy.agent.ports import ToolExecutor
from tarsy.agent.toolbox.absent import AbsentServers
from tarsy.agent.toolbox.budget import BudgetedTools
from tarsy.agent.toolbox.built_in import BuiltInTool, BuiltInTools
from tarsy.agent.toolbox.guard import GuardedTools
from tarsy.agent.toolbox.limits import LimitedTools
from tarsy.domain.tool import ToolCalling
from tarsy.kit.clock import Clock


def toolbox(
    servers: ToolExecutor,
    built_in: Sequence[BuiltInTool],
    *,
    tool_calling: ToolCalling,
    ceilings: Ceilings | None = None,
    absent: Sequence[str] = (),
    mask: Callable[[str], str],
    clock: Clock,
    sending: Callable[[ToolExecutor], ToolExecutor] = lambda tools: tools,
) -> ToolExecutor:
    """Wrap the tool servers, which come with their own masking; `absent` says why others are missing, `sending` adds the sending of agents.

    Outermost first: guard → budget → built-in tools → sending → limits → masking → MCP. What asks before a call is made (approval) goes between
    the budget and the built-in tools.
    """
    reached = sending(AbsentServers(LimitedTools(servers), absent))
    offered = BuiltInTools(reached, built_in, clock=clock)
    counted = BudgetedTools(offered, ceilings, clock=clock) if ceilings else offered
    return GuardedTools(counted, tool_calling=tool_calling, mask=mask, clock=clock)
