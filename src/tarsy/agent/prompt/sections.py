"""Sections of prompts: the sub-agents an agent may start, its skills, and tools described as text for models without function calling."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from tarsy.agent.prompt.fence import Fence, escape_fences, reading_back, result_line
from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedMcpServer
from tarsy.domain.evidence import Evidence
from tarsy.domain.tool import LOAD_SKILL_TOOL, RUN_AGENT_TOOL, ToolCalling, ToolDefinition, name_for_model
from tarsy.kit.text import clip_bytes

_AGENTS_HEAD = """\
# Agents that you can send
Send an agent with {tool}, and it works on its task with tools of its own while you wait. Agents that you send in the same turn work at the same time.
- Plan first: which questions are open, which agent can answer each. Send several at once where their questions do not depend on each other.
- An agent knows the alert and what you write, and nothing of what you have seen: give it a whole task, with names, namespaces and times, \
and say what would count as an answer. Hand over results by their ids in `context_ids`.
- Its report is what it says, no observation. Check it where your answer depends on it, and cite the results it names, such as `[A4.2: "exact words"]`, never the report.
- An agent that fails has shown nothing. Take another way, or say what remains unknown.
- What none of them saw alone may show when their reports are laid side by side: times, names, versions."""

_SUB_AGENT_TASK = """\
# Task
Another agent, which leads this investigation, has sent you to do what stands below, and nothing else. It widens nothing that you may do.
{task}
Do it, and report to that agent. It knows the alert, and sees of your work only the report."""

SUB_AGENT_REPORT = """\
# Your report
Markdown, brief: first the answer to the task in a sentence or two, then what it rests on, each observation cited with its exact words; then what speaks against it, \
and what you could not find out. Name objects, times (UTC) and figures as the results spell them. No advice on what to do about it."""


def agent_section(agents: Sequence[ResolvedAgentConfig], servers: Mapping[str, ResolvedMcpServer], tool_calling: ToolCalling) -> str:
    """Return the section about the sub-agents that an agent may start; empty if there are none."""
    if not agents:
        return ""
    lines = [_AGENTS_HEAD.format(tool=name_for_model(RUN_AGENT_TOOL, tool_calling)), ""]
    for agent in agents:
        tools: list[str] = []
        for name in agent.mcp_servers:
            only = agent.tool_filters.get(name, servers[name].tools)
            tools.append(name if only is None else f"{name} with {' and '.join(only) or 'nothing'}")
        tools += (name for name, is_on in agent.native_tools.items() if is_on)
        lines.append(f"- {agent.agent_name}: {agent.description} (tools: {', '.join(tools) or 'none'})")
    return "\n".join(lines)


def sub_agent_task(task: str) -> str:
    """Return the end of a sub-agent's prompt. The task is quoted line by line: a fence would mark it as data, which it is not."""
    return _SUB_AGENT_TASK.format(task="\n".join(f"> {line}" for line in escape_fences(task).splitlines()))


def handed_over(given: Mapping[str, Evidence], fence: Fence, *, limit: int, read_tool: str) -> str:
    """Return the results that a sub-agent is given to read, each cut to its share of `limit` bytes."""
    share = limit // max(len(given), 1)
    parts: list[str] = []
    for one in given.values():
        shown = clip_bytes(one.text, share)
        rest = "" if shown == one.text else f"\n[The rest is left out.{reading_back(read_tool, one.id)}]"
        line = result_line(one.id, one.tool, one.arguments, one.read_at)
        parts.append(f"{line}\n{fence.wrap('TOOL RESULT', shown, scope=one.id)}{rest}")
    return "\n\n".join(parts)


_SKILLS_HEAD = """\
# Skills
Skills are procedures that the operators of this installation wrote for you. Follow them where they fit what you see; they are advice on how to look, \
and widen nothing that you may do. What a skill calls likely is a hypothesis until you have observed it here."""
_CATALOGUE = f"""\
These can be loaded with {LOAD_SKILL_TOOL}. If one describes what you are looking into, load it before you go further; load none that does not."""


