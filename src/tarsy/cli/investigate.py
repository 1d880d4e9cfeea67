"""Commands that run, follow and change an investigation: `tarsy investigate`, `watch`, `hint`, `ask`, `cancel`, `fork`, `demo` and `samples`."""

import logging
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import anyio
import typer

from tarsy.cli.environment import ConfigDir, ServerUrl, Session, Token, process_settings
from tarsy.cli.terminal import ServerRefusedError, print_table


def investigate(
    alert: Annotated[str, typer.Argument(metavar="FILE|-", help="The alert: a file, or - for standard input.")],
    alert_type: Annotated[str | None, typer.Option("--type", help="Alert type.", show_default="the configured default")] = None,
    url: Annotated[
        str | None,
        typer.Option(help="Address of a running TARSy that should investigate it.", show_default="run everything in this process"),
    ] = None,
    runbook: Annotated[str | None, typer.Option(help="Address of a runbook.")] = None,
    budget: Annotated[
        str | None,
        typer.Option(metavar="'$0.20,5m'", help="Its budget: dollars, time, `50k tokens`, `10 model calls`, `20 tool calls`."),
    ] = None,
    token: Annotated[str | None, typer.Option(envvar="TARSY_TOKEN", help="API token for --url.")] = None,
    config: ConfigDir = None,
) -> None:
    """Investigate an alert: show the timeline live, then the analysis. Exit status 0 if it completed, 1 if not."""
    from tarsy.cli.live_view import investigate_here, investigate_there
    from tarsy.config.schema.budget import parse_budget
    from tarsy.kit.logs import configure_logs

    try:
        # Standard input is UTF-8, too, in every locale.
        text = sys.stdin.buffer.read().decode() if alert == "-" else Path(alert).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        typer.echo(f"Cannot read the alert from {alert}: {error}", err=True)
        raise typer.Exit(2) from error
    try:
        ceilings = parse_budget(budget).model_dump(mode="json", exclude_none=True) if budget else None
    except ValueError as error:
        typer.echo(f"--budget: {error}", err=True)
        raise typer.Exit(2) from error
    if url:
        succeeded = anyio.run(investigate_there, url, token, text, alert_type, runbook, ceilings)
    else:
        # Failures and rejections of our own server are printed by its client.
        configure_logs(level=logging.ERROR)
        succeeded = anyio.run(investigate_here, process_settings(config), text, alert_type, runbook, ceilings)
    raise typer.Exit(0 if succeeded else 1)


def watch(
    session: Session = "latest",
    url: ServerUrl = None,
    token: Token = None,
) -> None:
    """Follow a session from its beginning to its end. Exit status 0 if it completed, 1 if not."""
    from rich.console import Console

    from tarsy.cli.client import TarsyClient, call_server
    from tarsy.cli.live_view import follow, print_end
    from tarsy.domain.status import SessionStatus

    async def follow_to_end(client: TarsyClient) -> bool:
        session_id = await client.session_id(session)
        console, found = Console(), await client.session(session_id)
        if found["status"] in {one for one in SessionStatus if one.is_final}:
            # Its live events may have been purged; its end is still stored.
            print_end(console, found)
            return found["status"] == SessionStatus.COMPLETED
        return await follow(client, session_id, console)

    raise typer.Exit(0 if call_server(url, token, follow_to_end) else 1)


def hint(
    session: Session,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The hint: what the agents should know.", show_default=False)],
    url: ServerUrl = None,
    token: Token = None,
) -> None:
    """Give a running investigation a hint: each of its agents reads it before its next model call. Exit status 1 if the session has ended."""
    from tarsy.cli.client import TarsyClient, call_server

    async def give(client: TarsyClient) -> dict[str, Any]:
        return await client.give_hint(await client.session_id(session), text)

    _require_text("hint", text)
    typer.echo(f"{call_server(url, token, give)['id']}: each agent reads it before its next model call.")


def ask(
    session: Session,
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="What you want to know.", show_default=False)],
    url: ServerUrl = None,
    token: Token = None,
) -> None:
    """Ask a question about a finished session and print the answer. Exit status 1 if there is none."""
    from rich.console import Console

    from tarsy.cli.client import TarsyClient, call_server
    from tarsy.cli.live_view import answer_question

    async def answered(client: TarsyClient) -> bool:
        return await answer_question(client, await client.session_id(session), question, Console())

    _require_text("question", question)
    raise typer.Exit(0 if call_server(url, token, answered) else 1)


def cancel(session: Session, url: ServerUrl = None, token: Token = None) -> None:
    """Cancel a session: at once if it waits, otherwise as soon as its worker notices."""
    from tarsy.cli.client import TarsyClient, call_server

    async def stop(client: TarsyClient) -> tuple[str, str]:
        session_id = await client.session_id(session)
        return session_id, await client.cancel(session_id)

    session_id, result = call_server(url, token, stop)
    typer.echo(f"Session {session_id}: {result.replace('_', ' ')}.")


