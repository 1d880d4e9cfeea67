"""What a case expects of an investigation: everything here is checked by code. Pure module."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from pydantic import AwareDatetime, BeforeValidator, Field

from tarsy.config.load.mistakes import validate
from tarsy.config.load.source import Source, read_source
from tarsy.config.problems import ConfigError, Problem
from tarsy.config.schema.values import Count, KnownNames, Name, Section, Text
from tarsy.demo.samples import UnknownSampleError, load_sample
from tarsy.domain.verdict import StillHappening, VerdictOutcome


def _several(value: object) -> object:
    """One value may be written without the brackets of a list."""
    return (value,) if isinstance(value, str) else value


Names = Annotated[tuple[Name, ...], BeforeValidator(_several)]


class ExpectedMechanism(Section):
    """Words the mechanism has to be told with: all words of one set. `oom|out of memory` is one word with two spellings."""

    any_of: tuple[Names, ...] = Field(min_length=1, description="Sets of words; the mechanism holds all words of at least one set.")
    none_of: tuple[Names, ...] = Field(default=(), description="Sets of words; the mechanism holds all words of none of them.")


class KnownCall(Section):
    """A tool call that shows the evidence; other calls may show it too."""

    tool: Name = Field(description="Name of the tool, without its server.")
    arguments: Mapping[str, Any] = Field(default={}, description="Its arguments.")


class RequiredEvidence(Section):
    """Something seen that the analysis has to cite: a result that holds the text."""

    text: Name = Field(description="Words that stand in the result.")
    call: KnownCall | None = Field(default=None, description="A call whose result holds them; the oracle makes it.")


class Ceilings(Section):
    """The most that a run may take. A cost that is not known is not held against it."""

    turns: Count | None = Field(default=None, description="Calls of the model.")
    tool_calls: Count | None = Field(default=None, description="Calls of tools.")
    tokens: Count | None = Field(default=None, description="Tokens, in and out.")
    usd: float | None = Field(default=None, gt=0, description="Cost in US dollars.")


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
    ceilings: Ceilings = Field(default=Ceilings(), description="The most that a run may take.")

    @property
    def is_healthy(self) -> bool:
        """Nothing is wrong in this world: naming a fault is a false alarm."""
        return VerdictOutcome.FAULT not in self.outcome and VerdictOutcome.NO_FAULT in self.outcome

    @property
    def must_abstain(self) -> bool:
        """What there is to see does not tell the cause: the right answer is to say so."""
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


CASE_FILE = "case.yaml"
# The suite that comes with the program.
SUITE = Path(__file__).parent / "suite"


class CaseError(ConfigError):
    """Cases cannot be used; the person who wrote them can act."""


def load_cases(directory: Path) -> tuple[Case, ...]:
    """Every case under `directory`, or the one that it is, by name.

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
    if source.problems:
        return source.problems
    file, problems = validate(CaseFile, source, source.data, KnownNames())
    if problems or file is None:
        return problems or [source.problem((), "this file is not a mapping of keys to values")]
    if file.world.kind is WorldKind.SAMPLE:
        return _sample(folder, file, source)
    if not (folder / file.world.file).is_file():
        return [source.problem(("world", "file"), f'there is no file "{file.world.file}" beside it')]
    if not file.alert.strip():
        return [source.problem(("alert",), "the alert is missing", "write what the monitoring system sends")]
    return Case(folder.name, folder, file, _digest(folder))


def _sample(folder: Path, file: CaseFile, source: Source) -> Case | list[Problem]:
    try:
        sample = load_sample(file.world.file)
    except UnknownSampleError as error:
        return [source.problem(("world", "file"), str(error))]
    return Case(folder.name, folder, file.model_copy(update={"alert": sample.alert_data}), _digest(folder, sample.directory))


def _digest(*folders: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(path for folder in folders for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{path.name}\n{path.stat().st_size}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def chosen(cases: Iterable[Case], *, tags: Iterable[str] = (), names: Iterable[str] = ()) -> tuple[Case, ...]:
    """The cases that have every one of `tags` (a family or a difficulty counts as one), and, where `names` are given, one of them."""
    wanted, called = set(tags), set(names)
    return tuple(case for case in cases if wanted <= {*case.groups, case.file.difficulty.value} and (not called or case.name in called))
