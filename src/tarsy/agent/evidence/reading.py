"""What a call of `tarsy.read_result` asks for: the tool reads the arguments as the checker does, which has to know what was read again."""

import re
from typing import Any

from tarsy.domain.tool import READ_RESULT_TOOL, ToolDefinition
from tarsy.domain.tool_arguments import ArgumentProblem, parse_arguments

_BARE_ID = re.compile(r"[\"']?[\w.:-]+[\"']?")

DEFINITION = ToolDefinition(
    name=READ_RESULT_TOOL,
    description=(
        "Read a tool result of this investigation again, or the ALERT or the RUNBOOK, by its id: "
        "a page of it, or with `search` the lines that contain a text, whole and with their numbers, like `grep -n -F -C`."
    ),
    parameters_schema={
        "type": "object",
        "properties": {
            "id": {"type": "string", "description": "The id in brackets before the result, such as A7."},
            "offset": {
                "type": "integer",
                "minimum": 0,
                "description": "Where to start, in characters; with from_end, before which to end.",
            },
            "search": {"type": "string", "description": "A text to look for (not a pattern), from offset on."},
            "context": {"type": "integer", "minimum": 0, "description": "With search: how many lines to show before and after each match."},
            "from_end": {"type": "boolean", "description": "Read, or search, backwards from the end: the newest lines of most logs."},
        },
        "required": ["id"],
    },
    read_only=True,
    idempotent=True,
)
# In conversations from before results had ids of their own it is called `call_id`.
_OLD_NAME = "call_id"
_ACCEPTED: dict[str, Any] = {
    "type": "object",
    "properties": {**DEFINITION.parameters_schema["properties"], _OLD_NAME: {"type": "string"}},
}


def parse_reading(arguments: str) -> dict[str, Any] | ArgumentProblem:
    """Parse the arguments of a call; `id` is then what it reads, or empty."""
    read = parse_arguments(arguments, _ACCEPTED)
    # Models that write arguments loosely may give the bare id.
    if isinstance(read, ArgumentProblem) and _BARE_ID.fullmatch(arguments.strip()):
        read = {"id": arguments.strip().strip("\"'")}
    return read if isinstance(read, ArgumentProblem) else {**read, "id": str(read.get("id") or read.get(_OLD_NAME) or "").strip("[] ")}
