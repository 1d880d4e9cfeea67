"""Files that people may name: those of one folder, and no others."""

from pathlib import Path


def file_within(folder: Path, name: str) -> Path | None:
    """The file of that name, if it is really inside `folder`."""
    root = folder.resolve()
    try:
        file = (root / name).resolve()
        return file if file.is_relative_to(root) and file.is_file() else None
    except (OSError, ValueError):
        # A name that no file can have: too long, or with a NUL.
        return None
