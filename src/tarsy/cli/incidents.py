"""`tarsy incidents`: list and show incidents."""

from typing import TYPE_CHECKING, Annotated

import typer

from tarsy.cli.db import DatabaseUrl, DataDir, with_upgraded_engine
from tarsy.cli.terminal import PARTIAL, harmless, parse_choice

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tarsy.db.incident.repository import IncidentDetail

app = typer.Typer(no_args_is_help=True)


@app.command("list")
def list_incidents(
    limit: Annotated[int, typer.Option(min=1, max=500, help="At most this many, the latest first.")] = 20,
    state: Annotated[str | None, typer.Option(metavar="open|resolved", help="Only these.", show_default="all")] = None,
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
) -> None:
    """List incidents, the latest first."""
    from tarsy.db.incident.repository import IncidentFilter, IncidentRepository
    from tarsy.domain.incident import IncidentState

    where = IncidentFilter(states=parse_choice(IncidentState, "state", state))
    page = with_upgraded_engine(lambda engine: IncidentRepository(engine).list(where, limit=limit), database_url, data_dir)
    for summary in page.incidents:
        incident = summary.incident
        status = f"{incident.session_status or 'not investigated'}{PARTIAL if summary.analysis_is_partial else ''}"
        line = (
            f"{incident.id}  {incident.opened_at:%Y-%m-%d %H:%MZ}  {incident.state:<9}{incident.severity:<9}"
            f"{incident.firing}/{incident.alerts} firing  {status:<12}  {incident.title}{f'  {cost}' if (cost := str(summary.spending)) else ''}"
        )
        typer.echo(harmless(line))
    typer.echo(f"{len(page.incidents)} of {page.total} incidents, {page.open} open." if page.total else "There are no incidents.")


@app.command()
def show(
    incident: Annotated[str, typer.Argument(metavar="ID", help="The incident.")], database_url: DatabaseUrl = None, data_dir: DataDir = None
) -> None:
    """Show an incident with its alerts and investigations."""
    from uuid import UUID

    from tarsy.db.errors import NotFoundError
    from tarsy.db.incident.repository import IncidentRepository

    try:
        wanted = str(UUID(incident))
        detail = with_upgraded_engine(lambda engine: IncidentRepository(engine).get(wanted), database_url, data_dir)
    except (ValueError, NotFoundError) as error:
        typer.echo(f"There is no incident {incident}; `tarsy incidents list` shows them.", err=True)
        raise typer.Exit(1) from error
    for line in _page(detail):
        typer.echo(harmless(line))


def _page(detail: "IncidentDetail") -> "Iterator[str]":
    incident = detail.summary.incident
    yield incident.title
    ended = f", over {incident.resolved_at:%Y-%m-%d %H:%MZ}" if incident.resolved_at else ""
    yield f"{incident.state}, {incident.severity}, from {incident.source} by route {incident.route}; opened {incident.opened_at:%Y-%m-%d %H:%MZ}{ended}"
    yield f"{incident.firing} of {incident.alerts} alerts fire, heard of {incident.deliveries} times"
    if incident.truncated:
        yield f"{incident.truncated} further alerts were left out of the last delivery"
    if cost := str(detail.summary.spending):
        yield f"its investigations cost {cost}"
    for member in detail.members:
        labels = ", ".join(f"{name}={value}" for name, value in member.alert.labels.items())
        yield f"  {member.known.status:<9}{member.known.severity:<9}{member.count}x  {member.alert.title}  {labels}"
    for session in detail.investigations:
        result = session.executive_summary or session.error_message or ""
        status = f"{session.status}{PARTIAL if session.analysis_is_partial else ''}"
        yield f"session {session.id}  {session.created_at:%Y-%m-%d %H:%MZ}  {status}  {result}"
