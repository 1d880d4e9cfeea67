"""How a model without function calling is told of tools, and of the form in which to ask for them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from tarsy.domain.tool import ToolDefinition

FORMAT = """\
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


def describe_tools(tools: Sequence[ToolDefinition]) -> str:
    """The list of tools as a part of the instructions."""
    if not tools:
        return f"# Available tools\n{NO_TOOLS}"
    return "# Available tools\n" + "\n".join(_describe(tool) for tool in tools)


def _describe(tool: ToolDefinition) -> str:
    lines = [f"- **{tool.name}**: {_one_line(tool.description) or 'no description'}"]
    properties = _mapping(tool.parameters_schema.get("properties"))
    required = tool.parameters_schema.get("required")
    names: list[Any] = cast("list[Any]", required) if isinstance(required, list) else []
    # Required ones first, in the server's order, then the others by name: a schema that was stored has lost the order of its keys.
    ordered = dict.fromkeys([*(name for name in map(str, names) if name in properties), *sorted(properties)])
    lines.extend(f"    - {_parameter(name, _mapping(properties[name]), required=name in names)}" for name in ordered)
    return "\n".join(lines)


def _parameter(name: str, schema: Mapping[str, Any], *, required: bool) -> str:
    details = [_type_of(schema), "required" if required else "optional"]
    if "enum" in schema:
        details.append("one of " + _compact(schema["enum"]))
    if "default" in schema:
        details.append("default " + _compact(schema["default"]))
    description = _one_line(str(schema.get("description", "")))
    text = f"{name} ({', '.join(details)})" + (f": {description}" if description else "")
    # A nested object is shown as its schema: a list of names would not tell the model how to build it.
    nested = {key: schema[key] for key in ("properties", "items", "anyOf", "oneOf", "allOf") if key in schema}
    return f"{text} schema {_compact(nested)}" if nested else text


def _type_of(schema: Mapping[str, Any]) -> str:
    kind = schema.get("type", "any")
    return "|".join(str(part) for part in cast("list[Any]", kind)) if isinstance(kind, list) else str(kind)


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "), default=str, sort_keys=True)


def _one_line(text: str) -> str:
    return " ".join(text.split())
