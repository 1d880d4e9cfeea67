"""Submitting an alert: its text, its tools, and the tools that the agent receives."""

import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from support.browser import PATIENCE_MS, assert_accessible, expect_status, follow, loaded_page, open_page
from support.tarsy_process import Served

pytestmark = [pytest.mark.xdist_group("dashboard"), pytest.mark.timeout(180)]


def open_form(page: Page) -> None:
    follow(page, "/alerts/new")
    expect(page.get_by_label("Alert type")).to_have_value("pods")
    page.get_by_text("The chain's own tools (cluster, standby)").wait_for()


def test_an_agent_gets_the_tools_that_were_chosen_and_no_others(browser: Browser, configured: Served) -> None:
    with loaded_page(browser, configured.url) as page, configured.client() as http:
        open_form(page)
        page.get_by_label("Alert text").fill("Pods of shop restart.")
        page.get_by_label("Choose").check()
        # Both servers of the chain, with the result of their health check; the page polls until there is one.
        cluster = page.get_by_role("group", name="cluster")
        expect(cluster.get_by_role("checkbox", name="pods_list")).to_be_checked(timeout=PATIENCE_MS)
        page.get_by_role("checkbox", name="standby", exact=True).uncheck()
        cluster.get_by_role("button", name="None").click()
        cluster.get_by_role("checkbox", name="pods_list").check()
        cluster.get_by_role("checkbox", name="pods_log").check()
        assert_accessible(page, "new-alert-tools", page.get_by_role("radiogroup", name="Tools").locator(".."))
        page.get_by_role("button", name="Submit alert").click()
        page.wait_for_url("**/sessions/*")
        expect_status(page, "Completed")
        page.get_by_text("Tools were chosen for this session: cluster (pods_list, pods_log)").wait_for()

        session = page.url.rsplit("/", 1)[1]
        calls = http.get(f"/api/v1/sessions/{session}/trace").json()["llm"]
        asked: dict[str, Any] = http.get(f"/api/v1/sessions/{session}/trace/llm/{calls[0]['id']}").json()["request"]
        # `tarsy` has the built-in tools, which read the rest of a truncated result.
        assert sorted(tool for tool in asked["tools"] if not tool.startswith("tarsy.")) == ["cluster.pods_list", "cluster.pods_log"]
        # The recorded model calls a tool that it was not offered, and is refused.
        answers = {call["tool"]: call["is_error"] for call in http.get(f"/api/v1/sessions/{session}/trace").json()["mcp"] if call["tool"]}
        assert answers == {"pods_list": False}
        expect(page.get_by_role("feed").get_by_role("article").filter(has_text="secrets_list")).to_contain_text("failed")

        page.get_by_role("link", name="Resubmit").click()
        expect(page.get_by_label("Choose")).to_be_checked()
        expect(page.get_by_role("group", name="cluster").get_by_role("checkbox", name="pods_log")).to_be_checked()
        expect(page.get_by_role("group", name="cluster").get_by_role("checkbox", name="secrets_list")).not_to_be_checked()
        page.get_by_role("button", name="Submit alert").click()
        page.wait_for_url(re.compile(f"/sessions/(?!{session})"))
        page.get_by_text("Tools were chosen for this session: cluster (pods_list, pods_log)").wait_for()
        expect_status(page, "Completed")


def test_an_alert_without_text_is_not_sent_and_json_is_formatted(browser: Browser, configured: Served) -> None:
    with loaded_page(browser, configured.url) as page:
        open_form(page)
        page.get_by_label("Runbook address").fill("not an address")
        page.get_by_role("button", name="Submit alert").click()
        page.get_by_text("An alert needs some text.").wait_for()
        page.get_by_text("A runbook is an http or https address.").wait_for()
        assert_accessible(page, "new-alert-refused", page.get_by_role("main"))
        editor = page.get_by_label("Alert text")
        editor.fill('{"a": [1, 2')
        page.get_by_text("Looks like JSON, but line 1").wait_for()
        editor.fill('{"a":[1,2]}')
        page.get_by_role("button", name="Format").click()
        expect(editor).to_have_value('{\n  "a": [\n    1,\n    2\n  ]\n}')


def test_a_missing_model_is_reported_before_an_alert_is_written_and_draft_and_theme_survive_a_reload(
    browser: Browser, server: Served
) -> None:
    with open_page(browser, server.url) as page:
        page.goto("/alerts/new")
        missing = page.get_by_role("status").filter(has_text="No model is configured")
        expect(missing).to_be_in_viewport()
        page.get_by_label("Alert text").fill("Written with care.")
        page.get_by_role("button", name="Switch to the dark theme").click()
        page.reload()
        expect(page.get_by_label("Alert text")).to_have_value("Written with care.")
        page.get_by_role("button", name="Switch to the light theme").wait_for()
        expect(page.locator("html")).to_have_attribute("data-theme", "dark")
        missing.get_by_role("link", name="Set up a model").click()
        page.wait_for_url(re.compile("/setup"))
