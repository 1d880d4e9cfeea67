"""All skills of an installation: those TARSy brings along, the `skills` directory, and the sources that the configuration names."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from pydantic import ValidationError

from tarsy.config.load.skills.checkouts import checkouts_dir, git_place
from tarsy.config.load.skills.lock import SkillLock, read_lock
from tarsy.config.load.skills.skill_directory import FoundSkills, Place, read_skills
from tarsy.config.load.source import Source
from tarsy.config.parsed_data import listing_at
from tarsy.config.problems import Path as ConfigPath
from tarsy.config.problems import Problem
from tarsy.config.schema.skills import SkillSourceConfig
from tarsy.domain.skill import SHIPPED, Skill

SKILLS_DIRECTORY = "skills"
SHIPPED_DIRECTORY = Path(__file__).parents[2] / "shipped_skills"


@dataclass(slots=True)
class SkillCatalog:
    """The skills by name, what is wrong, and what is odd."""

    skills: dict[str, Skill] = field(default_factory=dict[str, Skill])
    broken: set[str] = field(default_factory=set[str])
    problems: list[Problem] = field(default_factory=list[Problem])
    remarks: list[Problem] = field(default_factory=list[Problem])
    # Whether some source could not be looked into, so that there may be more.
    incomplete: bool = False

    @property
    def names(self) -> frozenset[str] | None:
        return None if self.incomplete else frozenset({*self.skills, *self.broken})

    def add(self, found: FoundSkills) -> None:
        """Take over what a place holds. An own skill replaces a built-in one; two of the operator's with one name are a mistake."""
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
    """The skills that TARSy brings along, whatever the operator has put in their place."""
    return {skill.name: skill for skill in _shipped().skills}


@cache
def _shipped() -> FoundSkills:
    return read_skills(Place(SHIPPED_DIRECTORY, SHIPPED, SHIPPED))


def read_catalog(directory: Path | None, tarsy: Source, data: object, env: Mapping[str, str]) -> SkillCatalog:
    """Read every skill of the configuration in `directory`, whose `tarsy.yaml` holds `data`. Nothing is fetched here."""
    catalog = SkillCatalog()
    catalog.add(_shipped())
    if directory is not None and (own := directory / SKILLS_DIRECTORY).is_dir():
        catalog.add(read_skills(Place(own, str(own), SKILLS_DIRECTORY)))
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


def skill_sources(data: object) -> Iterator[tuple[ConfigPath, SkillSourceConfig]]:
    """The sources that can be read as such; what is wrong with the others is told where the whole document is checked."""
    for index, entry in enumerate(listing_at(data, "skills")):
        try:
            yield ("skills", index), SkillSourceConfig.model_validate(entry)
        except ValidationError:
            continue


def _place(
    source: SkillSourceConfig, path: ConfigPath, directory: Path | None, tarsy: Source, lock: SkillLock, env: Mapping[str, str]
) -> Place | Problem:
    if source.path is not None:
        root = (directory or Path()) / Path(source.path).expanduser()
        return Place(root, str(root), source.path) if root.is_dir() else tarsy.problem(path, f"there is no directory {root}")
    commit = lock.commit_of(source)
    if commit is None:
        cure = "read what `tarsy skills sync` shows, then `tarsy skills accept`, or write a commit as ref"
        return tarsy.problem(path, f"no commit of {source.git} has been accepted yet", cure)
    place = git_place(checkouts_dir(env), source, commit)
    return place if place.root.is_dir() else tarsy.problem(path, f"{place.shown} is not here yet", "run `tarsy skills sync`")
