"""An investigation in the terminal: each step as it ends, below it the text that is being written, and the analysis at the end."""

from collections.abc import Mapping
from contextlib import aclosing
from typing import Any, Self

from rich.console import Console
from rich.markdown import Markdown
from rich.panel import Panel
from rich.status import Status
from rich.text import Text

from tarsy.cli.client import OVERFLOW, TarsyClient, connect
from tarsy.cli.terminal import cost_text, object_name, without_control_characters
from tarsy.settings import Settings

_MARKS = {
    "llm_thinking": ("·", "dim"),
    "llm_response": ("»", "default"),
    "llm_tool_call": ("→", "cyan"),
    "tool_result": ("←", "green"),
    "mcp_tool_summary": ("≈", "green"),
    "final_analysis": ("✔", "bold green"),
    "executive_summary": ("✔", "bold"),
    "error": ("✘", "red"),
    "warning": ("!", "yellow"),
    "user_question": ("?", "bold"),
    "code_execution": ("▸", "cyan"),
    "google_search_result": ("▸", "cyan"),
    "url_context_result": ("▸", "cyan"),
    "provider_fallback": ("↷", "yellow"),
    "note": ("✎", "bold"),
}
_STATUS_STYLE = {"failed": "red", "timed_out": "red", "cancelled": "yellow", "interrupted": "yellow"}
_LONGEST_LINE = 200
# Printed in full at the end instead.
_AT_THE_END = frozenset({"final_analysis", "executive_summary"})
RECORDED = "RECORDED MODEL: no model is called. These answers were recorded for this sample and are played back."


