"""A world as tools: what can be asked, and what is answered. Pure module."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Protocol

from tarsy.domain.tool import ToolDefinition, ToolName
from tarsy.evals.cases import WorldFile


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool says. An error is an answer too: it is for the model."""

    text: str
    is_error: bool = False


class World(Protocol):
    """The same question gets the same answer, however often and in whatever order it is asked."""

    @property
    def tools(self) -> Sequence[ToolDefinition]:
        """Under their full names, `server.tool`."""
        ...

    @property
    def now(self) -> datetime | None:
        """What time it is there, in every run; None where the world does not say."""
        ...

    def answer(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        """Call a tool by its full name with arguments that fit its schema."""
        ...


@dataclass(frozen=True, slots=True)
class AlteredWorld:
    """A world in which tools are missing or describe themselves otherwise than they are, or in which it is another time."""

    inner: World
    without: frozenset[str]
    descriptions: Mapping[str, str]
    at: datetime | None

    @property
    def tools(self) -> Sequence[ToolDefinition]:
        offered = ((tool, _own_name(tool.name)) for tool in self.inner.tools)
        return tuple(
            replace(tool, description=self.descriptions.get(own, tool.description)) for tool, own in offered if own not in self.without
        )

    @property
    def now(self) -> datetime | None:
        return self.at or self.inner.now

    def answer(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        return self.inner.answer(tool, arguments)


def altered(world: World, file: WorldFile) -> World:
    """The world with what its case changes about it."""
    if not file.without_tools and not file.tool_descriptions and file.now is None:
        return world
    return AlteredWorld(world, frozenset(file.without_tools), file.tool_descriptions, file.now)


def _own_name(name: str) -> str:
    parsed = ToolName.parse(name)
    return parsed.tool if parsed else name
