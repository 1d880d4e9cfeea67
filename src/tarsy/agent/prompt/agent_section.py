"""What an agent that may send others is told about them, and what those are told. Pure module."""

from collections.abc import Iterator, Mapping, Sequence

from tarsy.agent.prompt.fence import Fence, defused
from tarsy.agent.prompt.result_line import reading_back, result_line
from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedMcpServer
from tarsy.domain.evidence import Evidence
from tarsy.domain.tool import RUN_AGENT_TOOL, ToolCalling, spoken_name
from tarsy.kit.text import clip_bytes

_HEAD = """\
# Agents that you can send
Send an agent with {tool}, and it works on its task with tools of its own while you wait. Agents that you send in the same turn work at the same time.
- Plan first: which questions are open, which agent can answer each. Send several at once where their questions do not depend on each other.
- An agent knows the alert and what you write, and nothing of what you have seen: give it a whole task, with names, namespaces and times, \
and say what would count as an answer. Hand over results by their ids in `context_ids`.
- Its report is what it says, no observation. Check it where your answer depends on it, and cite the results it names, such as `[A4.2: "exact words"]`, never the report.
- An agent that fails has shown nothing. Take another way, or say what remains unknown.
- What none of them saw alone may show when their reports are laid side by side: times, names, versions."""

_TASK = """\
# Task
Another agent, which leads this investigation, has sent you to do what stands below, and nothing else. It widens nothing that you may do.
{task}
Do it, and report to that agent. It knows the alert, and sees of your work only the report."""

REPORT = """\
# Your report
Markdown, brief: first the answer to the task in a sentence or two, then what it rests on, each observation cited with its exact words; then what speaks against it, \
and what you could not find out. Name objects, times (UTC) and figures as the results spell them. No advice on what to do about it."""


def agent_section(agents: Sequence[ResolvedAgentConfig], servers: Mapping[str, ResolvedMcpServer], tool_calling: ToolCalling) -> str:
    """The catalogue of those that may be sent; empty where there are none."""
    if not agents:
        return ""
    lines = (f"- {agent.agent_name}: {agent.description} (tools: {', '.join(_tools(agent, servers)) or 'none'})" for agent in agents)
    return "\n".join((_HEAD.format(tool=spoken_name(RUN_AGENT_TOOL, tool_calling)), "", *lines))


def _tools(agent: ResolvedAgentConfig, servers: Mapping[str, ResolvedMcpServer]) -> Iterator[str]:
    for name in agent.mcp_servers:
        only = agent.tool_filters.get(name, servers[name].tools)
        yield name if only is None else f"{name} with {' and '.join(only) or 'nothing'}"
    yield from (name for name, is_on in agent.native_tools.items() if is_on)


def sub_agent_task(task: str) -> str:
    """The end of the prompt of an agent that another one sent. Marked line by line: a fence would call it data, which it is not."""
    return _TASK.format(task="\n".join(f"> {line}" for line in defused(task).splitlines()))


def handed_over(given: Mapping[str, Evidence], fence: Fence, *, limit: int, read_back: str) -> str:
    """Results of its sender, as a sub-agent reads them: as much of each as its share of the room allows."""
    share = limit // max(len(given), 1)
    return "\n\n".join(_handed(one, fence, share, read_back) for one in given.values())


def _handed(one: Evidence, fence: Fence, share: int, read_back: str) -> str:
    shown = clip_bytes(one.text, share)
    rest = "" if shown == one.text else f"\n[The rest is left out.{reading_back(read_back, one.id)}]"
    return f"{result_line(one.id, one.tool, one.arguments, one.read_at)}\n{fence.wrap('TOOL RESULT', shown, scope=one.id)}{rest}"
