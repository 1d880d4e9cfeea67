"""Agents whose tool does not answer until the test releases it, so that a user's actions do not race with the end of the session."""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Route, expect

from support.browser import assert_accessible, close_pages, expect_status, follow, loaded_page
from support.dashboard_sessions import submit_alert
from support.paths import FAULT_SERVER
from support.recorded_server import recorded_server, says
from support.tarsy_process import Served

pytestmark = [pytest.mark.xdist_group("dashboard"), pytest.mark.timeout(180)]

GATE = {"transport": {"type": "stdio", "command": sys.executable, "args": [str(FAULT_SERVER)]}, "approval": "never"}
# More lines than fit on a screen.
LONG = "\n\n".join(f"Line {number} of what the agent thinks aloud." for number in range(60))
ANALYSIS = """\
The gate was opened [A1: "done"].

## Do now

Nothing.

```verdict
outcome: no_fault
mechanism: the gate was opened
confidence: high
evidence: [A1]
```
"""


@dataclass(frozen=True)
class Held:
    served: Served
    directory: Path

    def release(self, alert_type: str) -> None:
        """Let the tools of all sessions of this type answer."""
        (self.directory / alert_type).touch()


@pytest.fixture(scope="module")
def held(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Held]:
    directory = tmp_path_factory.mktemp("held")

    def waits(track: str, alert_type: str) -> dict[str, Any]:
        arguments = {"marker": str(directory / alert_type)}
        return says(track, 0, {"text": LONG}, {"tool_call": {"id": "call-1", "name": "gate.say_and_wait", "arguments": arguments}})

    calls = (
        waits("0.look/1.GateAgent", "one"),
        says("0.look/1.GateAgent", 1, {"text": ANALYSIS}),
        waits("0.triage/1.ApplicationAgent", "two"),
        waits("0.triage/2.NetworkAgent", "two"),
        says("0.triage/1.ApplicationAgent", 1, {"text": ANALYSIS}),
        says("1.triage synthesis/1.SynthesisAgent", 0, {"text": ANALYSIS}),
        *(says(f"{stage}.executive summary/1.ExecSummaryAgent", 0, {"text": "The gate was opened."}) for stage in (1, 2)),
    )
    names = ("GateAgent", "ApplicationAgent", "NetworkAgent")
    more: dict[str, Any] = {
        "mcp_servers": {"gate": GATE},
        "agents": {**{name: {"mcp_servers": ["gate"]} for name in names}, "SilentAgent": {"mcp_servers": []}},
        "agent_chains": {
            "one": {"alert_types": ["one"], "stages": [{"name": "look", "agents": [{"name": "GateAgent"}]}]},
            "two": {"alert_types": ["two"], "stages": [{"name": "triage", "agents": [{"name": name} for name in names[1:]]}]},
        },
        "defaults": {"llm_provider": "tape", "alert_type": "one"},
    }
    with recorded_server(directory, *calls, speed="0", **more) as running:
        yield Held(running, directory)
        close_pages(browser, running.url)


def as_live(route: Route) -> None:
    """Let the page take the session for one of a model that is called, which accepts hints."""
    response = route.fetch()
    route.fulfill(response=response, json={**response.json(), "recorded": False})


def test_a_reader_who_went_to_the_top_has_the_hint_field_and_stays_there_when_the_session_ends(browser: Browser, held: Held) -> None:
    with loaded_page(browser, held.served.url) as page, held.served.client() as http:
        page.route(re.compile(r"/api/v1/sessions/[0-9a-f-]{36}$"), as_live)
        follow(page, f"/sessions/{submit_alert(http, 'one')}")
        page.get_by_role("feed").get_by_text("gate.say_and_wait").first.wait_for()
        # The page is longer than the window, so that it could scroll.
        page.wait_for_function("() => document.documentElement.scrollHeight > 1.5 * window.innerHeight")
        page.mouse.move(400, 400)
        page.mouse.wheel(0, -20_000)
        page.get_by_role("button", name="Follow live").wait_for()
        page.wait_for_function("() => window.scrollY === 0")
        expect(page.get_by_label("Tell the agents something")).to_be_in_viewport(ratio=1)
        page.evaluate(
            "window.furthest = 0; addEventListener('scroll', () => { window.furthest = Math.max(window.furthest, window.scrollY) })"
        )
        held.release("one")
        expect_status(page, "Completed")
        expect(page.get_by_role("region", name="Verdict")).to_be_in_viewport()
        assert page.evaluate("window.furthest") == 0


def test_one_of_two_agents_is_stopped_and_the_other_brings_the_session_to_its_end(browser: Browser, held: Held) -> None:
    with loaded_page(browser, held.served.url) as page, held.served.client() as http:
        follow(page, f"/sessions/{submit_alert(http, 'two')}")
        page.get_by_role("tab", name="NetworkAgent Running").click()
        expect(page.get_by_role("button", name="Stop ApplicationAgent")).to_have_count(0)
        page.get_by_role("button", name="Side by side").click()
        page.get_by_role("button", name="Stop ApplicationAgent").wait_for()
        page.get_by_role("button", name="Stop NetworkAgent").click()
        stages = page.get_by_role("list", name="Stages")
        stages.get_by_role("button", name=re.compile("^triage Running")).wait_for()
        stages.get_by_role("button", name="ApplicationAgent Running").wait_for()
        stages.get_by_role("button", name="NetworkAgent Cancelled").wait_for()
        expect(page.get_by_role("button", name="Stop NetworkAgent")).to_have_count(0)
        expect_status(page, "Running")
        assert_accessible(page, "agent-stopped", stages)

        held.release("two")
        expect_status(page, "Completed")
        stages.get_by_role("button", name=re.compile("^triage Completed")).wait_for()
        stages.get_by_role("button", name="ApplicationAgent Completed").wait_for()
        stages.get_by_role("button", name="NetworkAgent Cancelled").wait_for()
        page.get_by_role("heading", name="Do now").first.wait_for()
