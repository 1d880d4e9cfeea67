"""`tarsy report`: a session as a file to keep, send or print."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tarsy.cli.db import DatabaseUrl, DataDir, with_upgraded_engine
from tarsy.cli.terminal import harmless

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

    from tarsy.report.report import Report

_PAGES = frozenset({".html", ".htm"})
_MARKDOWN = frozenset({".md", ".markdown"})


def report(
    session_id: Annotated[str, typer.Argument(metavar="SESSION", help="The session's id.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where to write it: FILE.html or FILE.md.", show_default="standard output, as Markdown"),
    ] = None,
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
) -> None:
    """Write a session as one self-contained file: alert, verdict, analysis, questions, and every cited result."""
    from tarsy.report.html import as_html
    from tarsy.report.markdown import as_markdown

    suffix = output.suffix.lower() if output else ".md"
    if suffix not in _PAGES | _MARKDOWN:
        raise typer.BadParameter(f"{output}: a report is FILE.html or FILE.md.")

    async def read(engine: "AsyncEngine") -> "Report | None":
        return await _read(engine, session_id)

    found = with_upgraded_engine(read, database_url, data_dir)
    if found is None:
        typer.echo(f"There is no session {session_id} in this database.", err=True)
        raise typer.Exit(1)
    text = as_html(found) if suffix in _PAGES else as_markdown(found)
    if output:
        output.write_bytes(text.encode("utf-8", "replace"))
    else:
        sys.stdout.write(harmless(text))


async def _read(engine: "AsyncEngine", session_id: str) -> "Report | None":
    from uuid import UUID

    from tarsy.db.errors import NotFoundError
    from tarsy.db.repositories import SessionRepositories
    from tarsy.report.reading import read_report

    try:
        return await read_report(SessionRepositories.on(engine), str(UUID(session_id)))
    except (ValueError, NotFoundError):
        return None
