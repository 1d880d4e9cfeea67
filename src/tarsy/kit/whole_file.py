"""Files that are written in one move."""

import os
from pathlib import Path
from tempfile import NamedTemporaryFile


def write_whole(target: Path, content: bytes, mode: int) -> None:
    """Write a file: neither a reader nor a crash finds half of it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    # The temporary file is readable only by its owner; its mode is changed before it gets its name.
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
