"""Skills from Git repositories by the `git` program: fetched over https or ssh, without prompts and hooks, and written as plain files.

A repository is never checked out: links, submodules and everything that could run are refused or left out.
"""

import subprocess
import tempfile
from base64 import b64encode
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from tarsy.config.load.skill_catalog import checkout_dir
from tarsy.config.load.skill_files import MAX_FILE_BYTES
from tarsy.config.schema.skills import SkillSourceConfig
from tarsy.domain.skill import MAIN_FILE

# Enough for a large repository on a slow line; a start that takes longer should fail.
FETCH_SECONDS = 120.0
# Skills of a hundred files each for a hundred teams.
MAX_REPOSITORY_FILES = 10_000
# Tree entries that are not files, by mode.
_NOT_FILES = {"120000": "link", "160000": "submodule"}
# Our names for refs, in a temporary repository.
_WANTED, _REMOTE_HEAD = "refs/tarsy/wanted", "refs/tarsy/head"
# The environment variables passed to Git: network, certificates, keys. It gets no keys of models.
_PASSED_ON = frozenset(
    {
        "PATH", "HOME", "LANG", "USER", "TMPDIR", "XDG_CONFIG_HOME", "SSH_AUTH_SOCK", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO",
        "HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "all_proxy", "no_proxy",
    }
)  # fmt: skip


