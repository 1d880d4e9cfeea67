"""`tarsy sessions`: list, show and erase sessions."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tarsy.cli.environment import DatabaseUrl, DataDir, ServerUrl, Session, Token
from tarsy.cli.terminal import (
    ServerRefusedError,
    cost_text,
    minute,
    object_name,
    parse_choice,
    print_table,
    session_status,
    short_id,
    without_control_characters,
)

if TYPE_CHECKING:
    from pathlib import Path


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
_CONCLUSIONS = frozenset({"final_analysis", "executive_summary"})


@app.command("list")
def list_sessions(  # noqa: PLR0913, PLR0917 - the options of a command
    limit: Annotated[int, typer.Option(min=1, max=500, help="At most this many.")] = 20,
    status: Annotated[str | None, typer.Option(help="Only sessions with this status.", show_default="all")] = None,
    outcome: Annotated[str | None, typer.Option(help="Only verdicts with this outcome.", show_default="all")] = None,
    confidence: Annotated[str | None, typer.Option(help="Only verdicts with this confidence.", show_default="all")] = None,
    affected: Annotated[
        str | None,
        typer.Option("--object", help="Only verdicts that blame this object: a name, or Kind/namespace/name.", show_default="all"),
    ] = None,
    unreviewed: Annotated[bool, typer.Option("--unreviewed", help="Only sessions with a verdict and without a review.")] = False,  # noqa: FBT002 - a flag
    sort: Annotated[str, typer.Option(help=SORT_HELP)] = "created",
    url: ServerUrl = None,
    token: Token = None,
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
) -> None:
    """List sessions, newest first unless --sort says otherwise."""
    from tarsy.cli.client import call_server_or_database
    from tarsy.domain.session_sort import SessionSort
    from tarsy.domain.status import SessionStatus
    from tarsy.domain.verdict import Confidence, VerdictOutcome

    query = {
        "status": parse_choice(SessionStatus, "status", status),
        "outcome": parse_choice(VerdictOutcome, "outcome", outcome),
        "confidence": parse_choice(Confidence, "confidence", confidence),
        "object": affected,
        "reviewed": False if unreviewed else None,
        "sort": parse_choice(SessionSort, "sort", sort),
    }
    found = call_server_or_database(
        lambda client: client.sessions(limit, **query), url=url, token=token, database_url=database_url, data_dir=data_dir
    )
    if found:
        print_table(("SESSION", "CREATED", "STATUS", "COST", "TYPE", "VERDICT", "TITLE"), map(_row, found))
    else:
        typer.echo("There are no sessions.")


def _row(session: Mapping[str, Any]) -> tuple[str, ...]:
    reason = session["waiting_reason"] or (session["cancelled_by"] and f"cancelled by {session['cancelled_by']}")
    verdict = session["verdict"]
    return (
        short_id(session["id"]),
        minute(session["created_at"]),
        session_status(session["status"], session),
        cost_text(session["cost"]),
        session["alert_type"],
        " ".join(part for part in (verdict["outcome"], object_name(verdict["object"]), f"({verdict['confidence']})") if part)
        if verdict
        else "",
        f"{session['title']} ({reason})" if reason else session["title"],
    )


@app.command()
def show(
    session: Session,
    url: ServerUrl = None,
    token: Token = None,
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
) -> None:
    """Show the stages of a session with their agents and sub-agents, their tasks and how they ended, and its actions."""
    from tarsy.cli.client import TarsyClient, call_server_or_database

    async def read(client: TarsyClient) -> list[str]:
        session_id = await client.session_id(session)
        detail = await client.session(session_id)
        return [*tree_lines(detail, await client.timeline(session_id)), *action_lines(detail)]

    lines = call_server_or_database(read, url=url, token=token, database_url=database_url, data_dir=data_dir)
    if not lines:
        typer.echo("The session has not started yet.", err=True)
        raise typer.Exit(1)
    for line in lines:
        typer.echo(without_control_characters(line))


def tree_lines(session: Mapping[str, Any], timeline: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the stages of a session, their agents and sub-agents as indented lines."""
    from tarsy.kit.text import clip

    def short(text: str) -> str:
        return clip(" ".join(text.split()), LINE_LENGTH, notice="…")

    # The last ones: an answer may have been corrected.
    conclusions = {one["execution_id"]: one["content"] for one in timeline if one["event_type"] in _CONCLUSIONS}
    # By the execution that dispatched them, or else by their stage.
    below: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for stage in session["stages"]:
        for execution in stage["executions"]:
            below[execution["parent_execution_id"] or stage["id"]].append(execution)

    def agents(above: str, indent: str) -> Iterator[str]:
        for one in below[above]:
            dispatched = f"[{one['dispatched_by']}] " if one["dispatched_by"] else ""
            yield f"{indent}{dispatched}{one['agent_name']}  ({one['status']}, {one['model_name']})"
            if one["task"]:
                yield f"{indent}  task: {short(one['task'])}"
            yield from agents(one["id"], f"{indent}  ")
            if conclusion := conclusions.get(one["id"]):
                yield f"{indent}  conclusion: {short(conclusion)}"
            elif one["error_message"]:
                yield f"{indent}  error: {short(one['error_message'])}"

    for stage in session["stages"]:
        yield f"{stage['stage_name']}  ({stage['status']})"
        yield from agents(stage["id"], "  ")


