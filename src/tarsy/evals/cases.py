"""Cases: an alert, the world it is investigated in, and the expectations of the investigation."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path, PurePath
from typing import Annotated, Any

from pydantic import AwareDatetime, BeforeValidator, Field, field_validator

from tarsy.config.load.mistakes import validate
from tarsy.config.load.source import read_source
from tarsy.config.problems import ConfigError, Problem
from tarsy.config.schema.values import Count, KnownNames, Name, Section, Text, refuse
from tarsy.demo.samples import UnknownSampleError, load_sample
from tarsy.domain.verdict import StillHappening, VerdictOutcome


def _several(value: object) -> object:
    """Accept a single value in the place of a list."""
    return (value,) if isinstance(value, str) else value


Names = Annotated[tuple[Name, ...], BeforeValidator(_several)]


class ExpectedMechanism(Section):
    """What the mechanism must say and must not say. `oom|out of memory` is one word with two spellings; words match at their beginning."""

    any_of: tuple[Names, ...] = Field(min_length=1, description="Sets of words; the mechanism holds all words of at least one set.")
    none_of: tuple[Names, ...] = Field(
        default=(), description="Sets of words; the mechanism holds all words of none of them: wrong causes."
    )


class KnownCall(Section):
    """A tool call that shows the evidence; other calls may show it too."""

    tool: Name = Field(description="Name of the tool, without its server.")
    arguments: Mapping[str, Any] = Field(default={}, description="Its arguments.")


class RequiredEvidence(Section):
    """A text in a tool result that the analysis must quote, whole or in part."""

    text: Name = Field(description="Words that stand in the result.")
    call: KnownCall | None = Field(default=None, description="A call whose result holds them; the oracle makes it.")


class RunLimits(Section):
    """The limits of a run. Every case has those of money, time and tokens. An unknown cost is within its limit."""

    turns: Count | None = Field(default=None, description="Calls of the model.")
    tool_calls: Count | None = Field(default=None, description="Calls of tools.")
    # A thorough investigation takes some 20 turns of up to 30,000 tokens.
    tokens: Count = Field(default=1_000_000, description="Tokens, in and out.")
    usd: float = Field(default=5.0, gt=0, description="Cost in US dollars.")
    # Half an hour is longer than a person waits for a first answer.
    seconds: float = Field(default=1_800.0, gt=0, description="Time from start to verdict.")


class Expectation(Section):
    outcome: Annotated[tuple[VerdictOutcome, ...], BeforeValidator(_several)] = Field(
        min_length=1, description="What the verdict has to say: fault, no_fault or inconclusive; a list where several are right."
    )
    object: Names = Field(
        default=(), description="What the fault is in, kind/namespace/name, with every right way to name it; `*` may stand in it."
    )
    mechanism: ExpectedMechanism | None = Field(default=None, description="Words that tell the mechanism.")
    must_cite: tuple[RequiredEvidence, ...] = Field(default=(), description="Evidence that the analysis has to cite.")
    must_not_cite: Names = Field(default=(), description="Words that no citation may quote, except where something is ruled out.")
    still_happening: StillHappening | None = Field(default=None, description="Whether it goes on: yes, no or unknown.")
    forbidden_actions: Names = Field(default=(), description="Regular expressions; no command that the analysis proposes may match one.")
    ceilings: RunLimits = Field(default=RunLimits(), description="The most that a run may take.")

    @field_validator("forbidden_actions")
    @classmethod
    def _compile(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in patterns:
            try:
                re.compile(pattern)
            except re.error as error:
                raise refuse(f'"{pattern}" is not a regular expression: {error}') from error
        return patterns

    @property
    def is_healthy(self) -> bool:
        """Return whether nothing is wrong in this world: a fault in the verdict is a false alarm."""
        return VerdictOutcome.FAULT not in self.outcome and VerdictOutcome.NO_FAULT in self.outcome

    @property
    def must_abstain(self) -> bool:
        """Return whether the cause cannot be found in this world: the right verdict is inconclusive."""
        return self.outcome == (VerdictOutcome.INCONCLUSIVE,)


class Difficulty(StrEnum):
    """Easy: the object that the alert names says what is wrong. Medium: the cause is one step away. Hard: several, or it hides."""

    EASY = "easy"
    MEDIUM = "medium"
    HARD = "hard"


class WorldKind(StrEnum):
    CLUSTER = "cluster"
    SNAPSHOT = "snapshot"
    RECORDING = "recording"
    # A sample incident of the program, with its cluster, its alert and a recording of a model.
    SAMPLE = "sample"


class WorldFile(Section):
    """The file of the world, and changes to it."""

    kind: WorldKind = Field(description="A simulated cluster, a snapshot of tool results, a recording of a session, or a sample incident.")
    file: Name = Field(description="The file beside `case.yaml`; for `kind: sample` the name of the sample.")
    now: AwareDatetime | None = Field(default=None, description="What time it is there, where the file does not say.")
    without_tools: Names = Field(default=(), description="Tools that are not there.")
    tool_descriptions: Mapping[str, Text] = Field(default={}, description="Other descriptions of tools, by the tools' names.")


class CaseFile(Section):
    """The content of `case.yaml`."""

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
    """A case and its directory. `digest` is a hash of its files: a result belongs to one version of the case."""

    name: str
    directory: Path
    file: CaseFile
    digest: str = field(repr=False)

    @property
    def world_path(self) -> Path:
        return self.directory / self.file.world.file

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups, besides its difficulty, under which its results are counted."""
        return (self.file.family, *self.file.tags)


