"""Sessions as the dashboard's tests need them: submitted, and waited for."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

# Slow enough to be seen streaming, fast enough for a test: four times the pace of a real model.
SPEED = "4"
# Submits an alert whose session stays as it is until it is cancelled.
Silent = Callable[..., str]


def submit(http: httpx.Client, name: str) -> str:
    samples: list[dict[str, Any]] = http.get("/api/v1/samples").raise_for_status().json()["samples"]
    sample = next(sample for sample in samples if sample["name"] == name)
    return submit_alert(http, sample["alert_type"], sample["alert_data"])


def submit_alert(http: httpx.Client, alert_type: str, data: str = "something is wrong") -> str:
    alert = {"data": data, "alert_type": alert_type}
    return http.post("/api/v1/alerts", json=alert).raise_for_status().json()["session_id"]


def wait_for_end(http: httpx.Client, session: str) -> None:
    with http.stream("GET", f"/api/v1/sessions/{session}/events", params={"last_event_id": 0}) as events:
        for line in events.iter_lines():
            if line == "event: session.completed":
                return
    pytest.fail(f"session {session} did not end")
