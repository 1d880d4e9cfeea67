"""`tarsy audit`: who did what, when and from where."""

import sys
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from tarsy.cli.environment import DatabaseUrl, DataDir, ServerUrl, Token
from tarsy.cli.terminal import minute, parse_choice, print_table, short_id


def audit(  # noqa: PLR0913, PLR0917 - the options of a command
    limit: Annotated[int, typer.Option(min=1, max=200, help="At most this many.")] = 20,
    actor: Annotated[str | None, typer.Option(help="Only actions of this person, program or sender.", show_default="all")] = None,
    action: Annotated[str | None, typer.Option(help="Only this action, such as session.deleted.", show_default="all")] = None,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="Only at or after this time, such as 2026-03-01T12:00:00Z.", show_default="all")
    ] = None,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="Print all matching entries as JSON lines.")] = False,  # noqa: FBT002 - a flag
    url: ServerUrl = None,
    token: Token = None,
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
) -> None:
    """Show the audit log, newest entries first."""
    from tarsy.cli.client import TarsyClient, call_server_or_database
    from tarsy.db.audit import AuditAction

    query = {"actor": actor, "action": parse_choice(AuditAction, "action", action), "from": since}

    async def read(client: TarsyClient) -> str | list[dict[str, Any]]:
        return await client.audit_lines(**query) if jsonl else await client.audit(limit, **query)

    found = call_server_or_database(read, url=url, token=token, database_url=database_url, data_dir=data_dir)
    if isinstance(found, str):
        sys.stdout.write(found)
    elif found:
        print_table(("TIME", "ACTOR", "FROM", "ACTION", "SESSION", "DETAILS"), map(_row, found))
    else:
        typer.echo("No entries.")


def _row(entry: Mapping[str, Any]) -> tuple[str, ...]:
    details = ", ".join(f"{name}={value}" for name, value in entry["details"].items())
    session = short_id(entry["session_id"]) if entry["session_id"] else ""
    return minute(entry["at"]), entry["actor"], entry["origin"] or "", entry["action"], session, details
