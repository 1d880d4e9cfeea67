"""The skills of an installation as text for people."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from tarsy.config.load.environment import find_directory, with_dotenv
from tarsy.config.load.loader import tarsy_source
from tarsy.config.load.skills.catalog import SkillCatalog, read_catalog
from tarsy.config.load.skills.checkouts import SHORT_COMMIT
from tarsy.config.load.substitution import fill_in
from tarsy.config.problems import report
from tarsy.domain.skill import Skill


def listed(skills: Iterable[Skill]) -> str:
    """One paragraph for each skill: name, origin, description, further files."""
    return "\n".join(_paragraph(skill) for skill in sorted(skills, key=lambda skill: skill.name))


def catalog_of(directory: Path | None, env: Mapping[str, str]) -> SkillCatalog:
    """The skills alone: whatever else is wrong with the configuration is no matter here.

    Raises:
        ConfigError: a directory was named that holds no configuration.
    """
    found = find_directory(directory, with_dotenv(env, None))
    full_env = with_dotenv(env, found)
    source = tarsy_source(found)
    return read_catalog(found, source, fill_in(source.data, full_env).data, full_env)


def check_skills(directory: Path | None, env: Mapping[str, str]) -> tuple[bool, str, str]:
    """Whether all skills can be used, one line that says so, and everything to be said about them."""
    catalog = catalog_of(directory, env)
    if catalog.problems:
        count = len(catalog.problems)
        return False, f"{count} problem{'' if count == 1 else 's'} in the skills", report([*catalog.problems, *catalog.remarks])
    return True, f"ok ({len(catalog.skills)} skills)", report(catalog.remarks)


def _paragraph(skill: Skill) -> str:
    at = f" at {skill.commit[:SHORT_COMMIT]}" if skill.commit else ""
    files = f"\n    files: {', '.join(skill.further_files)}" if skill.further_files else ""
    needs = f"\n    needs: {skill.compatibility}" if skill.compatibility else ""
    return f"{skill.name}  [{skill.origin}{at}]\n    {skill.description}{needs}{files}"
