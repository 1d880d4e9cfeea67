"""`tarsy tokens`: create, list and revoke API tokens."""

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from tarsy.cli.environment import DatabaseUrl, DataDir, ServerUrl, Token
from tarsy.cli.terminal import minute, parse_choice, print_table, without_control_characters

app = typer.Typer(no_args_is_help=True)

_LIFETIME = re.compile(r"(\d{1,5})([dh])")


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="The name of the person or program; it becomes the author of what the token does.")],
    role: Annotated[str, typer.Option(metavar="viewer|responder|approver|admin", help="What the token may do.")],
    expires: Annotated[
        str | None, typer.Option(metavar="90d|12h", help="How long it is valid.", show_default="until it is revoked")
    ] = None,
    url: ServerUrl = None,
    token: Token = None,
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
) -> None:
    """Create a token and print it, once: TARSy stores only its hash."""
    from tarsy.cli.client import call_server_or_database
    from tarsy.domain.access_role import AccessRole

    chosen = parse_choice(AccessRole, "role", role)
    end = None
    if expires is not None:
        lifetime = _LIFETIME.fullmatch(expires)
        if lifetime is None:
            raise typer.BadParameter("write days or hours: 90d or 12h", param_hint="--expires")
        number, unit = int(lifetime[1]), lifetime[2]
        end = datetime.now(UTC) + (timedelta(days=number) if unit == "d" else timedelta(hours=number))
    created = call_server_or_database(
        lambda client: client.create_token(name, chosen, end), url=url, token=token, database_url=database_url, data_dir=data_dir
    )
    until = f"expires at {minute(created['expires_at'])}" if created["expires_at"] else "does not expire"
    typer.echo(f"{created['name']} has the role {created['role']}; the token {until}. It is shown only now:", err=True)
    typer.echo(created["token"])


@app.command("list")
def list_tokens(url: ServerUrl = None, token: Token = None, database_url: DatabaseUrl = None, data_dir: DataDir = None) -> None:
    """List the tokens in the database. Those of TARSY_API_TOKENS are not among them."""
    from tarsy.cli.client import call_server_or_database

    found = call_server_or_database(lambda client: client.tokens(), url=url, token=token, database_url=database_url, data_dir=data_dir)
    rows = [
        (
            one["name"],
            one["role"],
            minute(one["created_at"]),
            minute(one["expires_at"]) if one["expires_at"] else "never",
            minute(one["last_used_at"]) if one["last_used_at"] else "never",
        )
        for one in found
    ]
    if rows:
        print_table(("TOKEN", "ROLE", "CREATED", "EXPIRES", "LAST USED"), rows)
    else:
        typer.echo("There are no tokens in the database. To create one: tarsy tokens create NAME --role responder")


@app.command()
def revoke(
    name: Annotated[str, typer.Argument(help="The token's name.")],
    url: ServerUrl = None,
    token: Token = None,
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
) -> None:
    """Revoke a token: the server refuses it from now on."""
    from tarsy.cli.client import call_server_or_database

    call_server_or_database(lambda client: client.revoke_token(name), url=url, token=token, database_url=database_url, data_dir=data_dir)
    typer.echo(without_control_characters(f"The token {name} is revoked."))
