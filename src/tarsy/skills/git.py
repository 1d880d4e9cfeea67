"""The `git` program, held short: https and ssh only, no question at a terminal, no hooks, and nothing is ever checked out.

GitError      the repository could not be read; the operator can act
"""

import subprocess
import tempfile
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from tarsy.config.load.skill_catalog import checkout_dir
from tarsy.config.load.skill_files import MAX_FILE_BYTES, MAX_FILES
from tarsy.config.schema.skills import SkillSourceConfig
from tarsy.domain.skill import MAIN_FILE

# Enough for a large repository on a slow line; a start that waits for longer is better told.
FETCH_SECONDS = 120.0
# The modes of entries that are no files.
_SYMLINK, _SUBMODULE = "120000", "160000"
# Names of ours in a repository that is thrown away.
_WANTED, _REMOTE_HEAD = "refs/tarsy/wanted", "refs/tarsy/head"
# What Git may need of our environment: the way out, the certificates, the keys. The models' keys are none of its business.
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

    @property
    def is_symlink(self) -> bool:
        return self.mode == _SYMLINK

    @property
    def is_submodule(self) -> bool:
        return self.mode == _SUBMODULE


@dataclass(frozen=True, slots=True)
class Git:
    """Runs `git` with what `env` gives it. `protocols` as Git names them."""

    env: Mapping[str, str] = field(repr=False)
    protocols: str = "https:ssh"
    # Sent to github.com alone, as the runbooks' is.
    github_token: str | None = field(default=None, repr=False)

    @contextmanager
    def fetched(self, address: str, ref: str) -> Generator["FetchedRepository"]:
        """A bare repository that holds the commit, branch or tag, for as long as it is looked at.

        Raises:
            GitError: there is no such repository or ref, it cannot be reached, or there is no `git`.
        """
        with tempfile.TemporaryDirectory(prefix="tarsy-skills-") as directory:
            repository = FetchedRepository(self, Path(directory))
            self.run(repository.directory, "init", "--bare", "--quiet", "--template=")
            repository.fetch(address, ref)
            yield repository

    def run(self, directory: Path, *arguments: str, binary: bool = False) -> bytes:
        settings = ("-c", "core.hooksPath=/dev/null", "-c", "transfer.fsckObjects=true", "-c", "core.fsmonitor=false")
        command = ["git", "--git-dir", str(directory), *settings, *arguments]
        try:
            done = subprocess.run(  # noqa: S603 - a fixed program; addresses and refs were checked, and stand behind `--`
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
            raise GitError(_reason(done.stderr.decode(errors="replace")))
        return done.stdout if binary else done.stdout.strip()

    def _environment(self) -> dict[str, str]:
        own = {
            "GIT_ALLOW_PROTOCOL": self.protocols,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_SSH_COMMAND": "ssh -o BatchMode=yes",
            "GIT_CONFIG_NOSYSTEM": "1",
            "LC_ALL": "C",
        }
        return {name: value for name, value in self.env.items() if name in _PASSED_ON} | own | self._credentials()

    def _credentials(self) -> dict[str, str]:
        """The token as a setting in the environment: on a command line all accounts of the machine could read it."""
        if not self.github_token:
            return {}
        from base64 import b64encode  # noqa: PLC0415 - only where there is a token

        basic = b64encode(f"x-access-token:{self.github_token}".encode()).decode()
        header = "http.https://github.com/.extraHeader"
        return {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": header, "GIT_CONFIG_VALUE_0": f"Authorization: Basic {basic}"}


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
            self._mark_wanted(address, _REMOTE_HEAD if ref == "HEAD" else ref)

    def _mark_wanted(self, address: str, ref: str) -> None:
        try:
            self.git.run(self.directory, "update-ref", _WANTED, self._commit(ref))
        except GitError:
            raise GitError(f"there is no commit, branch or tag {ref} in {address}") from None

    def commit(self) -> str:
        return self._commit(_WANTED)

    def _commit(self, ref: str) -> str:
        return self.git.run(self.directory, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}").decode()

    def entries(self, commit: str, directory: str) -> Iterator[TreeEntry]:
        """Everything below `directory`, by its path within it."""
        for line in self._listed(commit, directory).split(b"\0"):
            if line:
                head, _, path = line.decode(errors="surrogateescape").partition("\t")
                mode, _, object_id = head.split()
                yield TreeEntry(path, object_id, mode)

    def _listed(self, commit: str, directory: str) -> bytes:
        tree = commit if directory == "." else f"{commit}:{directory}"
        try:
            return self.git.run(self.directory, "ls-tree", "-r", "-z", "--full-tree", tree, binary=True)
        except GitError:
            raise GitError(f"there is no directory {directory} in it") from None

    def read(self, entry: TreeEntry) -> bytes:
        return self.git.run(self.directory, "cat-file", "blob", entry.object_id, binary=True)

    def size(self, entry: TreeEntry) -> int:
        return int(self.git.run(self.directory, "cat-file", "-s", entry.object_id))


def _reason(text: str) -> str:
    """The line that says what is wrong; Git adds advice after it."""
    lines = [line.removeprefix("fatal: ").removeprefix("error: ") for line in text.splitlines() if line.strip()]
    return lines[0] if lines else "git failed without a word"


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
