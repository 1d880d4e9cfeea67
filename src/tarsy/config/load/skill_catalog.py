"""All skills of an installation: the shipped ones, the `skills` directory, and the sources that the configuration names."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Self

import yaml
from pydantic import ValidationError

from tarsy.config.load.skill_files import FoundSkills, SkillDirectory, read_skills
from tarsy.config.load.source import Source, read_source
from tarsy.config.parsed_data import as_mapping, list_at
from tarsy.config.problems import KeyPath, Problem
from tarsy.config.schema.skills import SkillSourceConfig, is_commit
from tarsy.domain.skill import SHIPPED, SHORT_COMMIT, Skill
from tarsy.kit.data_directory import data_dir_of

LOCK_FILE = "skills.lock"
# The ref of a source without one.
DEFAULT_BRANCH = "HEAD"
_HEAD = "# Written by `tarsy skills accept`: the commits whose skills agents may use. Keep it with the configuration.\n"


@dataclass(frozen=True, slots=True)
class SkillLock:
    """Accepted commits by repository and ref."""

    accepted: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    problems: tuple[Problem, ...] = ()

    def commit_of(self, source: SkillSourceConfig) -> str | None:
        """Return the commit to use: the one in the source, else the one that was accepted for its branch or tag; None: neither."""
        if source.ref and is_commit(source.ref):
            return source.ref
        return self.accepted.get(source.git or "", {}).get(source.ref or DEFAULT_BRANCH)

    def accepting(self, source: SkillSourceConfig, commit: str) -> Self:
        of_repository = {**self.accepted.get(source.git or "", {}), source.ref or DEFAULT_BRANCH: commit}
        return type(self)({**self.accepted, source.git or "": of_repository})

    def written(self) -> str:
        """Render the text of the file."""
        entries = {address: dict(sorted(refs.items())) for address, refs in sorted(self.accepted.items())}
        return _HEAD + yaml.safe_dump(entries, sort_keys=True)


def read_lock(directory: Path | None) -> SkillLock:
    if directory is None or not (directory / LOCK_FILE).exists():
        return SkillLock()
    source = read_source(directory / LOCK_FILE)
    problems = list(source.problems)
    accepted: dict[str, dict[str, str]] = {}
    for address, refs in (as_mapping(source.data) or {}).items():
        for ref, commit in (as_mapping(refs) or {}).items():
            if is_commit(str(commit)):
                accepted.setdefault(address, {})[ref] = str(commit)
            else:
                problems.append(source.problem((address, ref), f'"{commit}" is not a commit', "let `tarsy skills accept` write this file"))
    return SkillLock(accepted, tuple(problems))


def checkouts_dir(env: Mapping[str, str]) -> Path:
    return data_dir_of(env) / "skills"


def repository_dir(checkouts: Path, source: SkillSourceConfig) -> Path:
    """Return the directory for one directory of a repository. Its name is a hash, because addresses have characters that file names cannot have."""
    return checkouts / sha256(f"{source.git}\n{source.dir}".encode()).hexdigest()[:32]


def checkout_dir(checkouts: Path, source: SkillSourceConfig, commit: str) -> Path:
    return repository_dir(checkouts, source) / commit


def git_place(checkouts: Path, source: SkillSourceConfig, commit: str) -> SkillDirectory:
    """Return the place of the skills of one commit."""
    shown = f"{source.git}@{commit[:SHORT_COMMIT]}" + ("" if source.dir == "." else f":{source.dir}")
    return SkillDirectory(checkout_dir(checkouts, source, commit), shown, str(source.git), commit)


SKILLS_DIRECTORY = "skills"
SHIPPED_DIRECTORY = Path(__file__).parents[1] / "shipped_skills"


@dataclass(slots=True)
class SkillCatalog:
    """All skills by name, their problems, and remarks about them."""

    skills: dict[str, Skill] = field(default_factory=dict[str, Skill])
    broken: set[str] = field(default_factory=set[str])
    problems: list[Problem] = field(default_factory=list[Problem])
    remarks: list[Problem] = field(default_factory=list[Problem])
    # Whether a source could not be read, so that there may be more.
    incomplete: bool = False

    @property
    def names(self) -> frozenset[str] | None:
        return None if self.incomplete else frozenset({*self.skills, *self.broken})

    def add(self, found: FoundSkills) -> None:
        """Add the skills of a place. A skill of the operator replaces a shipped one; two of the operator's with one name are a mistake."""
        self.problems += found.problems
        self.remarks += found.remarks
        self.broken |= found.broken
        for skill in found.skills:
            other = self.skills.get(skill.name)
            if other is not None and other.origin != SHIPPED:
                message = f'there are two skills "{skill.name}": one in {other.origin}, one in {skill.origin}'
                self.problems.append(Problem(skill.origin, 0, skill.name, message, "rename one of them"))
            self.skills[skill.name] = skill


def shipped_skills() -> Mapping[str, Skill]:
    """Return the skills that TARSy ships, even if the operator has replaced them."""
    return {skill.name: skill for skill in _shipped().skills}


@cache
def _shipped() -> FoundSkills:
    return read_skills(SkillDirectory(SHIPPED_DIRECTORY, SHIPPED, SHIPPED))


def read_catalog(directory: Path | None, tarsy: Source, data: object, env: Mapping[str, str]) -> SkillCatalog:
    """Read all skills of the configuration in `directory`, whose `tarsy.yaml` contains `data`, without fetching any."""
    catalog = SkillCatalog()
    catalog.add(_shipped())
    if directory is not None and (own := directory / SKILLS_DIRECTORY).is_dir():
        catalog.add(read_skills(SkillDirectory(own, str(own), SKILLS_DIRECTORY)))
    lock = read_lock(directory)
    catalog.problems += lock.problems
    for path, source in skill_sources(data):
        place = _place(source, path, directory, tarsy, lock, env)
        if isinstance(place, Problem):
            catalog.problems.append(place)
            catalog.incomplete = True
        else:
            found = read_skills(place)
            catalog.add(found)
            if not found.skills and not found.broken:
                catalog.problems.append(
                    tarsy.problem(path, f"there is no skill in {place.shown}", "a skill is a directory with a SKILL.md")
                )
    return catalog


def skill_sources(data: object) -> Iterator[tuple[KeyPath, SkillSourceConfig]]:
    """Yield the valid skill sources; problems of the others are reported when the whole document is validated."""
    for index, entry in enumerate(list_at(data, "skills")):
        try:
            yield ("skills", index), SkillSourceConfig.model_validate(entry)
        except ValidationError:
            continue


def _place(
    source: SkillSourceConfig, path: KeyPath, directory: Path | None, tarsy: Source, lock: SkillLock, env: Mapping[str, str]
) -> SkillDirectory | Problem:
    if source.path is not None:
        root = (directory or Path()) / Path(source.path).expanduser()
        return SkillDirectory(root, str(root), source.path) if root.is_dir() else tarsy.problem(path, f"there is no directory {root}")
    commit = lock.commit_of(source)
    if commit is None:
        remedy = "read what `tarsy skills sync` shows, then `tarsy skills accept`, or write a commit as ref"
        return tarsy.problem(path, f"no commit of {source.git} has been accepted yet", remedy)
    place = git_place(checkouts_dir(env), source, commit)
    return place if place.root.is_dir() else tarsy.problem(path, f"{place.shown} has not been fetched yet", "run `tarsy skills sync`")
