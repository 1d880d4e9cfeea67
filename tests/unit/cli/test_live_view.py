"""An investigation on a terminal."""

import io
from typing import Any

import pytest
from rich.console import Console

from tarsy.cli.live_view import LiveView, print_end, print_verdict
from tarsy.cli.terminal import print_table, without_control_characters
from tarsy.domain.timeline import TimelineEventType

# Clears the screen, and names the window.
ORDERS = "\x1b[2J\x1b]0;owned\x07\x9b2J"


def _entry(kind: str, content: str) -> dict[str, Any]:
    return {"id": kind, "event_type": kind, "status": "completed", "content": content, "metadata": {"tool_name": "pods_log"}}


def test_what_others_wrote_gives_the_terminal_no_orders() -> None:
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, color_system=None, width=80)
    with LiveView(console) as view:
        view.show({"type": "timeline_event.created", "event": _entry("tool_result", f"log {ORDERS} line")})
        view.show({"type": "stream.chunk", "event_id": "x", "offset": 0, "delta": f"text {ORDERS}"})
    session = {"id": "s", "status": "failed", "executive_summary": ORDERS, "final_analysis": f"`{ORDERS}`", "error_message": ORDERS}
    print_end(console, session)
    assert "log" in file.getvalue()
    assert not [order for order in ("\x1b[2J", "\x1b]0;", "\x9b") if order in file.getvalue()]


def test_lines_and_letters_of_all_kinds_stay() -> None:
    assert without_control_characters("a\tb\nÉ 日本 🔥 \u00a0") == "a\tb\nÉ 日本 🔥 \u00a0"


def test_every_kind_of_event_has_a_mark_and_one_of_a_newer_server_is_shown_too() -> None:
    file = io.StringIO()
    view = LiveView(Console(file=file))
    for kind in (*(kind.value for kind in TimelineEventType), "of_next_year"):
        view.show({"type": "timeline_event.created", "event": _entry(kind, kind)})
    assert [line for line in file.getvalue().splitlines() if line.startswith("•")] == ["• of_next_year"]


def _shown(*events: dict[str, Any], session: dict[str, Any]) -> list[str]:
    file = io.StringIO()
    with LiveView(Console(file=file, width=120)) as view:
        view.name_agents(session)
        for event in events:
            assert view.knows_agent(event)
            view.show(event)
    return file.getvalue().splitlines()


def _stage(*agents: str) -> dict[str, Any]:
    executions = [{"id": f"{name}-{index}", "agent_name": name, "agent_index": index} for index, name in enumerate(agents, start=1)]
    return {"expected_agent_count": len(agents), "executions": executions}


def _text_of(execution: str, content: str) -> dict[str, Any]:
    return {"type": "timeline_event.created", "event": _entry("llm_response", content) | {"id": content, "execution_id": execution}}


def test_agents_that_work_at_the_same_time_are_distinguished() -> None:
    session = {"stages": [_stage("Triage"), _stage("Network", "Storage", "Storage")]}
    events = [_text_of("Triage-1", "one"), _text_of("Network-1", "two"), _text_of("Storage-2", "three"), _text_of("Storage-3", "four")]
    assert _shown(*events, session=session) == ["» one", "[Network] » two", "[Storage 2] » three", "[Storage 3] » four"]


def test_an_agent_that_was_not_introduced_is_asked_for() -> None:
    view = LiveView(Console(file=io.StringIO()))
    assert not view.knows_agent(_text_of("Storage-2", "three"))
    assert view.knows_agent({"type": "session.completed"})


def test_a_parked_session_says_what_it_waits_for() -> None:
    file = io.StringIO()
    with LiveView(Console(file=file, force_terminal=True, color_system=None, width=80)) as view:
        view.show({"type": "session.status", "status": "waiting", "waiting_reason": "no model is available"})
    assert "waiting: no model is available" in file.getvalue()


def test_a_recorded_session_says_so_above_its_result() -> None:
    file = io.StringIO()
    print_end(Console(file=file, width=120), {"id": "s", "status": "completed", "final_analysis": "The disk.", "recorded": True})
    reported = file.getvalue()
    assert reported.index("RECORDED MODEL") < reported.index("The disk.")


VERDICT: dict[str, Any] = {
    "outcome": "no_fault",
    "object": {"kind": "Pod", "namespace": "shop", "name": "web-1"},
    "mechanism": "The disk is full.",
    "confidence": "medium",
    "confidence_reason": "no citation could be verified",
    "since": "03:02Z",
    "still_happening": "yes",
}


def _ended(**fields: Any) -> list[str]:
    file = io.StringIO()
    print_end(Console(file=file, width=100), {"id": "s", "status": "completed", "final_analysis": "Full.", **fields})
    return [line.strip("│ ") for line in file.getvalue().splitlines()]


def test_the_verdict_stands_above_the_analysis_with_its_confidence_and_why() -> None:
    lines = _ended(verdict=VERDICT, citations={"cited": 15, "verified": 14})
    reported = ["no fault: Pod/shop/web-1", "The disk is full.", "confidence medium (no citation could be verified)", "since 03:02Z"]
    begin = lines.index(reported[0])
    assert lines[begin : begin + 5] == [*reported, "still happening: yes"]
    assert begin < lines.index("14 of 15 citations verified") < lines.index("Full.")


def test_a_verdict_may_lack_its_object_and_a_session_its_verdict() -> None:
    bare = VERDICT | {"object": None, "since": "", "confidence_reason": ""}
    lines = _ended(verdict=bare, citations={"cited": 0, "verified": 0})
    assert [
        line for line in lines if line in {"no fault", "The disk is full.", "confidence medium", "still happening: yes"} or "since" in line
    ] == ["no fault", "The disk is full.", "confidence medium", "still happening: yes"]
    before = _ended(verdict=None, citations=None)
    assert not any("Verdict" in line or "citations" in line for line in before)
    assert "Full." in before


def test_a_verdict_gives_the_terminal_no_orders() -> None:
    file = io.StringIO()
    hostile = VERDICT | {
        "mechanism": ORDERS,
        "object": {"kind": ORDERS, "namespace": "", "name": ORDERS},
        "confidence_reason": "[red]x[/red]",
    }
    print_verdict(Console(file=file, force_terminal=True, color_system=None, width=80), {"verdict": hostile, "citations": None})
    assert "([red]x[/red])" in file.getvalue(), "markup is no order either"
    assert not [order for order in ("\x1b[2J", "\x1b]0;", "\x9b") if order in file.getvalue()]


def test_no_terminal_is_too_narrow_for_an_id_or_an_amount(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    row = (
        "93d82d34",
        "2026-11-18 13:45Z",
        "completed",
        "$12.34",
        "fault Deployment/shop/recommender (high)",
        "A service runs out of memory",
    )
    for columns in (20, 80, 120):
        monkeypatch.setenv("COLUMNS", str(columns))
        print_table(("SESSION", "CREATED", "STATUS", "COST", "VERDICT", "TITLE"), [row])
        printed = capsys.readouterr().out.splitlines()
        assert all(cell in printed[1] for cell in row[:4])
        words = " ".join(printed).split()
        assert all(word in words for cell in row for word in cell.split())
    print_table(("SERVER", "PIN"), [])
    assert "SERVER" in capsys.readouterr().out
