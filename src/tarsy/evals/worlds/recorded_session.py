"""The tool results of a recorded session as a world: the call decides, not which agent made it when. Pure module."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from tarsy.domain.recording import RecordedTool, Recording
from tarsy.domain.tool import ToolDefinition
from tarsy.evals.worlds.snapshot import RecordedResult, Snapshot
from tarsy.evals.worlds.world import Answer


class RecordedSession:
    """What the agents of a session could ask and what they were told, for an investigator that goes its own way."""

    def __init__(self, recording: Recording) -> None:
        self._snapshot = Snapshot(tuple(_result(tool) for tool in recording.tools))
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


def _result(tool: RecordedTool) -> RecordedResult:
    try:
        arguments: object = json.loads(tool.arguments or "{}")
    except ValueError:
        arguments = {}
    return RecordedResult(tool.name, cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else {}, tool.content)
