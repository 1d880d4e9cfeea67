"""Opening the world of a case."""

import json
from pathlib import Path
from typing import assert_never

import yaml
from pydantic import ValidationError

from tarsy.config.problems import Problem
from tarsy.demo.world import load_world, read_world
from tarsy.evals.case import Case, WorldKind
from tarsy.evals.case_files import CaseError
from tarsy.evals.worlds.recorded_session import RecordedSession
from tarsy.evals.worlds.simulated_cluster import SimulatedCluster
from tarsy.evals.worlds.snapshot import Snapshot, SnapshotUnreadableError, read_results
from tarsy.evals.worlds.world import World, altered
from tarsy.llm.providers.replay import RecordingFiles, RecordingUnreadableError


def open_world(case: Case) -> World:
    """Read the world of a case.

    Raises:
        CaseError: it cannot be read, or the case takes away a tool that it does not have.
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
    except ValueError as error:
        raise SnapshotUnreadableError(f"{path}: this is not JSON: {error}") from error
    return read_results(data, str(path))