class GitError(Exception):
    """The repository could not be read; the operator can act."""


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One entry of a commit: a file, a link or a submodule."""

    path: str
    object_id: str
    mode: str
    # In bytes; 0 for a submodule.
    size: int


@dataclass(frozen=True, slots=True)
class Git:
    """Runs `git` with the allowed part of `env`."""

    env: Mapping[str, str] = field(repr=False)
    # Sent to github.com only, as with runbooks.
    github_token: str | None = field(default=None, repr=False)

    @contextmanager
    def fetched(self, address: str, ref: str) -> Generator["FetchedRepository"]:
        """Yield a temporary bare repository that has the commit, branch or tag.

        Raises:
            GitError: there is no such repository or ref, it cannot be reached, or there is no `git`.
        """
        with tempfile.TemporaryDirectory(prefix="tarsy-skills-") as directory:
            repository = FetchedRepository(self, Path(directory))
            self.run(repository.directory, "init", "--bare", "--quiet", "--template=")
            repository.fetch(address, ref)
            yield repository

    def run(self, directory: Path, *arguments: str) -> bytes:
        """Run a command of Git and return its output.

        Raises:
            GitError: with the first line of Git's complaint.
        """
        settings = ("-c", "core.hooksPath=/dev/null", "-c", "transfer.fsckObjects=true", "-c", "core.fsmonitor=false")
        command = ["git", "--git-dir", str(directory), *settings, *arguments]
        try:
            done = subprocess.run(  # noqa: S603 - a fixed program; addresses and refs were validated, and come after `--`
                command,
                env=self._environment(),
                cwd=directory,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=FETCH_SECONDS,
                check=False,
            )
        except FileNotFoundError:
            raise GitError("the program git is not installed") from None
        except subprocess.TimeoutExpired:
            raise GitError(f"git did not finish within {FETCH_SECONDS:.0f} s") from None
        if done.returncode != 0:
            lines = [line for line in done.stderr.decode(errors="replace").splitlines() if line.strip()]
            # The first line says what is wrong; advice follows.
            raise GitError(lines[0].removeprefix("fatal: ").removeprefix("error: ") if lines else "git failed without a message")
        return done.stdout

    def _environment(self) -> dict[str, str]:
        environment = {name: value for name, value in self.env.items() if name in _PASSED_ON} | {
            "GIT_ALLOW_PROTOCOL": "https:ssh",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_SSH_COMMAND": "ssh -o BatchMode=yes",
            "GIT_CONFIG_NOSYSTEM": "1",
            "LC_ALL": "C",
        }
        if self.github_token:
            # In the environment, because every account of the machine can read a command line.
            basic = b64encode(f"x-access-token:{self.github_token}".encode()).decode()
            header = "http.https://github.com/.extraHeader"
            environment |= {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": header, "GIT_CONFIG_VALUE_0": f"Authorization: Basic {basic}"}
        return environment


@dataclass(frozen=True, slots=True)
class FetchedRepository:
    git: Git
    directory: Path

    def fetch(self, address: str, ref: str) -> None:
        quiet = ("--quiet", "--no-tags", "--no-recurse-submodules")
        try:
            self.git.run(self.directory, "fetch", *quiet, "--depth=1", "--", address, f"+{ref}:{_WANTED}")
        except GitError:
            # Some servers give no single commits, and some protocols no part of the history.
            everything = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*", f"+HEAD:{_REMOTE_HEAD}")
            self.git.run(self.directory, "fetch", *quiet, "--", address, *everything)
            ref = _REMOTE_HEAD if ref == "HEAD" else ref
            try:
                self.git.run(self.directory, "update-ref", _WANTED, self.commit(ref))
            except GitError:
                raise GitError(f"there is no commit, branch or tag {ref} in {address}") from None

    def commit(self, ref: str = _WANTED) -> str:
        return self.git.run(self.directory, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}").decode().strip()

    def entries(self, commit: str, directory: str) -> Iterator[TreeEntry]:
        """Yield everything below `directory`, by its path within it."""
        tree = commit if directory == "." else f"{commit}:{directory}"
        try:
            listed = self.git.run(self.directory, "ls-tree", "-r", "-z", "--long", "--full-tree", tree)
        except GitError:
            raise GitError(f"there is no directory {directory} in it") from None
        for line in listed.split(b"\0"):
            if line:
                head, _, path = line.decode(errors="surrogateescape").partition("\t")
                mode, _, object_id, size = head.split()
                yield TreeEntry(path, object_id, mode, int(size) if size.isdecimal() else 0)

    def read(self, entry: TreeEntry) -> bytes:
        return self.git.run(self.directory, "cat-file", "blob", entry.object_id)


def write_checkout(checkouts: Path, source: SkillSourceConfig, repository: FetchedRepository, commit: str) -> Path:
    """Write the skills of a commit to disk, all of them or none.

    Raises:
        GitError: it has no skill, or a skill has a link or a submodule.
    """
    target = checkout_dir(checkouts, source, commit)
    if target.is_dir():
        return target
    entries = _skill_entries(tuple(repository.entries(commit, source.dir)))
    if not entries:
        raise GitError(f"there is no skill in {source.dir} (a directory with a {MAIN_FILE})")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".incoming-", dir=target.parent) as incoming:
        root = Path(incoming) / commit
        for entry in entries:
            file = root / entry.path
            file.parent.mkdir(parents=True, exist_ok=True)
            # What is too large is not read: any file of this size makes the loader report it.
            file.write_bytes(repository.read(entry) if entry.size <= MAX_FILE_BYTES else bytes(MAX_FILE_BYTES + 1))
        try:
            root.rename(target)
        except OSError:
            # Another process was quicker; the same commit has the same files.
            if not target.is_dir():
                raise
    return target


def _skill_entries(entries: Sequence[TreeEntry]) -> Sequence[TreeEntry]:
    """Return the entries of all directories that have a SKILL.md directly in them, without hidden ones.

    Raises:
        GitError: one of them is not a file with a plain path, or there are too many.
    """
    skills = {path.parts[0] for entry in entries if (path := PurePosixPath(entry.path)).name == MAIN_FILE and len(path.parts) == 2}
    found: list[TreeEntry] = []
    for entry in entries:
        parts = PurePosixPath(entry.path).parts
        if len(parts) == 1 or parts[0] not in skills or any(part.startswith(".") for part in parts):
            continue
        if entry.mode in _NOT_FILES:
            raise GitError(f"{entry.path} is a {_NOT_FILES[entry.mode]}, and skills are plain files")
        if "\\" in entry.path or not entry.path.isprintable():
            raise GitError(f"{entry.path!r} is not a plain path")
        found.append(entry)
    if len(found) > MAX_REPOSITORY_FILES:
        raise GitError(f"there are more than {MAX_REPOSITORY_FILES} files in its skills")
    return found
