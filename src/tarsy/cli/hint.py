"""`tarsy hint`: tell the agents of a running investigation something."""

from typing import Annotated, Any

import typer


def hint(
    session: Annotated[str, typer.Argument(help="Id of the session.")],
    text: Annotated[str, typer.Argument(help="What its agents should know.")],
    url: Annotated[str, typer.Option(envvar="TARSY_URL", help="Address of the running TARSy.")] = "http://127.0.0.1:8080",
    token: Annotated[str | None, typer.Option(envvar="TARSY_TOKEN", help="API token.")] = None,
) -> None:
    """Give a running investigation a hint: each of its agents reads it before its next model call. Exit status 1 if it came too late."""
    import anyio

    note = anyio.run(_give, session, text, url, token)
    typer.echo(f"{note['id']} is given: each agent is told before its next call.")


async def _give(session_id: str, text: str, url: str, token: str | None) -> dict[str, Any]:
    from tarsy.cli.client import connect

    async with connect(url, token) as client:
        return await client.give_hint(session_id, text)
