"""Output for a terminal: text without control characters, and errors as sentences; options that name a member of an enum."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from enum import StrEnum
from typing import TypeVar

import typer

from tarsy.kit.groups import leaves

# All but tab and line feed. A log line could otherwise clear the screen, rename the window or overwrite earlier output.
_COMMANDS = dict.fromkeys((*range(0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0)))
# Marks the status of a session whose analysis is partial.
PARTIAL = " (partial)"


def harmless(text: str) -> str:
    """Return `text` without control characters."""
    return text.translate(_COMMANDS)


Choice = TypeVar("Choice", bound=StrEnum)


def parse_choice(kind: type[Choice], name: str, given: str | None) -> tuple[Choice, ...]:
    """Parse the option `name`, a member of an enum; an unknown one ends the command. Return nothing if it was not given."""
    if given is not None and given not in set(kind):
        typer.echo(f"There is no {name} {given!r}; there are: {', '.join(kind)}.", err=True)
        raise typer.Exit(2)
    return (kind(given),) if given else ()


class ServerRefusedError(Exception):
    """The server rejected a request or did not answer; the text says why."""


@contextmanager
def explained() -> Generator[None]:
    """Print expected errors as a sentence and exit with 1; unexpected ones keep their traceback."""
    try:
        yield
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        first = next(leaves(error))
        if isinstance(first, _explained_errors()):
            text = str(first)
        elif isinstance(first, OSError) and first.filename:
            # A file that cannot be read or written.
            text = f"{first.filename}: {first.strerror}"
        else:
            raise
        sys.stderr.write(f"{harmless(text)}\n")
        sys.exit(1)


def _explained_errors() -> tuple[type[Exception], ...]:
    from tarsy.api.tokens import TokenSettingError
    from tarsy.config.problems import ConfigError
    from tarsy.db.connection import DatabaseUnavailableError
    from tarsy.evals.cases import EvalError
    from tarsy.llm.providers.replay import RecordingUnreadableError
    from tarsy.session.playback import NotReplayableError
    from tarsy.settings import CannotServeError
    from tarsy.skills.git import GitError

    return (
        ConfigError,
        TokenSettingError,
        CannotServeError,
        GitError,
        DatabaseUnavailableError,
        ServerRefusedError,
        NotReplayableError,
        EvalError,
        RecordingUnreadableError,
    )
