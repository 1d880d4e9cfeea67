"""The tree of agents and the skills they load, as a reader finds them on the page of a session."""

import re

import pytest
from playwright.sync_api import Browser, expect

from support.browser import PHONE, assert_accessible, assert_fits, follow, loaded_page, picture, resize
from support.dashboard_sessions import submit, wait_for_end
from support.tarsy_process import Served

pytestmark = [pytest.mark.xdist_group("dashboard"), pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def sessions(server: Served) -> dict[str, str]:
    """A lead with three specialists, and an agent that loads a skill."""
    with server.client() as http:
        submitted = {name: submit(http, name) for name in ("hourly-timeouts", "stale-certificate")}
        for session in submitted.values():
            wait_for_end(http, session)
    return submitted


def test_sub_agents_are_shown_at_the_call_that_started_them_with_links_there_and_back(
    browser: Browser, server: Served, sessions: dict[str, str]
) -> None:
    address = f"/sessions/{sessions['hourly-timeouts']}"
    with loaded_page(browser, server.url) as page:
        follow(page, address)
        agents = page.get_by_role("list", name="Agents of investigation")
        agents.scroll_into_view_if_needed()
        picture(page, "agent-graph-light")
        agents.get_by_role("button", name="Lead Completed").click()
        feed = page.get_by_role("feed")
        # The task and the conclusion are visible without opening an entry.
        expect(feed.get_by_text("LogAgent was sent").first).to_be_in_viewport()
        feed.get_by_text("What do its pods log while it fails").wait_for()
        report = feed.get_by_role("region", name="Report of LogAgent").first
        expect(report).to_contain_text("Checkout waits in vain for a database connection")
        report.get_by_role("link", name=re.compile(r"A1\.1 \(verified\)")).first.wait_for()
        assert_accessible(page, "agent-graph", agents)
        assert_accessible(page, "agent-tree", feed.get_by_role("article").filter(has_text="LogAgent was sent").first)

        agents.get_by_role("button", name=re.compile("ChangeAgent")).click()
        sent = feed.get_by_role("article").filter(has_text="ChangeAgent was sent")
        expect(sent).to_be_in_viewport()
        sent.get_by_role("button", name="Hide its work").wait_for()
        back = feed.get_by_role("button", name="Back to the call that sent ChangeAgent")
        back.scroll_into_view_if_needed()
        feed.get_by_text("One config map was changed this morning.").wait_for()
        back.click()
        expect(sent).to_be_in_viewport()
        sent.get_by_role("button", name="Hide its work").click()
        expect(back).to_have_count(0)

        page.get_by_role("button", name="Hide sub-agents").click()
        expect(agents.get_by_role("button", name=re.compile("LogAgent"))).to_have_count(0)
        page.get_by_role("button", name="Show 4 sub-agents").click()
        expect(agents.get_by_role("button", name=re.compile("LogAgent"))).to_have_count(2)

        # In the trace the call that started a sub-agent is labelled with the agent and its task.
        follow(page, f"{address}/trace")
        page.get_by_role("list", name="Calls").get_by_role(
            "button", name=re.compile("LogAgent was sent .*What do its pods log", re.DOTALL)
        ).click()
        expect(page.get_by_role("region", name="Task of LogAgent")).to_contain_text("What do its pods log while it fails")
        assert_accessible(page, "trace-sent", page.get_by_role("region", name="Task of LogAgent"))

        follow(page, f"/sessions/{sessions['stale-certificate']}")
        page.get_by_role("list", name="Stages").get_by_role("button", name=re.compile("^investigation")).click()
        skill = feed.get_by_role("article").filter(has_text="Skill kubernetes-certificates")
        skill.get_by_role("button", name=re.compile("Skill kubernetes-certificates")).click()
        skill.get_by_role("heading", name="Renewed, but not used").wait_for()
        assert_accessible(page, "skill", skill)

        resize(page, PHONE)
        follow(page, address)
        agents.scroll_into_view_if_needed()
        picture(page, "agent-graph-phone")
        agents.get_by_role("button", name=re.compile("MetricsAgent")).click()
        expect(page.get_by_text("MetricsAgent was sent")).to_be_in_viewport()
        assert_fits(page)
        picture(page, "agent-tree-phone")
