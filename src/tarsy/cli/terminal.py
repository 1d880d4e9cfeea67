"""Output for a terminal: tables, text without control characters, and errors as sentences; options that name a member of an enum."""

import sys
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, TypeVar, overload

import typer

from tarsy import __version__
from tarsy.kit.groups import leaves

# Columns up to this width are not wrapped: ids, times, states, amounts, most names.
_WHOLE = 20
# Wider than any row.
_UNLIMITED = 100_000

# All but tab and line feed. A log line could otherwise clear the screen, rename the window or overwrite earlier output.
_COMMANDS = dict.fromkeys((*range(0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0)))


def without_control_characters(text: str) -> str:
    """Return `text` without control characters."""
    return text.translate(_COMMANDS)


def print_table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows under headers. In a terminal long columns are wrapped; otherwise they are not, for programs that read it. Nothing is cut off."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    cells = [[Text(without_control_characters(cell)) for cell in row] for row in rows]
    for number, header in enumerate(headers):
        widest = max([len(header), *(row[number].cell_len for row in cells)])
        table.add_column(header, no_wrap=widest <= _WHOLE, min_width=min(widest, _WHOLE), overflow="fold")
    for row in cells:
        table.add_row(*row)
    console = Console()
    # In a terminal that is too narrow, rich would cut off ids and amounts: lines are printed whole, and continue on its next line.
    if console.is_terminal and console.width >= sum((column.min_width or 0) + 2 for column in table.columns):
        console.print(table)
        return
    console = Console(width=_UNLIMITED, color_system=None)
    with console.capture() as printed:
        console.print(table)
    for line in printed.get().splitlines():
        typer.echo(line.rstrip())


def short_id(value: str) -> str:
    """Return as much of an id as a person needs; the whole id if the output is not a terminal."""
    return value[:8] if sys.stdout.isatty() else value


def object_name(affected: Mapping[str, str] | None) -> str:
    """Return an object of a verdict as `Kind/namespace/name`."""
    named = affected or {}
    return "/".join(part for part in (named.get("kind"), named.get("namespace"), named.get("name")) if part)


def session_status(status: str, session: Mapping[str, Any]) -> str:
    """Return the status of a session for people; one whose analysis is partial says so."""
    return f"{status} (partial)" if session["analysis_is_partial"] else status


def minute(time: str | None) -> str:
    """Return a time of the API for people."""
    return f"{datetime.fromisoformat(time).astimezone(UTC):%Y-%m-%d %H:%MZ}" if time else ""


def cost_text(cost: Mapping[str, Any]) -> str:
    """Return a cost of the API for people; empty if there is none."""
    from tarsy.domain.usage import Spending

    usd = cost.get("usd")
    return str(Spending(None if usd is None else Decimal(str(usd)), cost.get("unpriced_calls", 0), cost.get("estimated_calls", 0)))


Choice = TypeVar("Choice", bound=StrEnum)


@overload
def parse_choice(kind: type[Choice], name: str, given: str) -> Choice: ...
@overload
def parse_choice(kind: type[Choice], name: str, given: str | None) -> Choice | None: ...
def parse_choice(kind: type[Choice], name: str, given: str | None) -> Choice | None:
    """Parse the option `name`, a member of an enum; an unknown one ends the command. None stays None."""
    if given is None:
        return None
    if given not in set(kind):
        typer.echo(f"There is no {name} {given!r}; there are: {', '.join(kind)}.", err=True)
        raise typer.Exit(2)
    return kind(given)


class ServerRefusedError(Exception):
    """The server rejected a request or did not answer; the text says why."""


class OtherVersionError(ServerRefusedError):
    """An answer of the server lacks a field, or has it in another form."""

    def __init__(self, url: str, name: str) -> None:
        super().__init__(f"The answer of {url} lacks `{name}` as TARSy {__version__}, this command, expects it")
        self.url = url


@contextmanager
def explained() -> Generator[None]:
    """Print expected errors as a sentence and exit with 1; unexpected ones keep their traceback."""
    try:
        yield
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        first = next(leaves(error))
        if isinstance(first, ServerRefusedError) or isinstance(first, _explained_errors()):  # noqa: SIM101 - only the first is quick to import
            text = str(first)
            if isinstance(first, OtherVersionError):
                version = _server_version(first.url)
                # With the same version of both, it is a bug of ours.
                if version == __version__:
                    raise
                text += f": the server is {f'TARSy {version}' if version else 'another version of TARSy, or not TARSy'}. Use the same version of both."
        elif isinstance(first, OSError) and first.filename:
            # A file that cannot be read or written.
            text = f"{first.filename}: {first.strerror}"
        else:
            raise
        sys.stderr.write(f"{without_control_characters(text)}\n")
        sys.exit(1)


def _server_version(url: str) -> str | None:
    """Return the version of the server that answers at this address of the API, if it tells one."""
    import httpx

    try:
        answer = httpx.get(f"{url.partition('/api/')[0]}/health", timeout=5, trust_env=False, verify=url.startswith("https:")).json()
        return str(answer["version"])
    except (httpx.HTTPError, KeyError, TypeError, ValueError):
        return None


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
        NotReplayableError,
        EvalError,
        RecordingUnreadableError,
    )
