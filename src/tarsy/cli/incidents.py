"""`tarsy incidents`: list and show incidents, acknowledge, assign and comment on them."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from tarsy.cli.environment import DatabaseUrl, DataDir, ServerUrl, Token
from tarsy.cli.reviews import triage_lines
from tarsy.cli.terminal import cost_text, minute, parse_choice, print_table, session_status, short_id, without_control_characters

app = typer.Typer(no_args_is_help=True)
Incident = Annotated[str, typer.Argument(metavar="INCIDENT", help="The incident's id, or the first digits of it.")]


@app.command("list")
def list_incidents(
    limit: Annotated[int, typer.Option(min=1, max=500, help="At most this many.")] = 20,
    state: Annotated[str | None, typer.Option(metavar="open|resolved", help="Only incidents in this state.", show_default="all")] = None,
    url: ServerUrl = None,
    token: Token = None,
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
) -> None:
    """List incidents, newest first."""
    from tarsy.cli.client import call_server_or_database
    from tarsy.domain.incident import IncidentState

    wanted = parse_choice(IncidentState, "state", state)
    page = call_server_or_database(
        lambda client: client.incidents(limit, state=wanted), url=url, token=token, database_url=database_url, data_dir=data_dir
    )
    if page["incidents"]:
        print_table(("INCIDENT", "OPENED", "STATE", "SEVERITY", "FIRING", "LAST SESSION", "COST", "TITLE"), map(_row, page["incidents"]))
    none = f"There are no {wanted} incidents." if wanted else "There are no incidents."
    typer.echo(f"{len(page['incidents'])} of {page['total']} incidents, {page['open']} open." if page["total"] else none)


def _row(incident: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        short_id(incident["id"]),
        minute(incident["opened_at"]),
        incident["state"],
        incident["severity"],
        f"{incident['firing']}/{incident['alerts']}",
        session_status(incident["last_session_status"], incident) if incident["last_session_status"] else "none",
        cost_text(incident["cost"]),
        incident["title"],
    )


@app.command()
def show(
    incident: Incident,
    url: ServerUrl = None,
    token: Token = None,
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
) -> None:
    """Show an incident with its alerts and investigations."""
    from tarsy.cli.client import TarsyClient, call_server_or_database

    async def read(client: TarsyClient) -> dict[str, Any]:
        return await client.incident(await client.incident_id(incident))

    found = call_server_or_database(read, url=url, token=token, database_url=database_url, data_dir=data_dir)
    for line in _summary(found):
        typer.echo(without_control_characters(line))
    typer.echo()
    print_table(("STATUS", "SEVERITY", "RECEIVED", "TITLE", "LABELS"), map(_alert, found["members"]))
    if found["sessions"]:
        typer.echo()
        print_table(("SESSION", "CREATED", "STATUS", "RESULT"), map(_session, found["sessions"]))


@app.command()
def acknowledge(incident: Incident, url: ServerUrl = None, token: Token = None) -> None:
    """Show others that you have taken notice of an incident."""
    _change(incident, {"acknowledged": True}, url, token)


@app.command()
def assign(
    incident: Incident,
    person: Annotated[str, typer.Argument(metavar="PERSON", help='Who handles it; "" to unassign.', show_default=False)],
    url: ServerUrl = None,
    token: Token = None,
) -> None:
    """Assign an incident to a person."""
    _change(incident, {"assignee": person}, url, token)


@app.command()
def comment(
    incident: Incident,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The comment.", show_default=False)],
    url: ServerUrl = None,
    token: Token = None,
) -> None:
    """Comment on an incident."""
    from tarsy.cli.client import TarsyClient, call_server

    async def write(client: TarsyClient) -> None:
        await client.comment("incidents", await client.incident_id(incident), text)

    call_server(url, token, write)


def _change(incident: str, wanted: Mapping[str, Any], url: str | None, token: str | None) -> None:
    from tarsy.cli.client import TarsyClient, call_server

    async def change(client: TarsyClient) -> None:
        await client.triage("incidents", await client.incident_id(incident), wanted)

    call_server(url, token, change)


def _summary(incident: Mapping[str, Any]) -> Iterator[str]:
    yield incident["title"]
    resolved = f", resolved {minute(incident['resolved_at'])}" if incident["resolved_at"] else ""
    yield f"{incident['state']}, {incident['severity']}; from {incident['source']} by route {incident['route']}; opened {minute(incident['opened_at'])}{resolved}"
    yield f"{incident['firing']} of {incident['alerts']} alerts firing, received {incident['deliveries']} times"
    if incident["truncated"]:
        yield f"{incident['truncated']} more alerts were left out of the last delivery"
    if cost := cost_text(incident["cost"]):
        yield f"investigations cost {cost}"
    yield from triage_lines(incident["triage"])


def _alert(member: Mapping[str, Any]) -> tuple[str, ...]:
    labels = ", ".join(f"{name}={value}" for name, value in member["labels"].items())
    return member["status"], member["severity"], f"{member['count']}x", member["title"], labels


def _session(session: Mapping[str, Any]) -> tuple[str, ...]:
    result = session["executive_summary"] or session["error_message"] or ""
    return short_id(session["id"]), minute(session["created_at"]), session_status(session["status"], session), result
