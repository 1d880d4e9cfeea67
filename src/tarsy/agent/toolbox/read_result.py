"""The built-in tool `tarsy.read_result`: reads again what a conversation does not hold, or no longer: any result of the session, by its id."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tarsy.agent.ports import ResultStore
from tarsy.agent.prompt.builder import READ_RESULT_TOOL
from tarsy.agent.prompt.fence import reading_back
from tarsy.agent.toolbox.toolbox import CallRefusedError
from tarsy.domain.tool import ToolCatalog, ToolDefinition
from tarsy.domain.tool_arguments import ArgumentProblem, parse_arguments
from tarsy.kit.text import clip_bytes

# A window of a result, about four thousand tokens: few calls for a large result, and little against any model's window.
PAGE = 16_000
_CONTEXT = 300
_MAX_HITS = 20
_BARE_ID = re.compile(r"[\"']?[\w.:-]+[\"']?")

DEFINITION = ToolDefinition(
    name=READ_RESULT_TOOL,
    description=(
        "Read a tool result of this investigation again, or the ALERT or the RUNBOOK, by its id: "
        "a page of it, or the places where `search` occurs."
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


class ReadResult:
    """Reads what one execution may cite; `documents` are the alert and the runbook by their ids, `in_part` those its prompt does not hold whole."""

    definition = DEFINITION
    # A replay stores its own results, and reads those.
    is_recorded = False

    def __init__(self, results: ResultStore, *, execution_id: str, documents: Mapping[str, str], in_part: bool) -> None:
        self._documents = documents
        self._in_part = in_part
        self._results = results
        self._execution_id = execution_id

    def is_offered(self, catalog: ToolCatalog) -> bool:
        return bool(catalog.tools) or self._in_part

    async def run(self, arguments: str) -> str:
        read = _arguments(arguments)
        if isinstance(read, ArgumentProblem):
            raise CallRefusedError(read.message)
        text = await self._read(str(read.get("id") or read.get(_OLD_NAME) or "").strip("[] "))
        if text is None:
            raise CallRefusedError("There is no result under that id. Use the id in brackets before a result, such as A7.")
        return excerpt(text, read)

    async def _read(self, name: str) -> str | None:
        if name.upper() in self._documents:
            return self._documents[name.upper()]
        cited = await self._results.cited(self._execution_id, (name,))
        if cited:
            return cited[0].text
        stored = await self._results.read(self._execution_id, name)
        return stored.content if stored else None


def shown_document(name: str, text: str, limit: int, *, read_tool: str) -> str:
    """A document, or as much of it as a model can carry (`limit` bytes) and, for an agent that has tools, how to read the rest."""
    shown = clip_bytes(text, limit)
    return shown if shown == text or not read_tool else f"{shown}\n[The rest is left out.{reading_back(read_tool, name)}]"


@dataclass(frozen=True, slots=True)
class _Span:
    """The part of a text that is looked at."""

    start: int
    end: int


def excerpt(text: str, arguments: Mapping[str, Any]) -> str:
    """The part of `text` that was asked for."""
    backwards, offset = bool(arguments.get("from_end")), arguments.get("offset")
    border = min(offset, len(text)) if offset is not None else len(text) if backwards else 0
    span = _Span(0, border) if backwards else _Span(border, len(text))
    search = arguments.get("search")
    return _hits(text, search, span, backwards=backwards) if search else _page(text, span, backwards=backwards)


def _page(text: str, span: _Span, *, backwards: bool) -> str:
    shown = _Span(max(span.end - PAGE, 0), span.end) if backwards else _Span(span.start, min(span.start + PAGE, span.end))
    told = [f"[characters {shown.start} to {shown.end} of {len(text)}]", text[shown.start : shown.end]]
    if shown.start:
        told.append(f"[{shown.start} before: offset {shown.start} with from_end]")
    if shown.end < len(text):
        told.append(f"[{len(text) - shown.end} more: offset {shown.end}]")
    return "\n".join(told)


def _hits(text: str, search: str, span: _Span, *, backwards: bool) -> str:
    places = _places(text, search, span, backwards=backwards)
    if not places:
        return f"{search!r} does not occur in characters {span.start} to {span.end} of this result of {len(text)} characters."
    shown = [f"[at {place}]\n{text[max(place - _CONTEXT, 0) : place + len(search) + _CONTEXT]}" for place in places]
    if len(places) == _MAX_HITS:
        next_offset = f"offset {places[-1]} with from_end" if backwards else f"offset {places[-1] + len(search)}"
        shown.append(f"[there may be more: search again with {next_offset}]")
    return "\n\n".join(shown)


def _places(text: str, search: str, span: _Span, *, backwards: bool) -> list[int]:
    """Where the search occurs, as many as are shown; places whose surroundings overlap are shown once."""
    found: list[int] = []
    start, end = span.start, span.end
    while len(found) < _MAX_HITS:
        place = text.rfind(search, start, end) if backwards else text.find(search, start, end)
        if place < 0:
            break
        found.append(place)
        start, end = (start, place - _CONTEXT) if backwards else (place + len(search) + _CONTEXT, end)
        if end < start:
            break
    return found


def _arguments(text: str) -> dict[str, Any] | ArgumentProblem:
    """The arguments as any other tool's are read; models that write them loosely may give the bare id."""
    read = parse_arguments(text, _ACCEPTED)
    is_bare = isinstance(read, ArgumentProblem) and _BARE_ID.fullmatch(text.strip())
    return {"id": text.strip().strip("\"'")} if is_bare else read
