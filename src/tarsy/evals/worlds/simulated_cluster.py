"""The simulated cluster of the samples as a world, in this process: a run of many cases starts no servers."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from tarsy.demo.chain import SERVER
from tarsy.demo.cluster import cluster_tools
from tarsy.demo.stdio_server import Tool
from tarsy.demo.world import World as ClusterData
from tarsy.domain.tool import ToolDefinition
from tarsy.evals.worlds.world import Answer


class SimulatedCluster:
    def __init__(self, data: ClusterData) -> None:
        self._now = data.now
        self._tools = {f"{SERVER}.{tool.name}": tool for tool in cluster_tools(data)}
        self._offered = tuple(_definition(name, tool) for name, tool in self._tools.items())

    @property
    def now(self) -> datetime:
        return self._now

    @property
    def tools(self) -> Sequence[ToolDefinition]:
        return self._offered

    def answer(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        said = self._tools[tool].call(arguments)
        return Answer(said["content"][0]["text"], is_error=said["isError"])


def _definition(name: str, tool: Tool) -> ToolDefinition:
    described = tool.described()
    return ToolDefinition(name, described["description"], described["inputSchema"], read_only=True, idempotent=True)
