"""One server and one browser for the dashboard's tests."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, sync_playwright

from e2e.dashboard.browser import ROOT, launch
from e2e.tarsy_process import Served, served

# Slow enough to be seen streaming, fast enough for a test: four times the pace of a real model.
SPEED = "4"


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Of this package, not of the session: while Playwright runs, no other test of the process could have an event loop."""
    with sync_playwright() as playwright:
        running = launch(playwright)
        yield running
        running.close()


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    assert (ROOT / "src/tarsy/api/static/index.html").exists(), "the dashboard is not built: run `make setup`"
    with served(tmp_path_factory.mktemp("dashboard"), env={"TARSY_REPLAY_SPEED": SPEED}) as running:
        yield running


@pytest.fixture(scope="package")
def finished(server: Served) -> dict[str, str]:
    """Sessions of two samples that have ended, by the sample's name: one agent, and two agents side by side."""
    with server.client() as http:
        sessions = {name: submit(http, name) for name in ("crashloop", "dns-outage")}
        for session in sessions.values():
            wait_for_end(http, session)
    return sessions


def submit(http: httpx.Client, name: str) -> str:
    samples: list[dict[str, Any]] = http.get("/api/v1/samples").raise_for_status().json()["samples"]
    sample = next(sample for sample in samples if sample["name"] == name)
    alert = {"data": sample["alert_data"], "alert_type": sample["alert_type"]}
    return http.post("/api/v1/alerts", json=alert).raise_for_status().json()["session_id"]


def wait_for_end(http: httpx.Client, session: str) -> None:
    with http.stream("GET", f"/api/v1/sessions/{session}/events", params={"last_event_id": 0}) as events:
        for line in events.iter_lines():
            if line == "event: session.completed":
                return
    pytest.fail(f"session {session} did not end")
