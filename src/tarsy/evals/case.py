"""A case: an alert, the world it is investigated in, and what is expected. Pure module."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from pydantic import AwareDatetime, Field

from tarsy.config.schema.values import Name, Section, Text
from tarsy.evals.expectation import Expectation, Names


class Difficulty(StrEnum):
    """Easy: the object that the alert names says what is wrong. Medium: the cause is one step away. Hard: several, or it hides."""

    EASY = "easy"
    MEDIUM = "medium"
    HARD = "hard"


class WorldKind(StrEnum):
    CLUSTER = "cluster"
    SNAPSHOT = "snapshot"
    RECORDING = "recording"
    # A sample incident that comes with the program, with its cluster, its alert and what a recorded model said.
    SAMPLE = "sample"


class WorldFile(Section):
    """Where the world is described, and how it differs from what is written there."""

    kind: WorldKind = Field(description="A simulated cluster, a snapshot of tool results, a recording of a session, or a sample incident.")
    file: Name = Field(description="The file beside `case.yaml`; for `kind: sample` the name of the sample.")
    now: AwareDatetime | None = Field(default=None, description="What time it is there, where the file does not say.")
    without_tools: Names = Field(default=(), description="Tools that are not there.")
    tool_descriptions: Mapping[str, Text] = Field(default={}, description="Other descriptions of tools, by the tools' names.")


class CaseFile(Section):
    """What `case.yaml` says."""

    title: Name = Field(description="What is wrong, in a few words.")
    family: Name = Field(description="The kind of fault: configuration, resources, network, …")
    difficulty: Difficulty = Field(description="How hard it is to find.")
    tags: Names = Field(default=(), description="What else results are grouped by.")
    alert: Text = Field(default="", description="The alert, as it is sent; a sample has its own.")
    alert_type: Name = Field(default="kubernetes", description="The alert's type.")
    runbook: Text | None = Field(default=None, description="A runbook that comes with the alert.")
    world: WorldFile = Field(description="What the tools show.")
    expect: Expectation = Field(description="What the investigation has to come to.")
    reference: Name = Field(description="The truth in a sentence or two: for people, for the oracle, and for a judge model.")


@dataclass(frozen=True, slots=True)
class Case:
    """A case with its place. `digest` changes with every byte of its files, so that a result is known to belong to it."""

    name: str
    directory: Path
    file: CaseFile
    digest: str = field(repr=False)

    @property
    def world_path(self) -> Path:
        return self.directory / self.file.world.file

    @property
    def groups(self) -> tuple[str, ...]:
        """Everything that its results are counted under besides its difficulty."""
        return (self.file.family, *self.file.tags)
