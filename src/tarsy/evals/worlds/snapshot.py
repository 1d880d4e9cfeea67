"""A snapshot: recorded tool results by call, answered without any server. Pure module.

Written as `{"tool:{arguments as JSON}": "text"}`. A call that was not recorded is answered with the nearest one that was, by name, never with its
result: an invented answer would be worth less than none.
"""

import difflib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, cast

from tarsy.domain.recording import RecordedTool, Recording
from tarsy.domain.tool import ToolDefinition, ToolName
from tarsy.evals.worlds.world import Answer

# For tools whose recorded name says no server.
SERVER = "snapshot"
# As many as a person would compare.
_MOST_NEAREST = 3
# What most tools take for an argument that was left out.
_LEFT_OUT: tuple[object, ...] = (None, "", False, [], {})
_TYPES: Mapping[type, str] = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}


class SnapshotUnreadableError(ValueError):
    """A file of tool results cannot be understood; the text says which part."""


def canonical(arguments: Mapping[str, Any]) -> str:
    """Arguments as text that is the same however they were ordered and spaced."""
    return json.dumps(arguments, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def without_defaults(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments without those that say what a tool assumes anyway."""
    return {
        name: value
        for name, value in arguments.items()
        if not any(value == left_out and type(value) is type(left_out) for left_out in _LEFT_OUT)
    }


@dataclass(frozen=True, slots=True)
class RecordedResult:
    tool: str
    arguments: Mapping[str, Any]
    text: str


@dataclass(frozen=True)
class Snapshot:
    results: tuple[RecordedResult, ...]

    @property
    def tools(self) -> Sequence[ToolDefinition]:
        """Every tool of which a result was recorded, with the arguments that were used."""
        names = dict.fromkeys(result.tool for result in self.results)
        return tuple(
            ToolDefinition(name, f"Recorded results of {name}.", _schema([one for one in self.results if one.tool == name]), read_only=True)
            for name in names
        )

    @property
    def now(self) -> None:
        """Results say nothing about their time; their case may."""
        return

    def answer(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        """The result of this very call, else of the same call but for defaults, else an error that names what was recorded."""
        found = self._exact.get((tool, canonical(arguments))) or self._plain.get((tool, canonical(without_defaults(arguments))))
        return Answer(found.text) if found else Answer(self._not_recorded(tool, arguments), is_error=True)

    @cached_property
    def _exact(self) -> Mapping[tuple[str, str], RecordedResult]:
        return {(one.tool, canonical(one.arguments)): one for one in reversed(self.results)}

    @cached_property
    def _plain(self) -> Mapping[tuple[str, str], RecordedResult]:
        return {(one.tool, canonical(without_defaults(one.arguments))): one for one in reversed(self.results)}

    def _not_recorded(self, tool: str, arguments: Mapping[str, Any]) -> str:
        known = [canonical(one.arguments) for one in self.results if one.tool == tool]
        asked = canonical(arguments)
        # Every recorded call is some way off: 0 keeps the least distant ones, whatever the distance.
        near = difflib.get_close_matches(asked, known, n=_MOST_NEAREST, cutoff=0.0)
        return f"This snapshot holds no result of {tool} with {asked}. The nearest that it holds: {'; '.join(near)}"


def _schema(results: Sequence[RecordedResult]) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for name, value in ((name, value) for one in results for name, value in one.arguments.items()):
        kind = _type_of(value)
        known = properties.setdefault(name, {"type": kind} if kind else {})
        if known and known.get("type") != kind:
            properties[name] = {}
    return {"type": "object", "properties": properties}


def _type_of(value: object) -> str | None:
    return _TYPES.get(type(value))


def read_results(data: object, file: str) -> Snapshot:
    """Read `{"tool:{arguments}": "text"}`.

    Raises:
        SnapshotUnreadableError: it is something else.
    """
    if not isinstance(data, dict):
        raise SnapshotUnreadableError(f"{file}: a snapshot is a JSON object of calls and their results")
    return Snapshot(tuple(_result(key, text, file) for key, text in cast("dict[str, object]", data).items()))


def _result(key: str, text: object, file: str) -> RecordedResult:
    tool, _, written = key.partition(":")
    try:
        arguments: object = json.loads(written or "{}")
    except ValueError as error:
        raise SnapshotUnreadableError(f'{file}: "{key}" is no call: write tool:{{"argument": "value"}}') from error
    if not tool.strip() or not isinstance(arguments, dict):
        raise SnapshotUnreadableError(f'{file}: "{key}" is no call: write tool:{{"argument": "value"}}')
    if not isinstance(text, str):
        raise SnapshotUnreadableError(f'{file}: the result of "{key}" is no text')
    return RecordedResult(_full_name(tool.strip()), cast("dict[str, Any]", arguments), text)


def _full_name(tool: str) -> str:
    return tool if ToolName.parse(tool) else f"{SERVER}.{tool}"


def merged(snapshots: Iterable[Snapshot]) -> Snapshot:
    """Several files as one; of two results of the same call, the first."""
    found: dict[tuple[str, str], RecordedResult] = {}
    for snapshot in snapshots:
        for one in snapshot.results:
            found.setdefault((one.tool, canonical(one.arguments)), one)
    return Snapshot(tuple(found.values()))


def written(snapshot: Snapshot) -> str:
    """The file's text."""
    return json.dumps({f"{one.tool}:{canonical(one.arguments)}": one.text for one in snapshot.results}, indent=1, ensure_ascii=False) + "\n"


class RecordedSession:
    """What the agents of a session could ask and what they were told, for an investigator that goes its own way."""

    def __init__(self, recording: Recording) -> None:
        self._snapshot = Snapshot(tuple(_recorded_result(tool) for tool in recording.tools))
        self._errors = {(one.tool, one.text) for one, tool in zip(self._snapshot.results, recording.tools, strict=True) if tool.is_error}
        self._at = recording.alert.created_at if recording.alert else None
        offered = {tool.name: tool for catalog in reversed(recording.catalogs) for tool in catalog.tools}
        self._tools = tuple(
            ToolDefinition(tool.name, tool.description, dict(tool.parameters_schema), tool.read_only, tool.idempotent)
            for tool in offered.values()
        )

    @property
    def tools(self) -> Sequence[ToolDefinition]:
        return self._tools or self._snapshot.tools

    @property
    def now(self) -> datetime | None:
        return datetime.fromisoformat(self._at) if self._at else None

    def answer(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        found = self._snapshot.answer(tool, arguments)
        return Answer(found.text, is_error=found.is_error or (tool, found.text) in self._errors)


def _recorded_result(tool: RecordedTool) -> RecordedResult:
    try:
        arguments: object = json.loads(tool.arguments or "{}")
    except ValueError:
        arguments = {}
    return RecordedResult(tool.name, cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else {}, tool.content)