CASE_FILE = "case.yaml"
# The suite that comes with the program.
SUITE = Path(__file__).parent / "suite"


class EvalError(Exception):
    """An eval cannot be done as requested; the text says what to change."""


class CaseError(ConfigError):
    """Cases cannot be used; the person who wrote them can act."""


def load_cases(directory: Path) -> tuple[Case, ...]:
    """Load the cases under `directory`, or the case that it is, sorted by name.

    Raises:
        CaseError: with every problem of every case; also when there is none.
    """
    folders = [directory] if (directory / CASE_FILE).is_file() else sorted(path.parent for path in directory.glob(f"*/{CASE_FILE}"))
    read = [_read(folder) for folder in folders]
    problems = [problem for one in read if not isinstance(one, Case) for problem in one]
    if not folders:
        problems = [Problem(str(directory), 0, "", f"there is no case here: no {CASE_FILE}, and no folder that holds one")]
    if problems:
        raise CaseError(problems)
    return tuple(one for one in read if isinstance(one, Case))


def _read(folder: Path) -> Case | list[Problem]:
    source = read_source(folder / CASE_FILE)
    file, problems = (None, source.problems) if source.problems else validate(CaseFile, source, source.data, KnownNames())
    if problems or file is None:
        return problems or [source.problem((), "this file is not a mapping of keys to values")]
    folders = [folder]
    if file.world.kind is WorldKind.SAMPLE:
        try:
            sample = load_sample(file.world.file)
        except UnknownSampleError as error:
            return [source.problem(("world", "file"), str(error))]
        folders.append(sample.directory)
        file = file.model_copy(update={"alert": sample.alert_data})
    elif PurePath(file.world.file).is_absolute() or ".." in PurePath(file.world.file).parts:
        return [source.problem(("world", "file"), "this file is outside the case's directory", "put a copy beside case.yaml")]
    elif not (folder / file.world.file).is_file():
        return [source.problem(("world", "file"), f'there is no file "{file.world.file}" beside it')]
    elif not file.alert.strip():
        return [source.problem(("alert",), "the alert is missing", "write what the monitoring system sends")]
    return Case(folder.name, folder, file, _digest(*folders))


def _digest(*folders: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(path for folder in folders for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{path.name}\n{path.stat().st_size}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def select_cases(cases: Iterable[Case], *, tags: Iterable[str] = (), names: Iterable[str] = ()) -> tuple[Case, ...]:
    """Return the cases that have all `tags` (families and difficulties count as tags), and, if `names` are given, one of them."""
    wanted, called = set(tags), set(names)
    return tuple(case for case in cases if wanted <= {*case.groups, case.file.difficulty.value} and (not called or case.name in called))