def skill_section(required: Sequence[tuple[str, str]], catalogue: Sequence[tuple[str, str]]) -> str:
    """Return the section about skills: `required` as (name, text), `catalogue` as (name, description); empty if there are none."""
    if not required and not catalogue:
        return ""
    texts = [f"## Skill {name}\n{text}" for name, text in required]
    lines = "\n".join(f"- {name}: {description}" for name, description in catalogue)
    return "\n\n".join([_SKILLS_HEAD, *texts, *([f"{_CATALOGUE}\n{lines}"] if catalogue else [])])


REACT_FORMAT = """\
# How you use tools
You call tools by writing text in a fixed form. Each of your turns has exactly one of two shapes.

To call a tool:
Thought: what you know, what you want to find out, and why this call will tell you
Action: the tool's full name, exactly as listed
Action Input: the arguments as one JSON object

To conclude:
Thought: why the evidence is sufficient
Final Answer: your complete answer, over as many lines as it needs

- One call a turn. After `Action Input` stop writing: the result comes back to you as `Observation:`.
- Never write an `Observation:` yourself. An observation you made up is a false statement in an incident report.
- Never write an Action and a Final Answer in the same turn.
- A tool without arguments gets `Action Input: {}`."""

NO_TOOLS = "No tools are available. Work with what you are given and write your Final Answer."


def brief_tool(tool: ToolDefinition) -> ToolDefinition:
    """Return a tool as models are sent it, with every call: its schema without titles and empty defaults."""
    return replace(tool, parameters_schema=_brief(tool.parameters_schema))


def _brief(schema: Mapping[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for name, value in schema.items():
        # Generators of schemas write both for forms on a screen.
        is_empty = value is False or (not value and not isinstance(value, int | float))
        if (name in {"title", "$schema"} and isinstance(value, str)) or (name == "default" and is_empty):
            continue
        if name in {"properties", "$defs", "definitions"} and isinstance(value, Mapping):
            # The names in it are those of parameters: one of them may be called title.
            kept[name] = {key: _brief(_mapping(part)) if isinstance(part, Mapping) else part for key, part in _mapping(value).items()}
        elif isinstance(value, Mapping):
            kept[name] = _brief(_mapping(value))
        elif isinstance(value, list):
            kept[name] = [_brief(_mapping(part)) if isinstance(part, Mapping) else part for part in cast("list[Any]", value)]
        else:
            kept[name] = value
    return kept


def describe_tools(tools: Sequence[ToolDefinition]) -> str:
    """Return the section that describes the tools to a model without function calling."""
    if not tools:
        return f"# Available tools\n{NO_TOOLS}"
    lines = ["# Available tools"]
    for tool in tools:
        lines.append(f"- **{tool.name}**: {_one_line(tool.description) or 'no description'}")
        properties = _mapping(tool.parameters_schema.get("properties"))
        required = tool.parameters_schema.get("required")
        names: list[Any] = cast("list[Any]", required) if isinstance(required, list) else []
        # Required ones first, in the server's order, then the others by name: a schema that was stored has lost the order of its keys.
        ordered = dict.fromkeys([*(name for name in map(str, names) if name in properties), *sorted(properties)])
        lines.extend(f"    - {_parameter(name, _mapping(properties[name]), required=name in names)}" for name in ordered)
    return "\n".join(lines)


def _parameter(name: str, schema: Mapping[str, Any], *, required: bool) -> str:
    kind = schema.get("type", "any")
    types = "|".join(str(part) for part in cast("list[Any]", kind)) if isinstance(kind, list) else str(kind)
    details = [types, "required" if required else "optional"]
    if "enum" in schema:
        details.append("one of " + _compact(schema["enum"]))
    if "default" in schema:
        details.append("default " + _compact(schema["default"]))
    description = _one_line(str(schema.get("description", "")))
    text = f"{name} ({', '.join(details)})" + (f": {description}" if description else "")
    # A nested object is shown as its schema: a list of names would not tell the model how to build it.
    nested = {key: schema[key] for key in ("properties", "items", "anyOf", "oneOf", "allOf") if key in schema}
    return f"{text} schema {_compact(nested)}" if nested else text


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "), default=str, sort_keys=True)


def _one_line(text: str) -> str:
    return " ".join(text.split())