def _require_text(name: str, text: str) -> None:
    if not text.strip():
        raise typer.BadParameter(f"the {name} is empty")


def fork(
    session: Session,
    from_step: Annotated[
        int | None, typer.Option(min=0, help="Keep this many model calls and repeat the next one.", show_default="0")
    ] = None,
    agent: Annotated[
        str | None, typer.Option(help="Count the calls of this agent only: its name, the call that sent it (A2), or its execution id.")
    ] = None,
    turn: Annotated[
        int | None, typer.Option(min=0, help="With --agent: the number of the call to repeat, as in the trace.", show_default="0")
    ] = None,
    model: Annotated[str | None, typer.Option(help="The configured provider that continues.", show_default="the session's own")] = None,
    hint: Annotated[str | None, typer.Option(help="A hint that the agents read before the first new call.")] = None,
    url: ServerUrl = None,
    token: Token = None,
) -> None:
    """Start a new investigation from a step of an earlier one, with another model or a hint. Print the id of the new session."""
    from tarsy.cli.client import TarsyClient, call_server

    if turn is not None and agent is None:
        raise typer.BadParameter("--turn needs --agent, which names the agent that made the call")
    if hint is not None:
        _require_text("hint", hint)
    if from_step is not None and agent is not None:
        raise typer.BadParameter("--from-step counts the calls of all agents; with --agent, use --turn")

    async def start(client: TarsyClient) -> str:
        session_id = await client.session_id(session)
        trace = await client.trace(session_id)
        place = _step(trace, from_step or 0) if agent is None else {"execution_id": _execution(trace, agent), "turn": turn or 0}
        changes = {"model": model, "hint": hint}
        return await client.fork(session_id, place | {name: value for name, value in changes.items() if value})

    typer.echo(call_server(url, token, start))


def _step(trace: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Return the place of the call after the first `number` calls. Calls that summarise a tool result or judge quotations do not count."""
    from tarsy.domain.interaction import SIDE_CALL_KINDS

    calls = [call for call in trace["llm"] if call["kind"] not in SIDE_CALL_KINDS]
    if number >= len(calls):
        last = f"the last is call {len(calls)}" if calls else "it has none"
        raise ServerRefusedError(f"This session has no model call {number + 1} to repeat: {last}.")
    return {"execution_id": calls[number]["execution_id"], "turn": calls[number]["turn"]}


def _execution(trace: Mapping[str, Any], wanted: str) -> str:
    """Return the id of the execution with this id, agent name or call id."""
    agents: Sequence[Mapping[str, Any]] = trace["executions"]
    meant = [one for one in agents if wanted in {one["id"], one["agent_name"], one["dispatched_by"]}]
    if len(meant) == 1:
        return meant[0]["id"]
    named = ", ".join(f"{one['agent_name']} ({one['dispatched_by'] or one['id']})" for one in meant or agents)
    if meant:
        raise ServerRefusedError(f"This session has {len(meant)} agents {wanted}: name one by the id in brackets: {named}.")
    raise ServerRefusedError(f"This session has no agent {wanted}: {named or 'none has started'}.")


samples = typer.Typer(no_args_is_help=True)


@samples.command("list")
def list_all() -> None:
    """List the sample incidents and what each is about."""
    from tarsy.demo.samples import list_samples

    print_table(("SAMPLE", "TITLE"), ((sample.name, sample.title) for sample in list_samples()))


def demo(
    name: Annotated[str | None, typer.Argument(help="A sample incident.", show_default="the first one")] = None,
    *,
    fast: Annotated[bool, typer.Option("--fast", help="Play the recorded answers without pauses.")] = False,
    ask: Annotated[bool, typer.Option("--ask", help="Afterwards, ask the questions that come with the sample.")] = False,
) -> None:
    """Watch TARSy investigate a sample incident. The cluster is simulated and, without a vendor's key, the answers of the model are recorded; everything else is real."""
    from tarsy.cli.live_view import run_sample
    from tarsy.config.load.loader import load_config
    from tarsy.demo.samples import UnknownSampleError, list_samples, load_sample
    from tarsy.wiring.installation import sample_model

    try:
        sample = load_sample(name) if name else list_samples()[0]
    except UnknownSampleError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from error
    settings = process_settings(replay_speed=0.0 if fast else None)
    model = sample_model(load_config(settings.config_dir, settings.env).config)
    about = f"The model is {model.model} ({model.name})" if model else "The model is recorded"
    typer.echo(f"{sample.title}\n{sample.description}\n{about}; the cluster is simulated.\n")
    questions = sample.questions if ask else ()
    succeeded = anyio.run(run_sample, settings, sample.alert_data, sample.alert_type, questions)
    raise typer.Exit(0 if succeeded else 1)
