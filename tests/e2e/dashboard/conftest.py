"""One server and one browser for the dashboard's tests."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Playwright, sync_playwright

from support.browser import ROOT, THRIFTY, launch
from support.dashboard_sessions import SPEED, submit, wait_for_end
from support.recorded_server import AGENT, FAST, LATE, SENDER, SENT, SIMULATED, SUMMARY, call, chain, recorded_server, says
from support.stored_notifications import store_notifications
from support.tarsy_process import Served, served

# An analysis of which one citation is true, one quotes nothing, and one is made up.
CITING = """\
The pods were listed.

## Do now

```
kubectl -n shop rollout undo deployment/cart
```

Risk: low. Verify: three ready pods. Undo: sync again.

## Why

- A new pod does not start [A1: "cart-6f7b9c4d8-9kq2m 0/1 CrashLoopBackOff"], the others do [A1].
- The node is at fault [A1: "cart-6f7b9c4d8-9kq2m burns node-9"].

```verdict
outcome: fault
object: Deployment/shop/cart
mechanism: A new pod of the cart does not start.
confidence_object: high
confidence_mechanism: high
since: yesterday
still_happening: yes
evidence: [A1]
```
"""
# An analysis that a challenge can uphold: its one citation is true.
SURE = """\
The pods were listed [A1: "cart-6f7b9c4d8-9kq2m 0/1 CrashLoopBackOff"].

```verdict
outcome: fault
object: Deployment/shop/cart
mechanism: A new pod of the cart does not start.
confidence_object: high
confidence_mechanism: high
evidence: [A1]
```
"""
# A target at an address where nothing listens, for events that these tests do not make.
NOTIFY = """\
notify:
  targets: {ticket-bot: {webhook: {url: "http://127.0.0.1:9/tarsy"}}}
  rules: [{on: [resolved], to: [ticket-bot]}]
"""


@pytest.fixture(scope="package")
def playwright() -> Iterator[Playwright]:
    """Package scope, not session scope: while Playwright runs, no other test of the process can have an event loop."""
    with sync_playwright() as running:
        yield running


@pytest.fixture(scope="package")
def browser(playwright: Playwright) -> Iterator[Browser]:
    with launch(playwright, *THRIFTY) as running:
        yield running


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server whose recorded models answer at once: for tests of sessions that have ended."""
    assert (ROOT / "src/tarsy/api/static/index.html").exists(), "the dashboard is not built: run `make setup`"
    directory = tmp_path_factory.mktemp("dashboard")
    (directory / "config").mkdir()
    (directory / "config" / "tarsy.yaml").write_text(NOTIFY)
    with served(directory) as running:
        yield running


@pytest.fixture(scope="package")
def paced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server whose recorded models stream slowly: for tests of running sessions."""
    with served(tmp_path_factory.mktemp("paced"), env={"TARSY_REPLAY_SPEED": SPEED}) as running:
        yield running


@pytest.fixture(scope="package")
def finished(server: Served) -> dict[str, str]:
    """Sessions of two samples that have ended, by the sample's name: one agent, reviewed, with notifications, and two agents side by side."""
    with server.client() as http:
        sessions = {name: submit(http, name) for name in ("crashloop", "dns-outage")}
        for session in sessions.values():
            wait_for_end(http, session)
        review = {"useful": True, "accuracy": "accurate", "actual_cause": "A broken configuration."}
        http.post(f"/api/v1/sessions/{sessions['crashloop']}/review", json=review).raise_for_status()
    store_notifications(server, sessions["crashloop"])
    return sessions


