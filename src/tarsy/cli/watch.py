"""`tarsy watch`: follow a session of a running server in the terminal."""

from typing import Annotated

import typer


def watch(
    session: Annotated[str, typer.Argument(help="Id of the session.")],
    url: Annotated[str, typer.Option(envvar="TARSY_URL", help="Address of the running TARSy.")] = "http://127.0.0.1:8080",
    token: Annotated[str | None, typer.Option(envvar="TARSY_TOKEN", help="API token.")] = None,
) -> None:
    """Show what a session does, from its beginning to its end. Exit status 0 if it completed, 1 if not."""
    import anyio  # noqa: PLC0415 - heavy, imported on first use

    raise typer.Exit(0 if anyio.run(_watch, session, url, token) else 1)


async def _watch(session_id: str, url: str, token: str | None) -> bool:
    from rich.console import Console  # noqa: PLC0415 - heavy, imported on first use

    from tarsy.cli.client import connect  # noqa: PLC0415 - heavy, imported on first use
    from tarsy.cli.live_view import follow, print_end  # noqa: PLC0415 - heavy, imported on first use
    from tarsy.domain.status import SessionStatus  # noqa: PLC0415 - with the rest

    console = Console()
    async with connect(url, token) as client:
        session = await client.session(session_id)
        if SessionStatus(session["status"]).is_final:
            # Its live events may be forgotten already; how it ended is not.
            print_end(console, session)
            return session["status"] == SessionStatus.COMPLETED
        return await follow(client, session_id, console)
