"""`tarsy notify`: list notifications, send one again, and test a target."""

from typing import Annotated, Any

import typer

from tarsy.cli.environment import DatabaseUrl, DataDir, ServerUrl, Token
from tarsy.cli.terminal import ServerRefusedError, minute, parse_choice, print_table, short_id

app = typer.Typer(no_args_is_help=True)


@app.command("list")
def list_notifications(
    limit: Annotated[int, typer.Option(min=1, max=200, help="At most this many, the latest first.")] = 20,
    target: Annotated[str | None, typer.Option(help="Only to this target.", show_default="all")] = None,
    status: Annotated[
        str | None, typer.Option(metavar="pending|delivered|dead_letter|expired", help="Only with this status.", show_default="all")
    ] = None,
    url: ServerUrl = None,
    token: Token = None,
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
) -> None:
    """List the targets, and the notifications, the latest first."""
    from tarsy.cli.client import call_server_or_database
    from tarsy.domain.notification import NotificationStatus

    wanted = parse_choice(NotificationStatus, "status", status)
    found = call_server_or_database(
        lambda client: client.notifications(limit, target=target, status=wanted),
        url=url,
        token=token,
        database_url=database_url,
        data_dir=data_dir,
    )
    if not found["targets"]:
        typer.echo("No notification targets are configured: see `notify` in tarsy.yaml.")
        return
    print_table(
        ("TARGET", "SERVICE", "DELIVERED", "PENDING", "DEAD LETTERS", "EXPIRED", "LAST ERROR"),
        (
            (
                one["name"],
                one["service"] or "not configured",
                *(str(one[count]) for count in ("delivered", "pending", "dead_letter", "expired")),
                one["last_error"] or "",
            )
            for one in found["targets"]
        ),
    )
    if found["notifications"]:
        typer.echo()
        print_table(
            ("NOTIFICATION", "CREATED", "TARGET", "EVENT", "STATUS", "FAILED", "TITLE"),
            (
                (
                    short_id(one["id"]),
                    minute(one["created_at"]),
                    one["target"],
                    one["kind"],
                    one["status"],
                    str(one["attempts"]),
                    one["title"] if one["error"] is None else f"{one['title']}: {one['error']}",
                )
                for one in found["notifications"]
            ),
        )


@app.command()
def retry(
    notification: Annotated[str, typer.Argument(metavar="NOTIFICATION", help="Its id, or the first digits of it.")],
    url: ServerUrl = None,
    token: Token = None,
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
) -> None:
    """Send a notification again that was given up or has expired. The receiver gets the same id."""
    from tarsy.cli.client import TarsyClient, call_server_or_database

    async def send(client: TarsyClient) -> dict[str, Any]:
        return await client.send_notification_again(await client.notification_id(notification))

    again = call_server_or_database(send, url=url, token=token, database_url=database_url, data_dir=data_dir)
    typer.echo(f"{again['id']} will be sent to {again['target']} again.")


@app.command("test")
def try_target(
    target: Annotated[str, typer.Argument(metavar="TARGET", help="A target of `notify` in tarsy.yaml.")],
    url: ServerUrl = None,
    token: Token = None,
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
) -> None:
    """Send a sample message to a target now."""
    from tarsy.cli.client import call_server_or_database

    result = call_server_or_database(
        lambda client: client.test_notification_target(target), url=url, token=token, database_url=database_url, data_dir=data_dir
    )
    if not result["delivered"]:
        raise ServerRefusedError(f"{target} did not accept the message: {result['error']}")
    typer.echo(f"{target} has accepted a sample message.")
