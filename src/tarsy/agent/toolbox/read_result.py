"""The built-in tool `tarsy.read_result`: reads any result of the session again by its id, a page of it or the lines that contain a text."""

from collections.abc import Mapping
from typing import Any

from tarsy.agent.evidence.reading import DEFINITION, parse_reading
from tarsy.agent.ports import ResultStore
from tarsy.agent.prompt.fence import reading_back
from tarsy.agent.toolbox.toolbox import CallRefusedError
from tarsy.domain.tool import ToolCatalog
from tarsy.domain.tool_arguments import ArgumentProblem
from tarsy.kit.text import clip_bytes

# A window of a result, about four thousand tokens: few calls for a large result, and little against any model's window.
PAGE = 16_000
# Characters around a match in a very long line.
_CONTEXT = 300
_LONGEST_LINE = 2_000
_MAX_HITS = 40
_MOST_CONTEXT = 20


class ReadResult:
    """Reads what one execution may cite; `documents` are its alert and runbook by id, `in_part` whether its prompt holds only a part of them."""

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
        read = parse_reading(arguments)
        if isinstance(read, ArgumentProblem):
            raise CallRefusedError(read.message)
        name: str = read["id"]
        if name.upper() in self._documents:
            return excerpt(self._documents[name.upper()], read)
        if cited := await self._results.cited(self._execution_id, (name,)):
            return excerpt(cited[0].text, read)
        if stored := await self._results.read(self._execution_id, name):
            return excerpt(stored.content, read)
        raise CallRefusedError("There is no result under that id. Use the id in brackets before a result, such as A7.")


def shown_document(name: str, text: str, limit: int, *, read_tool: str) -> str:
    """Return a document cut to `limit` bytes and, for an agent with tools, how to read the rest."""
    shown = clip_bytes(text, limit)
    return shown if shown == text or not read_tool else f"{shown}\n[The rest is left out.{reading_back(read_tool, name)}]"


def excerpt(text: str, arguments: Mapping[str, Any]) -> str:
    """Return the part of `text` that was asked for."""
    backwards, offset, search = bool(arguments.get("from_end")), arguments.get("offset"), arguments.get("search")
    border = min(offset, len(text)) if offset is not None else len(text) if backwards else 0
    start, end = (0, border) if backwards else (border, len(text))
    if search:
        return _matching_lines(text, search, start, end, context=min(arguments.get("context") or 0, _MOST_CONTEXT), backwards=backwards)
    start, end = (max(end - PAGE, 0), end) if backwards else (start, min(start + PAGE, end))
    lines = [f"[characters {start} to {end} of {len(text)}]", text[start:end]]
    if start:
        lines.append(f"[{start} before: offset {start} with from_end]")
    if end < len(text):
        lines.append(f"[{len(text) - end} more: offset {end}]")
    return "\n".join(lines)


def _matching_lines(text: str, search: str, start: int, end: int, context: int, *, backwards: bool) -> str:
    """Return the lines between two places that contain a text, like `grep -n`: each with its number, and the lines around it."""
    part, search = text[start:end], next((line for line in search.splitlines() if line.strip()), search)
    lines, offset, offsets = part.split("\n"), start, list[int]()
    for line in lines:
        offsets.append(offset)
        offset += len(line) + 1
    found = [number for number, line in enumerate(lines) if search in line]
    if not found:
        return f"{search!r} does not occur in characters {start} to {end} of this result of {len(text)} characters."
    around: set[int] = set()
    shown: list[int] = []
    for hit in reversed(found) if backwards else found:
        wanted = {*around, *range(max(hit - context, 0), min(hit + context + 1, len(lines)))}
        if shown and (len(shown) == _MAX_HITS or sum(min(len(lines[number]), _LONGEST_LINE) for number in wanted) > PAGE):
            break
        around = wanted
        shown.append(hit)
    shown.sort()
    first, matching = text.count("\n", 0, start) + 1, set(shown)
    written: list[str] = []
    for number in sorted(around):
        if written and number - 1 not in around:
            written.append("--")
        written.append(f"{first + number}{':' if number in matching else '-'}{_clipped(lines[number], search)}")
    if len(found) > len(shown):
        more = f"offset {offsets[shown[0]]} with from_end" if backwards else f"offset {offsets[shown[-1] + 1]}"
        written.append(f"[{len(found) - len(shown)} more lines match: search again with {more}]")
    return "\n".join((f"[{len(shown)} of {len(found)} lines that match; {text.count(chr(10)) + 1} lines in all]", *written))


def _clipped(line: str, search: str) -> str:
    """Return a line, or of a very long one the surroundings of the text that was searched for."""
    if len(line) <= _LONGEST_LINE:
        return line
    at = max(line.find(search), 0)
    start, end = max(at - _CONTEXT, 0), at + len(search) + _CONTEXT
    return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"
