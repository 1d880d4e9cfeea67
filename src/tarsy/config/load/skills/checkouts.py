"""Where the skills of a Git repository lie once they were fetched: plain files of one commit, written whole or not at all."""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from tarsy.config.load.skills.skill_directory import Place
from tarsy.config.schema.skills import SkillSourceConfig
from tarsy.kit.data_directory import data_dir_of

# As many characters of a commit as people read.
SHORT_COMMIT = 12


def checkouts_dir(env: Mapping[str, str]) -> Path:
    return data_dir_of(env) / "skills"


def repository_dir(checkouts: Path, source: SkillSourceConfig) -> Path:
    """The directory of one repository's part; addresses have characters that file names have not."""
    return checkouts / sha256(f"{source.git}\n{source.dir}".encode()).hexdigest()[:32]


def checkout_dir(checkouts: Path, source: SkillSourceConfig, commit: str) -> Path:
    return repository_dir(checkouts, source) / commit


def git_place(checkouts: Path, source: SkillSourceConfig, commit: str) -> Place:
    """The skills of one commit."""
    shown = f"{source.git}@{commit[:SHORT_COMMIT]}" + ("" if source.dir == "." else f":{source.dir}")
    return Place(checkout_dir(checkouts, source, commit), shown, str(source.git), commit)
