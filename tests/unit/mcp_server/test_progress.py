"""The notifications of progress that a waiting client gets."""

from typing import Any

import pytest

from tarsy.mcp_server.progress import progress_text


@pytest.mark.parametrize(
    ("event", "text"),
    [
        ({"type": "stage.started", "stage_name": "investigation"}, "Stage investigation"),
        (
            {
                "type": "timeline_event.created",
                "event": {"event_type": "tool_result", "metadata": {"server_name": "k8s", "tool_name": "pods"}},
            },
            "Calls k8s.pods",
        ),
        ({"type": "timeline_event.created", "event": {"event_type": "llm_thinking", "metadata": {}}}, "Thinks"),
        ({"type": "session.status", "status": "in_progress", "waiting_reason": None}, "Is in progress"),
        ({"type": "session.status", "status": "waiting", "waiting_reason": "No model answers."}, "No model answers."),
        ({"type": "approval.changed", "state": "pending", "server": "k8s", "tool": "scale"}, "Waits for a person's approval of k8s.scale"),
        ({"type": "approval.changed", "state": "approved", "server": "k8s", "tool": "scale"}, ""),
        ({"type": "session.concluded"}, "Has a verdict"),
        ({"type": "stream.chunk", "delta": "The pod"}, ""),
    ],
)
def test_an_event_is_shown_as_a_short_text(event: dict[str, Any], text: str) -> None:
    assert progress_text(event) == text
