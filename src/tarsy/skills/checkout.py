"""Writes the skills of one commit to disk as plain files: no links, no submodules, nothing that could run."""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from tarsy.config.load.skill_catalog import checkout_dir
from tarsy.config.load.skill_files import MAX_FILE_BYTES, MAX_FILES
from tarsy.config.schema.skills import SkillSourceConfig
from tarsy.domain.skill import MAIN_FILE
from tarsy.skills.git import FetchedRepository, GitError, TreeEntry

# Skills of a hundred files each are reading matter for a hundred teams.
MAX_REPOSITORY_FILES = 10_000


def write_checkout(checkouts: Path, source: SkillSourceConfig, repository: FetchedRepository, commit: str) -> Path:
    """Write what agents may read of a commit, whole or not at all.

    Raises:
        GitError: it holds no skill, or a skill holds a link or a submodule.
    """
    target = checkout_dir(checkouts, source, commit)
    if target.is_dir():
        return target
    entries = tuple(_of_skills(tuple(repository.entries(commit, source.dir))))
    _refuse_what_is_no_file(entries)
    if not entries:
        raise GitError(f"there is no skill in {source.dir} (a directory with a {MAIN_FILE})")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".incoming-", dir=target.parent) as incoming:
        _write(repository, entries, Path(incoming) / commit)
        try:
            (Path(incoming) / commit).rename(target)
        except OSError:
            # Another process was quicker; the same commit holds the same files.
            if not target.is_dir():
                raise
    return target


def _of_skills(entries: Sequence[TreeEntry]) -> Iterator[TreeEntry]:
    """The entries that belong to a skill: those of a directory with a SKILL.md directly in it."""
    skills = {path.parts[0] for entry in entries if (path := PurePosixPath(entry.path)).name == MAIN_FILE and len(path.parts) == 2}
    for entry in entries:
        parts = PurePosixPath(entry.path).parts
        if len(parts) > 1 and parts[0] in skills and not any(part.startswith(".") for part in parts):
            yield entry


def _refuse_what_is_no_file(entries: Sequence[TreeEntry]) -> None:
    for entry in entries:
        if entry.is_symlink or entry.is_submodule:
            raise GitError(f"{entry.path} is a {'link' if entry.is_symlink else 'submodule'}, and skills are plain files")
        if ".." in PurePosixPath(entry.path).parts or "\\" in entry.path or not entry.path.isprintable():
            raise GitError(f"{entry.path!r} is not a plain path")
    if len(entries) > MAX_REPOSITORY_FILES:
        raise GitError(f"there are more than {MAX_REPOSITORY_FILES} files in its skills")


def _write(repository: FetchedRepository, entries: Sequence[TreeEntry], root: Path) -> None:
    written: dict[str, int] = {}
    for entry in entries:
        skill = PurePosixPath(entry.path).parts[0]
        # What no agent could load is not kept; a main file that is too large is, so that the problem can be told.
        is_main = entry.path == f"{skill}/{MAIN_FILE}"
        if not is_main and (written.get(skill, 0) > MAX_FILES or repository.size(entry) > MAX_FILE_BYTES):
            continue
        written[skill] = written.get(skill, 0) + 1
        file = root / entry.path
        file.parent.mkdir(parents=True, exist_ok=True)
        # One byte more than allowed is enough to be told as too large.
        file.write_bytes(repository.read(entry)[: MAX_FILE_BYTES + 1])
