"""`tarsy fork`: go on from a step of an investigation, in a session of its own."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer


def fork(
    session: Annotated[str, typer.Argument(help="Id of a session that has ended.")],
    from_step: Annotated[int, typer.Option(min=0, help="Keep this many model calls, and make the next one again.")] = 0,
    model: Annotated[str | None, typer.Option(help="The configured provider that continues.", show_default="the session's own")] = None,
    hint: Annotated[str | None, typer.Option(help="A hint that the agents read before the first new call.")] = None,
    url: Annotated[str, typer.Option(envvar="TARSY_URL", help="Address of the running TARSy.")] = "http://127.0.0.1:8080",
    token: Annotated[str | None, typer.Option(envvar="TARSY_TOKEN", help="API token.")] = None,
) -> None:
    """Start a new investigation from a step of an earlier one, with another model or a hint. Print the id of the new session."""
    import anyio

    typer.echo(anyio.run(_fork, session, from_step, {"model": model, "hint": hint}, url, token))


async def _fork(session_id: str, from_step: int, changed: Mapping[str, str | None], url: str, token: str | None) -> str:
    from tarsy.cli.client import connect
    from tarsy.cli.terminal import ServerRefusedError

    async with connect(url, token) as client:
        calls = await client.model_calls(session_id)
        if from_step >= len(calls):
            last = f"the last is call {len(calls)}" if calls else "it has none"
            raise ServerRefusedError(f"This session has no call {from_step + 1} to a model to make anew: {last}.")
        return await client.fork(session_id, _place(calls[from_step]) | {name: value for name, value in changed.items() if value})


def _place(call: Mapping[str, Any]) -> dict[str, Any]:
    return {"execution_id": call["execution_id"], "turn": call["turn"]}
