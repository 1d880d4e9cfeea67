"""Finished trials on disk, one line each: a run that was killed goes on where it was."""

import os
from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ValidationError

from tarsy.config.problems import ConfigError, Problem
from tarsy.evals.trial import Identity, Trial


class TrialsUnreadableError(ConfigError):
    """A file of trials cannot be used; the person who named it can act."""


class TrialFile:
    """Appends trials as they finish. A line that a dying process left half written is left out and written anew."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> Mapping[Identity, Trial]:
        if not self._path.exists():
            return {}
        lines = self._path.read_text(encoding="utf-8").splitlines()
        return {trial.identity: trial for line in lines if (trial := _trial(line)) is not None}

    def append(self, trial: Trial) -> None:
        with self._path.open("a+b") as file:
            line = trial.model_dump_json().encode() + b"\n"
            file.write(line if _ends_well(self._path) else b"\n" + line)
            file.flush()
            os.fsync(file.fileno())


def _ends_well(path: Path) -> bool:
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - 1))
        return size == 0 or file.read(1) == b"\n"


def _trial(line: str) -> Trial | None:
    try:
        return Trial.model_validate_json(line)
    except ValidationError:
        return None


def read_trials(path: Path) -> tuple[Trial, ...]:
    """The trials of a report or of a file of trials, for a comparison.

    Raises:
        TrialsUnreadableError: there is no such file, or no trial in it.
    """
    try:
        trials = _reported(path) or tuple(TrialFile(path).read().values())
    except (OSError, UnicodeDecodeError) as error:
        raise TrialsUnreadableError([Problem(str(path), 0, "", f"cannot be read: {error}")]) from error
    if not trials:
        raise TrialsUnreadableError(
            [Problem(str(path), 0, "", "holds no trials", "name the report.json or the trials.jsonl of an eval run")]
        )
    return trials


class _Reported(BaseModel):
    trials: tuple[Trial, ...]


def _reported(path: Path) -> tuple[Trial, ...]:
    """The trials of a report; none where the file is something else."""
    if not path.exists():
        return ()
    try:
        return _Reported.model_validate_json(path.read_bytes()).trials
    except ValidationError:
        return ()