class LiveView:
    """Renders live events."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status: Status = console.status("waiting for a worker")
        self._events: dict[str, dict[str, Any]] = {}
        self._text: dict[str, str] = {}
        # By execution; empty for an agent that works alone.
        self._agents: dict[str, str] = {}
        # The stages whose names are printed.
        self._stages: set[str] = set()

    def __enter__(self) -> Self:
        self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._status.stop()

    def knows_agent(self, event: dict[str, Any]) -> bool:
        """Return whether `name_agents` has seen the agent of this event."""
        execution = event.get("event", {}).get("execution_id")
        return execution is None or execution in self._agents

    def name_agents(self, session: dict[str, Any]) -> None:
        """Learn the names of the agents of a session that work in parallel."""
        for stage in session.get("stages", ()):
            executions = stage["executions"]
            self._agents |= {
                one["id"]: _name(one, executions) if stage["expected_agent_count"] > 1 or _is_dispatched(one) else "" for one in executions
            }

    def _agent(self, entry: dict[str, Any]) -> str:
        name = self._agents.get(entry.get("execution_id") or "")
        return f"[{without_control_characters(name)}] " if name else ""

    def show(self, event: dict[str, Any]) -> None:
        match event.get("type"):
            case "stage.started":
                self._begin_stage(event["stage_id"], event["stage_name"])
            case "timeline_event.created":
                self._created(event["event"])
            case "timeline_event.completed":
                self._completed(event)
            case "stream.chunk":
                text = self._text.get(event["event_id"], "")[: event["offset"]] + event["delta"]
                self._text[event["event_id"]] = text
                tail = without_control_characters(" ".join(text.split())[-80:])
                self._status.update(Text(self._agent(self._events.get(event["event_id"], {})) + tail, style="dim"))
            case "session.status" if event["status"] == "waiting":
                self._status.update(Text(without_control_characters(f"waiting: {event.get('waiting_reason') or 'it continues by itself'}")))
            case _:
                pass

    def show_missed(self, session: dict[str, Any], timeline: list[dict[str, Any]]) -> None:
        """Print what is new in a session and its timeline, after live events were left out."""
        self.name_agents(session)
        names = {stage["id"]: stage["stage_name"] for stage in session["stages"]}
        for entry in timeline:
            if name := names.get(entry["stage_id"]):
                self._begin_stage(entry["stage_id"], name)
            self._created(entry)

    def _begin_stage(self, stage_id: str, name: str) -> None:
        if stage_id not in self._stages:
            self._stages.add(stage_id)
            self._console.print(Text(f"\n{name}", style="bold underline"))

    def _is_printed(self, entry_id: str) -> bool:
        return entry_id in self._events and self._events[entry_id]["status"] != "streaming"

    def _created(self, entry: dict[str, Any]) -> None:
        if self._is_printed(entry["id"]):
            return
        self._events[entry["id"]] = entry
        if entry["status"] != "streaming":
            self._print(entry)
        else:
            self._status.update(Text(self._agent(entry) + _label(entry)))

    def _completed(self, event: dict[str, Any]) -> None:
        entry = self._events.get(event["event_id"])
        if entry is None or self._is_printed(entry["id"]):
            return
        entry |= {"content": event["content"], "status": event["status"], "metadata": {**entry["metadata"], **event["metadata"]}}
        entry["event_type"] = event.get("event_type") or entry["event_type"]
        self._text.pop(entry["id"], None)
        self._print(entry)
        self._status.update("working")

    def _print(self, entry: dict[str, Any]) -> None:
        # A server of a newer version may have further kinds.
        mark, style = _MARKS.get(entry["event_type"], ("•", "default"))
        if entry["event_type"] in _AT_THE_END and entry["status"] == "completed":
            return
        line = Text(self._agent(entry), style="bold magenta")
        line.append(f"{mark} ", style=_STATUS_STYLE.get(entry["status"], style))
        words = " ".join(str(entry["content"]).split())
        if entry["event_type"] in {"llm_tool_call", "tool_result"}:
            words = f"{_tool(entry)} {words}"
        words = without_control_characters(words)
        line.append(words if len(words) <= _LONGEST_LINE else words[:_LONGEST_LINE] + "…")
        self._console.print(line)


def _name(execution: dict[str, Any], beside: list[dict[str, Any]]) -> str:
    """Return the name of an agent, with its index if several agents have the same name."""
    name = execution["agent_name"]
    if _is_dispatched(execution):
        return f"{name} {execution['dispatched_by']}"
    shared = sum(one["agent_name"] == name for one in beside) > 1
    return f"{name} {execution['agent_index']}" if shared else name


def _is_dispatched(execution: dict[str, Any]) -> bool:
    """Return whether another agent dispatched this one. Servers of older versions do not say."""
    return execution.get("parent_execution_id") is not None


def _label(entry: dict[str, Any]) -> str:
    if entry["event_type"] == "tool_result":
        return f"{_tool(entry)} is running"
    return "thinking" if entry["event_type"] == "llm_thinking" else "writing"


def _tool(entry: dict[str, Any]) -> str:
    metadata = entry["metadata"]
    return ".".join(part for part in (metadata.get("server_name"), metadata.get("tool_name")) if part) or "tool"


async def follow(client: TarsyClient, session_id: str, console: Console) -> bool:
    """Show a session until it ends; return whether it completed."""
    print_recorded(console, await client.session(session_id))
    with LiveView(console) as view:
        async with aclosing(client.events(session_id)) as events:
            async for event in events:
                if event.get("type") == OVERFLOW:
                    session = await client.session(session_id)
                    view.show_missed(session, await client.timeline(session_id))
                    if session["completed_at"]:
                        break
                if not view.knows_agent(event):
                    view.name_agents(await client.session(session_id))
                view.show(event)
                if event.get("type") == "session.completed":
                    break
    session = await client.session(session_id)
    print_end(console, session)
    return session["status"] == "completed"


async def answer_question(client: TarsyClient, session_id: str, question: str, console: Console) -> bool:
    """Ask a question and show the answer, without earlier events; return whether there was one."""
    last_event = await client.last_event(session_id)
    asked = await client.ask_question(session_id, question)
    with LiveView(console) as view:
        async with aclosing(client.events(session_id, after=last_event)) as events:
            async for event in events:
                view.show(event)
                if event.get("type") == OVERFLOW:
                    view.show_missed(await client.session(session_id), await client.timeline(session_id, after=last_event))
                elif event.get("type") != "chat.message" or event.get("message_id") != asked["id"]:
                    continue
                asked = await client.question(session_id, asked["id"])
                if asked["completed_at"]:
                    break
    answer = ""
    entries = [one for one in await client.timeline(session_id, after=last_event) if one["stage_id"] == asked["stage_id"]]
    for entry in entries:
        # The first entry is that of the agent that was asked; others are those of its sub-agents.
        own = entries[0]["execution_id"]
        if (entry["execution_id"], entry["event_type"], entry["status"]) == (own, "final_analysis", "completed"):
            answer = entry["content"]
    console.print(
        Markdown(without_control_characters(answer))
        if answer
        else Text(without_control_characters(asked["error_message"] or "No answer."), style="red")
    )
    return bool(answer)


def print_recorded(console: Console, session: dict[str, Any]) -> None:
    """Print a notice if the answers of the model are recorded."""
    if session.get("recorded"):
        console.print(Panel(Text(RECORDED, style="bold"), border_style="yellow"))


def print_end(console: Console, session: dict[str, Any]) -> None:
    """Print the result of a session."""
    console.print()
    print_recorded(console, session)
    print_verdict(console, session)
    if session.get("executive_summary"):
        console.print(Panel(Markdown(without_control_characters(session["executive_summary"])), title="Summary", border_style="green"))
    if session.get("final_analysis"):
        partial = " (partial)" if session.get("analysis_is_partial") else ""
        console.print(Panel(Markdown(without_control_characters(session["final_analysis"])), title=f"Analysis{partial}"))
    if session.get("analysis_partial_reason"):
        console.print(Text(without_control_characters(f"partial: {session['analysis_partial_reason']}"), style="yellow"))
    if session.get("error_message"):
        console.print(Text(without_control_characters(f"{session['status']}: {session['error_message']}"), style="red"))
    spending = cost_text(session.get("cost") or {})
    end = f"session {session['id']} {session['status']} after {(session.get('duration_ms') or 0) / 1000:.1f} s"
    console.print(Text(f"{end}, {spending}" if spending else end, style="dim"))


def print_verdict(console: Console, session: dict[str, Any]) -> None:
    """Print the verdict, its confidence and how many citations were verified."""
    verdict, citations = session.get("verdict"), session.get("citations")
    if verdict:
        named = object_name(verdict["object"])
        because = f" ({verdict['confidence_reason']})" if verdict["confidence_reason"] else ""
        lines = [
            f"{verdict['outcome'].replace('_', ' ')}: {named}" if named else verdict["outcome"].replace("_", " "),
            verdict["mechanism"],
            f"confidence {verdict['confidence']}{because}",
            f"since {verdict['since']}" if verdict["since"] else "",
            f"still happening: {verdict['still_happening']}",
        ]
        console.print(
            Panel(Text(without_control_characters("\n".join(line for line in lines if line))), title="Verdict", border_style="cyan")
        )
    if citations and citations["cited"]:
        console.print(Text(f"{citations['verified']} of {citations['cited']} citations verified", style="dim"))


async def investigate_there(
    url: str, token: str | None, text: str, alert_type: str | None, runbook: str | None, budget: Mapping[str, Any] | None
) -> bool:
    """Submit the alert to a running server and follow the session."""
    async with connect(url, token) as client:
        session_id = await client.submit(text, alert_type, runbook, budget)
        return await follow(client, session_id, Console())


async def investigate_here(
    settings: Settings, text: str, alert_type: str | None, runbook: str | None, budget: Mapping[str, Any] | None
) -> bool:
    """Run a server in this process for the time of the investigation, and follow the session."""
    from tarsy.server import local_server

    async with local_server(settings) as server, connect(server.url, server.token) as client:
        session_id = await client.submit(text, alert_type, runbook, budget)
        server.work_on(session_id)
        return await follow(client, session_id, Console())


async def run_sample(settings: Settings, alert: str, alert_type: str, questions: tuple[str, ...]) -> bool:
    """Investigate a sample in this process, then ask its questions."""
    from tarsy.server import local_server

    console = Console()
    async with local_server(settings) as server, connect(server.url, server.token) as client:
        session_id = await client.submit(alert, alert_type, None)
        server.work_on(session_id)
        succeeded = await follow(client, session_id, console)
        answered = [await answer_question(client, session_id, question, console) for question in questions]
    return succeeded and all(answered)
