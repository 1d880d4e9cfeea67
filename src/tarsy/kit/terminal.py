"""The terminal that a process may have."""

import os


def has_terminal() -> bool:
    """Whether a person's terminal holds this process."""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True