def action_lines(session: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a session changed, or would have, and which of its stages did not act."""
    for one in session["actions"]:
        approved = f", approved by {one['approved_by']}" if one["approved_by"] else ""
        yield f"action: {one['call']}  ({one['outcome']}{approved}, verified: {one['verified']})"
    yield from session["actions_left_out"]


@app.command()
def purge(
    ids: Annotated[list[str] | None, typer.Argument(metavar="SESSION", help="Sessions to erase, by id.", show_default=False)] = None,
    older_than: Annotated[
        int | None,
        typer.Option(
            min=0, max=MAX_DAYS, metavar="DAYS", help="Erase all that ended more than this many days ago; works on the database itself."
        ),
    ] = None,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    url: ServerUrl = None,
    token: Token = None,
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
) -> None:
    """Erase finished sessions and everything stored about them. Only the audit log keeps a record."""
    from tarsy.cli.client import ID_DIGITS, TarsyClient, call_server_or_database

    if bool(ids) == (older_than is not None):
        typer.echo("Name sessions by id, or use --older-than DAYS.", err=True)
        raise typer.Exit(2)
    if older_than is not None:
        _erase_old(older_than, database_url, data_dir, yes=yes)
        return
    wanted = ids or []
    if not all(ID_DIGITS.fullmatch(one) for one in wanted):
        typer.echo("A session's id has hexadecimal digits and hyphens. To see the ids: tarsy sessions list", err=True)
        raise typer.Exit(2)
    if not yes:
        typer.confirm(f"Erase {_counted(len(wanted))}? This cannot be undone.", abort=True)

    async def erase(client: TarsyClient) -> int:
        erased = 0
        for one in wanted:
            try:
                await client.erase(await client.session_id(one))
                erased += 1
            except ServerRefusedError as error:
                typer.echo(without_control_characters(str(error)), err=True)
        return erased

    erased = call_server_or_database(erase, url=url, token=token, database_url=database_url, data_dir=data_dir)
    typer.echo(f"Erased {_counted(erased)}.")
    raise typer.Exit(0 if erased == len(wanted) else 1)


def _erase_old(days: int, database_url: str | None, data_dir: "Path | None", *, yes: bool) -> None:
    from tarsy.cli.client import COMMAND_LINE
    from tarsy.cli.db import with_upgraded_engine
    from tarsy.db.retention import PostgresRetentionStore

    count = with_upgraded_engine(lambda engine: PostgresRetentionStore(engine).count_sessions(days=days), database_url, data_dir)
    if count and not yes:
        typer.confirm(f"Erase {_counted(count)} that ended more than {days} days ago? This cannot be undone.", abort=True)
    erased = with_upgraded_engine(
        lambda engine: PostgresRetentionStore(engine).erase_sessions(days=days, actor=COMMAND_LINE, hidden_only=False),
        database_url,
        data_dir,
    )
    typer.echo(f"Erased {_counted(erased)}.")


def _counted(sessions: int) -> str:
    return f"{sessions} session{'' if sessions == 1 else 's'}"
