"""`tarsy approvals`: list the tool calls that wait for a person, and decide about them."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from tarsy.cli.environment import ServerUrl, Token
from tarsy.cli.terminal import minute, short_id, without_control_characters

app = typer.Typer(no_args_is_help=True)

ApprovalId = Annotated[str, typer.Argument(metavar="APPROVAL", help="The id of the approval, or its beginning.", show_default=False)]
Reason = Annotated[str, typer.Option(help="Why; the agent reads the reason of a rejection.")]


@app.command("list")
def list_approvals(
    state: Annotated[str, typer.Option(metavar="pending|approved|rejected|expired|all", help="Only those in this state.")] = "pending",
    url: ServerUrl = None,
    token: Token = None,
) -> None:
    """List tool calls that wait for a person, exactly as they would be made."""
    from tarsy.cli.client import call_server
    from tarsy.cli.terminal import parse_choice
    from tarsy.domain.approval import ApprovalState

    wanted = "" if state == "all" else parse_choice(ApprovalState, "state", state)
    found = call_server(url, token, lambda client: client.approvals(wanted))
    for one in found:
        typer.echo(without_control_characters(_text(one)))
    if not found:
        typer.echo("No approvals.")


@app.command()
def approve(approval: ApprovalId, reason: Reason = "", url: ServerUrl = None, token: Token = None) -> None:
    """Approve a tool call: it runs once, exactly as shown."""
    _decide(approval, "approve", reason, url, token)


@app.command()
def reject(approval: ApprovalId, reason: Reason = "", url: ServerUrl = None, token: Token = None) -> None:
    """Reject a tool call: it does not run, and the agent reads the reason."""
    _decide(approval, "reject", reason, url, token)


def _decide(approval: str, decision: str, reason: str, url: str | None, token: str | None) -> None:
    from tarsy.cli.client import TarsyClient, call_server

    async def decide(client: TarsyClient) -> dict[str, Any]:
        return await client.decide_approval(await client.approval_id(approval), decision, reason)

    typer.echo(without_control_characters(_text(call_server(url, token, decide))))


def _text(one: Mapping[str, Any]) -> str:
    by = f" by {one['decided_by']}, {minute(one['decided_at'])}" if one["decided_by"] else ""
    state = f"pending until {minute(one['expires_at'])}" if one["state"] == "pending" else f"{one['state']}{by}, {one['outcome']}"
    call = f"{one['server']}.{one['tool']} {one['arguments']}"
    reason = f"\n  {one['reason']}" if one["reason"] else ""
    return f"{short_id(one['id'])}  session {short_id(one['session_id'])}  {state}\n  {call}{reason}"
