"""Recorded tool results as a world: from a file, or from a recorded session."""

import difflib
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from tarsy.domain.recording import Recording
from tarsy.domain.tool import ToolDefinition, ToolName
from tarsy.evals.worlds.world import ToolAnswer

# For tools whose recorded name has no server.
SERVER = "snapshot"
_MAX_NEAREST = 3
# The defaults of most tools.
_DEFAULTS: tuple[object, ...] = (None, "", False, [], {})
_TYPES: Mapping[type, str] = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}


class SnapshotUnreadableError(ValueError):
    """A file of tool results cannot be read; the message names the part."""


def canonical(arguments: Mapping[str, Any]) -> str:
    """Return arguments as text that does not depend on their order and spacing."""
    return json.dumps(arguments, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def without_defaults(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments without those that have a common default value."""
    return {
        name: value
        for name, value in arguments.items()
        if not any(value == default and type(value) is type(default) for default in _DEFAULTS)
    }


@dataclass(frozen=True, slots=True)
class RecordedResult:
    tool: str
    arguments: Mapping[str, Any]
    text: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    results: tuple[RecordedResult, ...]

    @property
    def tools(self) -> Sequence[ToolDefinition]:
        """The tools that have a recorded result, with the arguments that were used."""
        schemas: dict[str, dict[str, dict[str, str]]] = {}
        for one in self.results:
            properties = schemas.setdefault(one.tool, {})
            for name, value in one.arguments.items():
                kind = _TYPES.get(cast("type[object]", type(value)))
                known = properties.setdefault(name, {"type": kind} if kind else {})
                if known and known.get("type") != kind:
                    properties[name] = {}
        return tuple(
            ToolDefinition(name, f"Recorded results of {name}.", {"type": "object", "properties": properties}, read_only=True)
            for name, properties in schemas.items()
        )

    @property
    def now(self) -> None:
        """Results have no time; their case may have one."""
        return

    def answer(self, tool: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Return the result of this call, or of the same call without defaults, or an error that names the nearest recorded calls."""
        results, call, plain = [one for one in self.results if one.tool == tool], canonical(arguments), without_defaults(arguments)
        exact = (one for one in results if canonical(one.arguments) == call)
        similar = (one for one in results if canonical(without_defaults(one.arguments)) == canonical(plain))
        if found := next(exact, None) or next(similar, None):
            return ToolAnswer(found.text)
        # A cutoff of 0 keeps the nearest calls at any distance.
        near = difflib.get_close_matches(call, [canonical(one.arguments) for one in results], n=_MAX_NEAREST, cutoff=0.0)
        return ToolAnswer(
            f"This snapshot holds no result of {tool} with {call}. The nearest that it holds: {'; '.join(near)}", is_error=True
        )


def read_results(data: object, file: str) -> Snapshot:
    """Read `{"tool:{arguments}": "text"}`.

    Raises:
        SnapshotUnreadableError: it is something else.
    """
    if not isinstance(data, dict):
        raise SnapshotUnreadableError(f"{file}: a snapshot is a JSON object of calls and their results")
    results: list[RecordedResult] = []
    for key, text in cast("dict[str, object]", data).items():
        tool, _, written = key.partition(":")
        arguments: object = None
        with suppress(ValueError):
            arguments = json.loads(written or "{}")
        if not tool.strip() or not isinstance(arguments, dict):
            raise SnapshotUnreadableError(f'{file}: "{key}" is no call: write tool:{{"argument": "value"}}')
        if not isinstance(text, str):
            raise SnapshotUnreadableError(f'{file}: the result of "{key}" is no text')
        name = tool.strip() if ToolName.parse(tool.strip()) else f"{SERVER}.{tool.strip()}"
        results.append(RecordedResult(name, cast("dict[str, Any]", arguments), text))
    return Snapshot(tuple(results))


def merged(snapshots: Iterable[Snapshot]) -> Snapshot:
    """Merge snapshots. Of two results of the same call, the first counts."""
    found: dict[tuple[str, str], RecordedResult] = {}
    for snapshot in snapshots:
        for one in snapshot.results:
            found.setdefault((one.tool, canonical(one.arguments)), one)
    return Snapshot(tuple(found.values()))


def written(snapshot: Snapshot) -> str:
    """Return the text of the file."""
    return json.dumps({f"{one.tool}:{canonical(one.arguments)}": one.text for one in snapshot.results}, indent=1, ensure_ascii=False) + "\n"


class RecordedSession:
    """The tools and the tool results of a recorded session. A result depends on the call, not on the agent or the time."""

    def __init__(self, recording: Recording) -> None:
        results: list[RecordedResult] = []
        for tool in recording.tools:
            arguments: object = None
            with suppress(ValueError):
                arguments = json.loads(tool.arguments or "{}")
            results.append(
                RecordedResult(tool.name, cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else {}, tool.content)
            )
        self._snapshot = Snapshot(tuple(results))
        self._errors = {(one.tool, one.text) for one, tool in zip(self._snapshot.results, recording.tools, strict=True) if tool.is_error}
        self._at = recording.alert.created_at if recording.alert else None
        offered = {tool.name: tool for catalog in reversed(recording.catalogs) for tool in catalog.tools}
        self._tools = tuple(offered.values())

    @property
    def tools(self) -> Sequence[ToolDefinition]:
        return self._tools or self._snapshot.tools

    @property
    def now(self) -> datetime | None:
        return datetime.fromisoformat(self._at) if self._at else None

    def answer(self, tool: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        found = self._snapshot.answer(tool, arguments)
        return ToolAnswer(found.text, is_error=found.is_error or (tool, found.text) in self._errors)
