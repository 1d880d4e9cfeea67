"""What a person reads on a terminal: text without orders to it, and errors as sentences."""

import sys
from collections.abc import Generator
from contextlib import contextmanager

from tarsy.kit.groups import leaves

# All but tab and line feed. A log line could otherwise clear the screen, rename the window or paint over what was said.
_COMMANDS = dict.fromkeys((*range(0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0)))


def harmless(text: str) -> str:
    """`text` without the characters that a terminal obeys instead of showing."""
    return text.translate(_COMMANDS)


class ServerRefusedError(Exception):
    """The server said no, or nothing; the text says what and why."""


@contextmanager
def explained() -> Generator[None]:
    """Print what went wrong and exit with 1; anything unforeseen keeps its traceback, because it is a bug."""
    try:
        yield
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        text = _explanation(next(leaves(error)))
        if text is None:
            raise
        sys.stderr.write(f"{harmless(text)}\n")
        sys.exit(1)


def _explanation(error: BaseException) -> str | None:
    from tarsy.api.tokens import TokenSettingError
    from tarsy.config.problems import ConfigError
    from tarsy.db.connection import DatabaseUnavailableError
    from tarsy.llm.providers.replay import RecordingUnreadableError
    from tarsy.session.playback import NotReplayableError
    from tarsy.settings import CannotServeError
    from tarsy.skills.git import GitError

    settings = ConfigError | TokenSettingError | CannotServeError | GitError
    if isinstance(error, settings | DatabaseUnavailableError | ServerRefusedError | NotReplayableError | RecordingUnreadableError):
        return str(error)
    if isinstance(error, OSError) and error.filename:
        # A file that cannot be read or written.
        return f"{error.filename}: {error.strerror}"
    return None
