"""Opening the world of a case: a simulated cluster, a snapshot, a recording or a sample."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, assert_never

import yaml
from pydantic import ValidationError

from tarsy.config.problems import Problem
from tarsy.demo.chain import SERVER
from tarsy.demo.cluster import cluster_tools
from tarsy.demo.world import ClusterData, load_world, read_world
from tarsy.domain.tool import ToolDefinition
from tarsy.evals.cases import Case, CaseError, WorldKind
from tarsy.evals.worlds.snapshot import RecordedSession, Snapshot, SnapshotUnreadableError, read_results
from tarsy.evals.worlds.world import ToolAnswer, World, altered
from tarsy.kit.yaml_limits import check_yaml
from tarsy.llm.providers.replay import RecordingFiles, RecordingUnreadableError


class SimulatedCluster:
    """The simulated cluster of the samples, in this process: no server is started."""

    def __init__(self, data: ClusterData) -> None:
        self._now = data.now
        self._tools = {f"{SERVER}.{tool.name}": tool for tool in cluster_tools(data)}
        described = {name: tool.described() for name, tool in self._tools.items()}
        self._offered = tuple(
            ToolDefinition(name, one["description"], one["inputSchema"], read_only=True, idempotent=True) for name, one in described.items()
        )

    @property
    def now(self) -> datetime:
        return self._now

    @property
    def tools(self) -> Sequence[ToolDefinition]:
        return self._offered

    def answer(self, tool: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        result = self._tools[tool].call(arguments)
        return ToolAnswer(result["content"][0]["text"], is_error=result["isError"])


def open_world(case: Case) -> World:
    """Open the world of a case.

    Raises:
        CaseError: it cannot be read, or the case removes or describes a tool that it does not have.
    """
    path = case.world_path
    try:
        world = _read(case.file.world.kind, path)
    except (OSError, UnicodeDecodeError, yaml.YAMLError, ValidationError, SnapshotUnreadableError, RecordingUnreadableError) as error:
        raise CaseError([Problem(str(path), 0, "", f"this world cannot be read: {error}")]) from error
    names = {tool.name.rpartition(".")[2] for tool in world.tools}
    unknown = {*case.file.world.without_tools, *case.file.world.tool_descriptions} - names
    if unknown:
        raise CaseError(
            [Problem(str(path), 0, "", f"there is no tool {', '.join(sorted(unknown))}; there are: {', '.join(sorted(names))}")]
        )
    return altered(world, case.file.world)


def _read(kind: WorldKind, path: Path) -> World:
    match kind:
        case WorldKind.CLUSTER:
            check_yaml(path.read_text(encoding="utf-8"))
            return SimulatedCluster(read_world(path))
        case WorldKind.SAMPLE:
            return SimulatedCluster(load_world(path.name))
        case WorldKind.SNAPSHOT:
            return read_snapshot(path)
        case WorldKind.RECORDING:
            return RecordedSession(RecordingFiles()(str(path)))
        case _:
            assert_never(kind)


def read_snapshot(path: Path) -> Snapshot:
    """Read a file of tool results.

    Raises:
        SnapshotUnreadableError: it holds something else.
    """
    try:
        data: object = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise SnapshotUnreadableError(f"{path}: this is not JSON: {error}") from error
    return read_results(data, str(path))
