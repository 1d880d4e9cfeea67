"""`tarsy reload`: have a running TARSy read its configuration anew."""

from typing import Annotated, Any

import typer

_TOLD = {"added": "Added", "changed": "Changed", "removed": "Removed", "at_next_start": "At the next start"}


def reload(
    url: Annotated[str, typer.Option(envvar="TARSY_URL", help="Address of the running TARSy.")] = "http://127.0.0.1:8080",
    token: Annotated[str | None, typer.Option(envvar="TARSY_TOKEN", help="API token.")] = None,
) -> None:
    """Reload the configuration in every process of the installation. Running sessions keep theirs; a file with mistakes changes nothing.

    List problems and exit with status 1 if there are any.
    """
    import anyio

    report = anyio.run(_reload, url, token)
    told = [f"{words}: {', '.join(report[key])}" for key, words in _TOLD.items() if report[key]]
    typer.echo("\n".join(told) or "Nothing has changed.")


async def _reload(url: str, token: str | None) -> dict[str, Any]:
    from tarsy.cli.client import connect

    async with connect(url, token) as client:
        return await client.reload()
