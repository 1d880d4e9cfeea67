"""Synchronises skills with their Git repositories: accepted commits at the start, new ones by `tarsy skills sync` and `tarsy skills accept`."""

import difflib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tarsy.config.load.environment import expand_templates, find_directory, with_dotenv
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
from tarsy.config.load.skill_files import MAX_FILE_BYTES, read_skills
from tarsy.config.parsed_data import mapping_at
from tarsy.config.problems import ConfigError, Problem
from tarsy.config.schema.skills import SkillSourceConfig, is_commit
from tarsy.config.schema.system import GithubConfig
from tarsy.kit.whole_file import write_whole
from tarsy.skills.git import Git, GitError, write_checkout

_WAITING = "waiting.json"
# Of the files written here: commits are no secrets.
_MODE = 0o644


@dataclass(frozen=True, slots=True)
class GitSources:
    """The Git sources of a configuration, and the directory of their checkouts."""

    directory: Path
    sources: tuple[SkillSourceConfig, ...]
    lock: SkillLock
    checkouts: Path
    git: Git


@dataclass(frozen=True, slots=True)
class SyncedSource:
    """One source after its repository was fetched: the commit in use, and the one that waits to be accepted."""

    source: SkillSourceConfig
    used: str | None
    waiting: str | None = None
    changes: str = ""
    problems: tuple[Problem, ...] = ()


def git_sources(directory: Path | None, env: Mapping[str, str]) -> GitSources | None:
    """Return the Git sources of the configuration; None if there is no configuration file or no such source.

    Raises:
        ConfigError: a directory was named that has no configuration.
    """
    found = find_directory(directory, with_dotenv(env, None))
    if found is None:
        return None
    full_env = with_dotenv(env, found)
    data = expand_templates(tarsy_source(found).data, full_env).data
    sources = tuple(source for _, source in skill_sources(data) if source.git)
    if not sources:
        return None
    token_env = mapping_at(mapping_at(data, "system"), "github").get("token_env") or GithubConfig().token_env
    git = Git(full_env, github_token=full_env.get(str(token_env)))
    return GitSources(found, sources, read_lock(found), checkouts_dir(full_env), git)


def fetch_accepted(configured: GitSources) -> None:
    """Fetch every accepted commit that has no checkout yet.

    Raises:
        GitError: a repository could not be read; the text names it.
    """
    for source in configured.sources:
        commit = configured.lock.commit_of(source)
        if commit and not checkout_dir(configured.checkouts, source, commit).is_dir():
            _fetch(configured, source, commit)


def fetch_skills(directory: Path | None, env: Mapping[str, str]) -> None:
    """Fetch the accepted commits before a start or a reload loads the configuration.

    Raises:
        ConfigError: a directory was named that has no configuration, or an accepted commit cannot be fetched.
    """
    if (configured := git_sources(directory, env)) is None:
        return
    try:
        fetch_accepted(configured)
    except GitError as error:
        raise ConfigError([Problem(str(configured.directory), 0, "skills", str(error))]) from error


def sync(configured: GitSources) -> Iterator[SyncedSource | GitError]:
    """Fetch every repository: its accepted commit and, for branches and tags, the newest one, which waits to be accepted."""
    for source in configured.sources:
        try:
            used = configured.lock.commit_of(source)
            if used:
                _fetch(configured, source, used)
            if source.ref and is_commit(source.ref):
                yield SyncedSource(source, used)
                continue
            newest = _fetch(configured, source, source.ref or DEFAULT_BRANCH)
            waiting = _waiting(configured, source) | {source.ref or DEFAULT_BRANCH: newest}
            write_whole(repository_dir(configured.checkouts, source) / _WAITING, json.dumps(waiting).encode(), _MODE)
            if newest == used:
                yield SyncedSource(source, used)
                continue
            before = _texts(checkout_dir(configured.checkouts, source, used)) if used else dict[str, str]()
            changes = difference(before, _texts(checkout_dir(configured.checkouts, source, newest)))
            yield SyncedSource(source, used, newest, changes, _problems(configured, source, newest))
        except GitError as error:
            yield error


def accept(configured: GitSources) -> list[SyncedSource]:
    """Accept what the last `sync` has shown, and nothing newer: write it to the lock file, and return the accepted sources.

    Raises:
        GitError: a skill that waits is malformed, or the last `sync` showed different commits for directories of one branch or tag.
    """
    lock, accepted = configured.lock, list[SyncedSource]()
    for source in configured.sources:
        ref = source.ref or DEFAULT_BRANCH
        waiting = _waiting(configured, source).get(ref)
        if is_commit(ref) or waiting is None or waiting == lock.commit_of(source):
            continue
        # The lock file has one commit for all directories of a branch.
        of_same_ref = [other for other in configured.sources if (other.git, other.ref or DEFAULT_BRANCH) == (source.git, ref)]
        shown = {other.dir: _waiting(configured, other).get(ref) for other in of_same_ref}
        if len(set(shown.values())) > 1:
            each = ", ".join(f"{commit or 'none'} of {directory}" for directory, commit in shown.items())
            raise GitError(f"different commits of {source.git} were shown: {each}; for one that all have: tarsy skills sync")
        if problems := [problem for other in of_same_ref for problem in _problems(configured, other, waiting)]:
            raise GitError(f"{source.git} cannot be accepted:\n" + "\n".join(map(str, problems)))
        accepted.append(SyncedSource(source, lock.commit_of(source), waiting))
        lock = lock.accepting(source, waiting)
    if accepted:
        # A link leads to the file that the operator keeps.
        write_whole((configured.directory / LOCK_FILE).resolve(), lock.written().encode(), _MODE)
    return accepted


def _fetch(configured: GitSources, source: SkillSourceConfig, ref: str) -> str:
    """Fetch a commit, or the newest of a branch or tag, and return its id.

    Raises:
        GitError: it could not be read or stored; the text names the repository.
    """
    if is_commit(ref) and checkout_dir(configured.checkouts, source, ref).is_dir():
        return ref
    address = str(source.git)
    try:
        with configured.git.fetched(address, ref) as repository:
            commit = repository.commit()
            write_checkout(configured.checkouts, source, repository, commit)
    # An OSError: a disk that is full or cannot be written to.
    except (GitError, OSError) as error:
        raise GitError(f"skills of {address} ({ref}): {error}") from error
    return commit


def _problems(configured: GitSources, source: SkillSourceConfig, commit: str) -> tuple[Problem, ...]:
    return tuple(read_skills(git_place(configured.checkouts, source, commit)).problems)


def _texts(root: Path) -> Mapping[str, str]:
    """Return the files of a checkout that are small enough to be loaded."""
    files = (file for file in sorted(root.rglob("*")) if file.is_file() and file.stat().st_size <= MAX_FILE_BYTES)
    return {file.relative_to(root).as_posix(): file.read_bytes().decode(errors="replace") for file in files}


def _waiting(configured: GitSources, source: SkillSourceConfig) -> dict[str, str]:
    """Return the commit of each ref that the operator was shown last."""
    file = repository_dir(configured.checkouts, source) / _WAITING
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def difference(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """Return what a new commit would change for agents, in the form of `diff -u`; empty if the files are the same."""
    changed: list[str] = []
    for path in sorted({*before, *after}):
        old, new = before.get(path), after.get(path)
        names = (f"a/{path}" if old is not None else "/dev/null", f"b/{path}" if new is not None else "/dev/null")
        lines = difflib.unified_diff((old or "").splitlines(keepends=True), (new or "").splitlines(keepends=True), *names)
        changed += (line if line.endswith("\n") else f"{line}\n" for line in lines)
    return "".join(changed)
