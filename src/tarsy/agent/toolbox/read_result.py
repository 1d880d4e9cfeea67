"""The built-in tool `tarsy.read_result`: reads again what a conversation no longer holds."""

import re
from collections.abc import Mapping
from typing import Any

from tarsy.agent.ports import ResultStore
from tarsy.agent.prompt.builder import READ_RESULT_TOOL
from tarsy.agent.toolbox.built_in import CallRefusedError
from tarsy.domain.arguments.parsing import ArgumentProblem, parse_arguments
from tarsy.domain.tool import ToolCatalog, ToolDefinition
from tarsy.kit.text import clip_bytes

# A window of a result, about a thousand tokens: enough to read on, too little to burst a conversation.
PAGE = 4_000
# What the alert and its runbook are read by when they are too long to be told whole.
ALERT = "alert"
RUNBOOK = "runbook"
_CONTEXT = 300
_MAX_HITS = 10
_BARE_ID = re.compile(r"[\"']?[\w.:-]+[\"']?")

DEFINITION = ToolDefinition(
    name=READ_RESULT_TOOL,
    description=(
        "Read again a tool result that was shortened or summarised in this conversation: "
        "a page of it from `offset`, or the places where `search` occurs."
    ),
    parameters_schema={
        "type": "object",
        "properties": {
            "call_id": {"type": "string", "description": "The id of the call, as named where the result was shortened."},
            "offset": {"type": "integer", "minimum": 0, "description": "Where to start, in characters."},
            "search": {"type": "string", "description": "A text to look for (not a pattern)."},
        },
        "required": ["call_id"],
    },
    read_only=True,
    idempotent=True,
)


class ReadResult:
    """Reads the results of one execution; `documents` are those that its prompt holds only in part."""

    definition = DEFINITION
    # A replay stores its own results, and reads those.
    is_recorded = False

    def __init__(self, results: ResultStore, *, execution_id: str, documents: Mapping[str, str]) -> None:
        self._documents = documents
        self._results = results
        self._execution_id = execution_id

    def is_offered(self, catalog: ToolCatalog) -> bool:
        return bool(catalog.tools or self._documents)

    async def run(self, arguments: str) -> str:
        read = _arguments(arguments)
        if isinstance(read, ArgumentProblem):
            raise CallRefusedError(read.message)
        text = await self._read(str(read.get("call_id", "")))
        if text is None:
            raise CallRefusedError("There is no result under that call_id. Use the id named in the shortened result.")
        return excerpt(text, read)

    async def _read(self, call_id: str) -> str | None:
        if call_id in self._documents:
            return self._documents[call_id]
        stored = await self._results.read(self._execution_id, call_id)
        return stored.content if stored else None


def shown_document(name: str, text: str, limit: int, *, readable: bool) -> str:
    """A document, or as much of it as a model can carry (`limit` bytes) and, for an agent that has tools, how to read the rest."""
    shown = clip_bytes(text, limit)
    if shown == text or not readable:
        return shown
    return shown + f'\n[Read any part of the whole {name} with {READ_RESULT_TOOL}, call_id "{name}".]'


def excerpt(text: str, arguments: dict[str, Any]) -> str:
    """The part of `text` that was asked for."""
    if search := arguments.get("search"):
        return _hits(text, search)
    start = min(arguments.get("offset", 0), len(text))
    page = text[start : start + PAGE]
    rest = len(text) - start - len(page)
    return f"[characters {start} to {start + len(page)} of {len(text)}]\n{page}" + (f"\n[{rest} more]" if rest else "")


def _hits(text: str, search: str) -> str:
    found: list[str] = []
    position = text.find(search)
    while position >= 0 and len(found) < _MAX_HITS:
        start, end = max(position - _CONTEXT, 0), position + len(search) + _CONTEXT
        found.append(f"[at {position}]\n{text[start:end]}")
        position = text.find(search, end)
    if not found:
        return f"{search!r} does not occur in this result of {len(text)} characters."
    more = "\n[further places not shown: search for something more specific]" if position >= 0 else ""
    return "\n\n".join(found) + more


def _arguments(text: str) -> dict[str, Any] | ArgumentProblem:
    """The arguments as any other tool's are read; models that write them loosely may give the bare id."""
    read = parse_arguments(text, DEFINITION.parameters_schema)
    is_bare = isinstance(read, ArgumentProblem) and _BARE_ID.fullmatch(text.strip())
    return {"call_id": text.strip().strip("\"'")} if is_bare else read
