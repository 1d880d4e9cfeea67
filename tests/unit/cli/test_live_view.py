"""An investigation on a terminal."""

import io
from typing import Any

from rich.console import Console

from tarsy.cli.live_view import LiveView, print_end
from tarsy.cli.terminal import harmless
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
    assert harmless("a\tb\nÉ 日本 🔥 \u00a0") == "a\tb\nÉ 日本 🔥 \u00a0"


def test_every_kind_of_event_has_a_mark() -> None:
    view = LiveView(Console(file=io.StringIO()))
    for kind in TimelineEventType:
        view.show({"type": "timeline_event.created", "event": _entry(kind.value, "x")})
