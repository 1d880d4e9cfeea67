"""Files written all together or not at all, each in one move: a reader never finds half of one."""

import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile

# A file with keys is for the account that TARSy runs under, and for no other.
SECRET_MODE = 0o600
USUAL_MODE = 0o644


class CannotWriteError(Exception):
    """A file cannot be written; the operator can act."""

    def __init__(self, path: Path, error: OSError) -> None:
        super().__init__(f"{path} cannot be written: {error.strerror or error}")


@dataclass(frozen=True, slots=True)
class FileChange:
    """What a file is to hold. It may be a secret, so it is not shown."""

    path: Path
    text: str
    # For people: the file, and what in it is new, by name.
    told: str
    secret: bool = False

    def __repr__(self) -> str:
        return f"FileChange({self.told})"


@dataclass(frozen=True, slots=True)
class Former:
    """A file as it was; None: there was none."""

    path: Path
    content: bytes | None
    mode: int


def write_all(changes: Sequence[FileChange]) -> tuple[Former, ...]:
    """Write the files and answer with what they were.

    Raises:
        CannotWriteError: one of them cannot be written; the others are as they were.
    """
    done: list[Former] = []
    for change in changes:
        try:
            before = _former(change.path)
            _put(before.path, change.text.encode(), SECRET_MODE if change.secret else before.mode)
        except OSError as error:
            restore(done)
            raise CannotWriteError(change.path, error) from error
        done.append(before)
    return tuple(done)


def restore(formers: Sequence[Former]) -> None:
    """Make the files what they were."""
    for former in reversed(formers):
        # What could be written a moment ago can be written back; if not, the first error is the one to tell.
        with suppress(OSError):
            if former.content is None:
                former.path.unlink()
            else:
                _put(former.path, former.content, former.mode)


def _former(path: Path) -> Former:
    # A link stays a link: what it leads to is written.
    target = path.resolve()
    if not target.exists():
        return Former(target, None, USUAL_MODE)
    return Former(target, target.read_bytes(), stat.S_IMODE(target.stat().st_mode))


def _put(target: Path, content: bytes, mode: int) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    # Made readable for its owner alone, and opened to others, if at all, before it gets its name.
    with NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as written:
        temporary = Path(written.name)
        try:
            written.write(content)
            written.flush()
            os.fsync(written.fileno())
            temporary.chmod(mode)
            temporary.replace(target)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