@pytest.fixture(scope="package")
def configured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with a configuration of its own, one session at a time."""
    calls = (
        says(AGENT, 0, call(1, "pods_list", namespace="shop"), call(2, "secrets_list", namespace="shop")),
        says(AGENT, 1, {"text": CITING}),
        # Asked to correct the made-up quotation, the model repeats it.
        says(AGENT, 2, {"text": CITING}),
        says(SUMMARY, 0, {"text": "Pods only."}),
        # A question that is answered so late that it has to be stopped.
        says("2.chat/1.ChatAgent", 0, LATE),
        says(SENDER, 0, {"tool_call": {"id": "s", "name": "tarsy.run_agent", "arguments": {"name": "LogAgent", "task": "Who restarts?"}}}),
        says(SENT, 0, call(3, "pods_list", namespace="shop")),
        says(SENT, 1, {"text": 'The cart does [A1.1: "cart-6f7b9c4d8-9kq2m 0/1 CrashLoopBackOff"].'}),
        says(SENDER, 1, {"text": CITING.replace("A1", "A1.1")}),
        says(SENDER, 2, {"text": CITING.replace("A1", "A1.1")}),
        says(
            "0.repair/1.RepairAgent",
            0,
            *(call(number, "pods_log", "standby", namespace="shop", name=f"cart-{number}") for number in (1, 2)),
        ),
        says("0.repair/1.RepairAgent", 1, {"text": CITING}),
        says("0.hurry/1.HastyAgent", 0, call(1, "pods_list", namespace="shop")),
        says("0.hurry/1.HastyAgent", 1, {"text": CITING}),
        says("0.judge/1.SureAgent", 0, call(1, "pods_list", namespace="shop")),
        says("0.judge/1.SureAgent", 1, {"text": SURE}),
        says("1.challenge/1.ChallengeAgent", 0, {"text": "Nothing speaks against it.\n\nresult: upheld"}),
        says("2.executive summary/1.ExecSummaryAgent", 0, {"text": "The cart does not start."}),
        # More calls than a page may miss, then an answer of forty words a second that never ends.
        says("0.talk/1.TalkAgent", 0, *(call(number, "pods_list", label_selector=f"number={number}") for number in range(120))),
        says("0.talk/1.TalkAgent", 1, *({"after": FAST / 40, "text": f"word{number} "} for number in range(400)), LATE),
    )
    servers = {"cluster": {"transport": SIMULATED}, "standby": {"transport": SIMULATED, "approval": "always"}}
    agents: dict[str, dict[str, Any]] = {
        "RepairAgent": {"mcp_servers": ["standby"]},
        "HastyAgent": {"mcp_servers": ["cluster"], "max_iterations": 1},
        "LostAgent": {"mcp_servers": []},
        "SureAgent": {"mcp_servers": ["cluster"]},
        "TalkAgent": {"mcp_servers": ["cluster"]},
    }
    chains = {
        "repair": chain("repair", ("repair", "RepairAgent")),
        "hurry": chain("hurry", ("hurry", "HastyAgent")),
        # The second agent has no recorded answer.
        "unfinished": chain("unfinished", ("look", "PodAgent"), ("continue", "LostAgent")),
        "challenged": chain("challenged", ("judge", "SureAgent")) | {"challenge": True},
        "talk": chain("talk", ("talk", "TalkAgent")),
    }
    directory = tmp_path_factory.mktemp("configured")
    with recorded_server(directory, *calls, servers=tuple(servers), more_agents=agents, more_chains=chains, mcp_servers=servers) as running:
        yield running


@pytest.fixture
def silent(configured: Served) -> Iterator[Callable[..., str]]:
    """Submit an alert whose session stays as it is until it is cancelled, at the end of the test at the latest."""
    submitted: list[str] = []
    with configured.client() as http:

        def submit_silent(data: str = "Nothing to be heard.") -> str:
            answer = http.post("/api/v1/alerts", json={"data": data, "alert_type": "silence"}).raise_for_status()
            submitted.append(answer.json()["session_id"])
            return submitted[-1]

        yield submit_silent
        http.post("/api/v1/cancellations", params={"alert_type": "silence"}).raise_for_status()
        for session in submitted[:1]:
            wait_for_end(http, session)
