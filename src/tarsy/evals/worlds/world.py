"""A world: the tools of a case and their answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Protocol

from tarsy.domain.tool import ToolDefinition, ToolName
from tarsy.evals.cases import WorldFile


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """The result of a tool call. An error is a result too: the model reads it."""

    text: str
    is_error: bool = False


class World(Protocol):
    """The same call has the same answer, however often and in which order it is made."""

    @property
    def tools(self) -> Sequence[ToolDefinition]:
        """The tools, under their full names `server.tool`."""
        ...

    @property
    def now(self) -> datetime | None:
        """The time in the world, the same in every run; None if it has none."""
        ...

    def answer(self, tool: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Call a tool by its full name with arguments that fit its schema."""
        ...


@dataclass(frozen=True, slots=True)
class AlteredWorld:
    """A world with tools removed, other descriptions of tools, or another time."""

    inner: World
    without: frozenset[str]
    descriptions: Mapping[str, str]
    at: datetime | None

    @property
    def tools(self) -> Sequence[ToolDefinition]:
        offered = ((tool, name.tool if (name := ToolName.parse(tool.name)) else tool.name) for tool in self.inner.tools)
        return tuple(
            replace(tool, description=self.descriptions.get(own, tool.description)) for tool, own in offered if own not in self.without
        )

    @property
    def now(self) -> datetime | None:
        return self.at or self.inner.now

    def answer(self, tool: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        return self.inner.answer(tool, arguments)


def altered(world: World, file: WorldFile) -> World:
    """Return the world with the changes of its case."""
    if not file.without_tools and not file.tool_descriptions and file.now is None:
        return world
    return AlteredWorld(world, frozenset(file.without_tools), file.tool_descriptions, file.now)
