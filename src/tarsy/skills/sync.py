"""Bringing skills from Git here: what is accepted at the start, what is new by `tarsy skills sync`, and the operator's word on it."""

import difflib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tarsy.config.load.environment import fill_in, find_directory, with_dotenv
from tarsy.config.load.loader import tarsy_source
from tarsy.config.load.skill_catalog import (
    DEFAULT_BRANCH,
    LOCK_FILE,
    SkillLock,
    checkout_dir,
    checkouts_dir,
    git_place,
    read_lock,
    repository_dir,
    skill_sources,
)
from tarsy.config.load.skill_files import read_skills
from tarsy.config.parsed_data import mapping_at
from tarsy.config.problems import ConfigError, Problem
from tarsy.config.schema.skills import SkillSourceConfig, is_commit
from tarsy.config.schema.system import GithubConfig
from tarsy.skills.git import Git, GitError, write_checkout

_WAITING = "waiting.json"


@dataclass(frozen=True, slots=True)
class Repositories:
    """The Git sources of a configuration, and where their commits lie."""

    directory: Path
    sources: tuple[SkillSourceConfig, ...]
    lock: SkillLock
    checkouts: Path
    git: Git


@dataclass(frozen=True, slots=True)
class Synced:
    """One source after a look at its repository: what is used, and what is new if anything is."""

    source: SkillSourceConfig
    used: str | None
    waiting: str | None = None
    changes: str = ""
    problems: tuple[Problem, ...] = ()


def repositories(directory: Path | None, env: Mapping[str, str]) -> Repositories | None:
    """The Git sources of the configuration; None where there is no file, or none of them.

    Raises:
        ConfigError: a directory was named that holds no configuration.
    """
    found = find_directory(directory, with_dotenv(env, None))
    if found is None:
        return None
    full_env = with_dotenv(env, found)
    data = fill_in(tarsy_source(found).data, full_env).data
    sources = tuple(source for _, source in skill_sources(data) if source.git)
    if not sources:
        return None
    token_env = mapping_at(mapping_at(data, "system"), "github").get("token_env") or GithubConfig().token_env
    git = Git(full_env, github_token=full_env.get(str(token_env)))
    return Repositories(found, sources, read_lock(found), checkouts_dir(full_env), git)


def fetch_accepted(here: Repositories) -> None:
    """Bring every accepted commit that is not here yet. What was never accepted is left for the operator.

    Raises:
        GitError: a repository could not be read; the text names it.
    """
    for source in here.sources:
        commit = here.lock.commit_of(source)
        if commit and not checkout_dir(here.checkouts, source, commit).is_dir():
            _fetch(here, source, commit)


def bring_accepted(directory: Path | None, env: Mapping[str, str]) -> None:
    """What a start and a reload do before they read the configuration.

    Raises:
        ConfigError: a directory was named that holds no configuration, or an accepted commit cannot be had.
    """
    if (here := repositories(directory, env)) is None:
        return
    try:
        fetch_accepted(here)
    except GitError as error:
        raise ConfigError([Problem(str(here.directory), 0, "skills", str(error))]) from error


def sync(here: Repositories) -> Iterator[Synced | GitError]:
    """Look at every repository: bring what is accepted, and for branches and tags also what is new, to be accepted or not."""
    for source in here.sources:
        try:
            yield _sync(here, source)
        except GitError as error:
            yield error


def _sync(here: Repositories, source: SkillSourceConfig) -> Synced:
    used = here.lock.commit_of(source)
    if used:
        _fetch(here, source, used)
    if source.ref and is_commit(source.ref):
        return Synced(source, used)
    newest = _fetch(here, source, source.ref or DEFAULT_BRANCH)
    _note_waiting(here, source, newest)
    if newest == used:
        return Synced(source, used)
    before = _texts(checkout_dir(here.checkouts, source, used)) if used else None
    changes = difference(before or {}, _texts(checkout_dir(here.checkouts, source, newest)))
    return Synced(source, used, newest, changes, _problems(here, source, newest))


def accept(here: Repositories) -> tuple[SkillLock, list[Synced]]:
    """Take what the last `sync` has shown, and nothing newer; returns the new lock, written to the configuration directory, and what it changed.

    Raises:
        GitError: a skill that waits is malformed.
    """
    lock, taken = here.lock, list[Synced]()
    for source in here.sources:
        waiting = _waiting(here, source).get(source.ref or DEFAULT_BRANCH)
        if (source.ref and is_commit(source.ref)) or waiting is None or waiting == lock.commit_of(source):
            continue
        if problems := _problems(here, source, waiting):
            raise GitError(f"{source.git} cannot be accepted:\n" + "\n".join(map(str, problems)))
        taken.append(Synced(source, lock.commit_of(source), waiting))
        lock = lock.accepting(source, waiting)
    if taken:
        (here.directory / LOCK_FILE).write_text(lock.written(), encoding="utf-8")
    return lock, taken


def _fetch(here: Repositories, source: SkillSourceConfig, ref: str) -> str:
    """Bring a commit, or the newest of a branch or tag, and say which it is."""
    if is_commit(ref) and checkout_dir(here.checkouts, source, ref).is_dir():
        return ref
    address = str(source.git)
    try:
        with here.git.fetched(address, ref) as repository:
            commit = repository.commit()
            write_checkout(here.checkouts, source, repository, commit)
    except GitError as error:
        raise GitError(f"skills of {address} ({ref}): {error}") from error
    return commit


def _problems(here: Repositories, source: SkillSourceConfig, commit: str) -> tuple[Problem, ...]:
    return tuple(read_skills(git_place(here.checkouts, source, commit)).problems)


def _texts(root: Path) -> Mapping[str, str]:
    files = (file for file in sorted(root.rglob("*")) if file.is_file())
    return {file.relative_to(root).as_posix(): file.read_bytes().decode(errors="replace") for file in files}


def _waiting(here: Repositories, source: SkillSourceConfig) -> dict[str, str]:
    """The commit by ref that the operator was shown last."""
    file = repository_dir(here.checkouts, source) / _WAITING
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def _note_waiting(here: Repositories, source: SkillSourceConfig, commit: str) -> None:
    file = repository_dir(here.checkouts, source) / _WAITING
    file.write_text(json.dumps(_waiting(here, source) | {source.ref or DEFAULT_BRANCH: commit}), encoding="utf-8")


def difference(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """What a new commit would change for agents: its files compared with those in use, in the form of `diff -u`; empty if they are the same."""
    return "".join(line for path in sorted({*before, *after}) for line in _changed(path, before.get(path), after.get(path)))


def _changed(path: str, before: str | None, after: str | None) -> Iterator[str]:
    names = (f"a/{path}" if before is not None else "/dev/null", f"b/{path}" if after is not None else "/dev/null")
    lines = ((before or "").splitlines(keepends=True), (after or "").splitlines(keepends=True))
    for line in difflib.unified_diff(*lines, *names):
        yield line if line.endswith("\n") else f"{line}\n"
