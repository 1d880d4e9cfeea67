"""`skills.lock` in the configuration directory: which commit of a branch or tag the operator has accepted."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import yaml

from tarsy.config.load.source import read_source
from tarsy.config.parsed_data import mapping
from tarsy.config.problems import Problem
from tarsy.config.schema.skills import SkillSourceConfig, is_commit

LOCK_FILE = "skills.lock"
# What a source without a ref follows.
DEFAULT_BRANCH = "HEAD"
_HEAD = "# Written by `tarsy skills accept`: the commits whose skills agents may use. Keep it with the configuration.\n"


@dataclass(frozen=True, slots=True)
class SkillLock:
    """Accepted commits by repository and ref."""

    accepted: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    problems: tuple[Problem, ...] = ()

    def commit_of(self, source: SkillSourceConfig) -> str | None:
        """The commit to use: the one that the source names, else the one that was accepted for its branch or tag."""
        if source.ref and is_commit(source.ref):
            return source.ref
        return self.accepted.get(source.git or "", {}).get(source.ref or DEFAULT_BRANCH)

    def accepting(self, source: SkillSourceConfig, commit: str) -> Self:
        of_repository = {**self.accepted.get(source.git or "", {}), source.ref or DEFAULT_BRANCH: commit}
        return type(self)({**self.accepted, source.git or "": of_repository})

    def written(self) -> str:
        """The text of the file."""
        entries = {address: dict(sorted(refs.items())) for address, refs in sorted(self.accepted.items())}
        return _HEAD + yaml.safe_dump(entries, sort_keys=True)


def read_lock(directory: Path | None) -> SkillLock:
    if directory is None or not (directory / LOCK_FILE).exists():
        return SkillLock()
    source = read_source(directory / LOCK_FILE)
    problems = list(source.problems)
    accepted: dict[str, dict[str, str]] = {}
    for address, refs in (mapping(source.data) or {}).items():
        for ref, commit in (mapping(refs) or {}).items():
            if is_commit(str(commit)):
                accepted.setdefault(address, {})[ref] = str(commit)
            else:
                problems.append(source.problem((address, ref), f'"{commit}" is not a commit', "let `tarsy skills accept` write this file"))
    return SkillLock(accepted, tuple(problems))
