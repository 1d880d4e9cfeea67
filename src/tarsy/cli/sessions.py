"""`tarsy sessions`: list, show and erase sessions."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from tarsy.cli.db import ACTOR, DatabaseUrl, DataDir, with_upgraded_engine
from tarsy.cli.terminal import PARTIAL, harmless, parse_choice

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy.ext.asyncio import AsyncEngine

    from tarsy.domain.history import ExecutionRecord, StageRecord
    from tarsy.domain.verdict import JudgedVerdict


app = typer.Typer(no_args_is_help=True)

# Repeated here: importing the enum would make `tarsy --help` slow.
SORT_HELP = (
    "Sort by: created, queue, alert_type, severity, outcome, confidence, citations, agents, fallbacks, questions, score, "
    "duration, tokens or cost."
)
# A century.
MAX_DAYS = 36_500
# One line of a wide terminal.
LINE_LENGTH = 160


@app.command("list")
def list_sessions(
    limit: Annotated[int, typer.Option(min=1, max=500, help="At most this many.")] = 20,
    status: Annotated[str | None, typer.Option(help="Only sessions with this status.", show_default="all")] = None,
    outcome: Annotated[str | None, typer.Option(help="Only verdicts with this outcome.", show_default="all")] = None,
    confidence: Annotated[str | None, typer.Option(help="Only verdicts with this confidence.", show_default="all")] = None,
    affected: Annotated[
        str | None,
        typer.Option("--object", help="Only verdicts that blame this object: a name, or Kind/namespace/name.", show_default="all"),
    ] = None,
    sort: Annotated[str, typer.Option(help=SORT_HELP)] = "created",
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
) -> None:
    """List sessions, newest first unless --sort says otherwise."""
    from tarsy.db.session.listing import SessionFilter
    from tarsy.db.session.repository import SessionRepository
    from tarsy.db.session.sorting import SessionOrder, SessionSort
    from tarsy.domain.status import SessionStatus
    from tarsy.domain.verdict import Confidence, VerdictOutcome

    where = SessionFilter(
        statuses=parse_choice(SessionStatus, "status", status),
        outcomes=parse_choice(VerdictOutcome, "outcome", outcome),
        confidences=parse_choice(Confidence, "confidence", confidence),
        affected=affected,
    )
    (by,) = parse_choice(SessionSort, "sort", sort)
    order = SessionOrder.of(by, None)
    page = with_upgraded_engine(lambda engine: SessionRepository(engine).list(where, limit=limit, order=order), database_url, data_dir)
    for session in page.sessions:
        when = f"{session.created_at:%Y-%m-%d %H:%MZ}"
        state = session.position.waiting_reason or (session.cancelled_by and f"cancelled by {session.cancelled_by}")
        waits = f"  ({state})" if state else ""
        cost = f"{session.cost}  " if str(session.cost) else ""
        about = f"{session.alert_type}  {session.title}{waits}{_verdict(session.verdict)}"
        status = f"{session.status}{PARTIAL if session.analysis_is_partial else ''}"
        typer.echo(harmless(f"{session.id}  {when}  {status:<12}  {cost}{about}"))
    if not page.sessions:
        typer.echo("There are no sessions.")


def _verdict(judged: "JudgedVerdict | None") -> str:
    """Summarise a verdict in a few words."""
    if judged is None:
        return ""
    affected = f" {judged.verdict.object}" if judged.verdict.object else ""
    return f"  [{judged.verdict.outcome}{affected}, confidence {judged.confidence}]"


@app.command()
def show(
    session_id: Annotated[str, typer.Argument(metavar="ID", help="The session.", show_default=False)],
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
) -> None:
    """Show the stages of a session with their agents and sub-agents, their tasks and how they ended."""
    from tarsy.db.run.history import SessionHistory

    (wanted,) = _session_ids([session_id])
    records = with_upgraded_engine(lambda engine: SessionHistory(engine).timelines(wanted), database_url, data_dir)
    if not records:
        typer.echo("There is no such session, or it has not begun.", err=True)
        raise typer.Exit(1)
    for line in tree_lines(records):
        typer.echo(harmless(line))


def tree_lines(stages: "Sequence[StageRecord]") -> Iterator[str]:
    """Yield the stages of a session, their agents and sub-agents as indented lines."""
    for record in stages:
        yield f"{record.stage.stage_name}  ({record.stage.status})"
        for execution in record.executions:
            yield from _agent_lines(execution, "  ")


def _agent_lines(record: "ExecutionRecord", indent: str) -> Iterator[str]:
    from tarsy.kit.text import clip

    def short(text: str) -> str:
        return clip(" ".join(text.split()), LINE_LENGTH, notice="…")

    execution = record.execution
    sent = f"[{execution.dispatched_by}] " if execution.dispatched_by else ""
    yield f"{indent}{sent}{execution.agent_name}  ({execution.status}, {execution.model_name})"
    if execution.task:
        yield f"{indent}  task: {short(execution.task)}"
    for child in record.children:
        yield from _agent_lines(child, f"{indent}  ")
    if ended := record.conclusion or execution.error_message:
        yield f"{indent}  {'said' if record.conclusion else 'why'}: {short(ended)}"


@app.command()
def purge(
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="Sessions to erase.", show_default=False)] = None,
    older_than: Annotated[
        int | None, typer.Option(min=0, max=MAX_DAYS, metavar="DAYS", help="Erase all that ended more than this many days ago.")
    ] = None,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
) -> None:
    """Erase finished sessions and everything stored about them. Only the audit log keeps a record."""
    from tarsy.db.retention import PostgresRetentionStore

    if bool(ids) == (older_than is not None):
        typer.echo("Name sessions by id, or say --older-than DAYS.", err=True)
        raise typer.Exit(2)
    if older_than is None:
        _purge_by_id(ids or [], yes=yes, url=database_url, data_dir=data_dir)
        return
    days = older_than
    count = with_upgraded_engine(lambda engine: PostgresRetentionStore(engine).count_sessions(days=days), database_url, data_dir)
    if count and not yes:
        typer.confirm(f"Erase {count} sessions that ended more than {days} days ago? This cannot be undone.", abort=True)
    erased = with_upgraded_engine(
        lambda engine: PostgresRetentionStore(engine).erase_sessions(days=days, actor=ACTOR, hidden_only=False), database_url, data_dir
    )
    typer.echo(f"Erased {erased} sessions.")


def _session_ids(ids: list[str]) -> list[str]:
    from uuid import UUID

    try:
        return [str(UUID(text)) for text in ids]
    except ValueError as error:
        typer.echo("A session's id looks like 01234567-89ab-cdef-0123-456789abcdef; `tarsy sessions list` shows them.", err=True)
        raise typer.Exit(2) from error


def _purge_by_id(ids: list[str], *, yes: bool, url: str | None, data_dir: "Path | None") -> None:
    from tarsy.db.errors import ConflictError, NotFoundError
    from tarsy.db.session.repository import SessionRepository

    wanted = _session_ids(ids)
    if not yes:
        typer.confirm(f"Erase {len(wanted)} session{'s' if len(wanted) > 1 else ''}? This cannot be undone.", abort=True)

    async def erase(engine: "AsyncEngine") -> int:
        failures = 0
        for session_id in wanted:
            try:
                await SessionRepository(engine).purge(session_id, actor=ACTOR)
            except (NotFoundError, ConflictError) as error:
                failures += 1
                typer.echo(str(error), err=True)
        return failures

    failures = with_upgraded_engine(erase, url, data_dir)
    typer.echo(f"Erased {len(wanted) - failures} sessions.")
    raise typer.Exit(1 if failures else 0)
