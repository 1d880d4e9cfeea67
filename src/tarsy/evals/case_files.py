"""Reading cases from a directory: every problem with its file and line."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from tarsy.config.load.mistakes import validate
from tarsy.config.load.source import Source, read_source
from tarsy.config.problems import ConfigError, Problem
from tarsy.config.schema.values import KnownNames
from tarsy.demo.samples import UnknownSampleError, load_sample
from tarsy.evals.case import Case, CaseFile, WorldKind

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
