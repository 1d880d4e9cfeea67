"""`tarsy fork`: go on from a step of an investigation, in a session of its own."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import typer

from tarsy.cli.terminal import ServerRefusedError


def fork(
    session: Annotated[str, typer.Argument(help="Id of a session that has ended.")],
    from_step: Annotated[
        int | None, typer.Option(min=0, help="Keep this many model calls, and make the next one again.", show_default="0")
    ] = None,
    agent: Annotated[
        str | None, typer.Option(help="Count the calls of this agent only: its name, the call that sent it (A2), or its execution id.")
    ] = None,
    turn: Annotated[
        int | None, typer.Option(min=0, help="With --agent: its call to make again, as in the trace.", show_default="0")
    ] = None,
    model: Annotated[str | None, typer.Option(help="The configured provider that continues.", show_default="the session's own")] = None,
    hint: Annotated[str | None, typer.Option(help="A hint that the agents read before the first new call.")] = None,
    url: Annotated[str, typer.Option(envvar="TARSY_URL", help="Address of the running TARSy.")] = "http://127.0.0.1:8080",
    token: Annotated[str | None, typer.Option(envvar="TARSY_TOKEN", help="API token.")] = None,
) -> None:
    """Start a new investigation from a step of an earlier one, with another model or a hint. Print the id of the new session."""
    import anyio

    if turn is not None and agent is None:
        raise typer.BadParameter("--turn needs --agent: whose call?")
    if from_step is not None and agent is not None:
        raise typer.BadParameter("--from-step counts the calls of all agents; with --agent, use --turn")

    def place(trace: Mapping[str, Any]) -> dict[str, Any]:
        return _step(trace, from_step or 0) if agent is None else {"execution_id": _execution(trace, agent), "turn": turn or 0}

    typer.echo(anyio.run(_fork, session, place, {"model": model, "hint": hint}, url, token))


async def _fork(
    session_id: str, place: Callable[[Mapping[str, Any]], dict[str, Any]], changed: Mapping[str, str | None], url: str, token: str | None
) -> str:
    from tarsy.cli.client import connect

    async with connect(url, token) as client:
        where = place(await client.trace(session_id))
        return await client.fork(session_id, where | {name: value for name, value in changed.items() if value})


def _step(trace: Mapping[str, Any], number: int) -> dict[str, Any]:
    """The call after so many of a session's calls; those that only shorten results are none of them."""
    calls = [call for call in trace["llm"] if call["kind"] != "summarization"]
    if number >= len(calls):
        last = f"the last is call {len(calls)}" if calls else "it has none"
        raise ServerRefusedError(f"This session has no call {number + 1} to a model to make anew: {last}.")
    return {"execution_id": calls[number]["execution_id"], "turn": calls[number]["turn"]}


def _execution(trace: Mapping[str, Any], wanted: str) -> str:
    """The execution of the agent that a person means."""
    agents: Sequence[Mapping[str, Any]] = trace["executions"]
    meant = [one for one in agents if wanted in {one["id"], one["agent_name"], one["dispatched_by"]}]
    if len(meant) == 1:
        return meant[0]["id"]
    named = ", ".join(f"{one['agent_name']} ({one['dispatched_by'] or one['id']})" for one in meant or agents)
    if meant:
        raise ServerRefusedError(f"This session has {len(meant)} agents {wanted}: say which by what stands in brackets. {named}.")
    raise ServerRefusedError(f"This session has no agent {wanted}: {named or 'none has begun'}.")
