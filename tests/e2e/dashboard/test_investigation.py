"""An investigation from submission to follow-up question, its cancellation, and its trace."""

import re

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from support.browser import (
    DESKTOP,
    PHONE,
    assert_accessible,
    assert_fits,
    expect_status,
    follow,
    loaded_page,
    picture,
    resize,
)
from support.tarsy_process import Served

pytestmark = [pytest.mark.xdist_group("dashboard"), pytest.mark.timeout(180)]

# More presses than any page has focusable elements.
MOST_TABS = 250
# Whether the linked entry is below the sticky header.
BELOW_HEADER = """() => {
    const entry = document.querySelector("[role=feed] [role=region][aria-label=Arguments]")?.closest("[role=article]")
    const header = document.querySelector("[data-testid=session-status]").parentElement
    return entry && entry.getBoundingClientRect().top >= header.getBoundingClientRect().bottom
}"""


def test_a_sample_streams_survives_a_reload_and_is_cancelled_and_submitted_again(browser: Browser, paced: Served) -> None:
    with loaded_page(browser, paced.url) as page:
        follow(page, "/alerts/new")
        page.get_by_role("link", name="Recorded model").wait_for()
        page.get_by_role("button", name="Investigate: A pod crash-loops").click()
        page.wait_for_url("**/sessions/*")
        expect_status(page, "Running")
        expect(page.get_by_role("alert").filter(has_text="No model was called.")).to_be_in_viewport()
        feed = page.get_by_role("feed")
        feed.get_by_text("Thinking").first.wait_for()
        before = len(feed.inner_text())
        page.wait_for_function("before => document.querySelector('[role=feed]').innerText.length > before", arg=before)
        picture(page, "session-running-light")

        page.reload()
        feed.get_by_text("Thinking").first.wait_for()
        # The text so far arrives with the first message of the new connection.
        page.wait_for_function("before => document.querySelector('[role=feed]').innerText.length >= before", arg=before)

        page.get_by_role("button", name="Cancel", exact=True).click()
        page.get_by_role("button", name="Keep it running").click()
        expect_status(page, "Running")
        page.get_by_role("button", name="Cancel", exact=True).click()
        page.get_by_role("button", name="Cancel the session").click()
        expect_status(page, "Cancelled")
        expect(page.get_by_role("button", name="Cancel", exact=True)).to_have_count(0)
        page.get_by_role("link", name="Resubmit").click()
        page.get_by_role("heading", name="Submit again").wait_for()
        expect(page.get_by_label("Alert type")).to_have_value("sample-crashloop")
        expect(page.get_by_label("Alert text")).to_have_value(re.compile("KubePodCrashLooping"))


def test_parallel_agents_are_in_tabs_or_side_by_side_and_an_event_has_an_address(
    browser: Browser, server: Served, finished: dict[str, str]
) -> None:
    with loaded_page(browser, server.url) as page:
        follow(page, f"/sessions/{finished['dns-outage']}")
        page.get_by_role("list", name="Stages").get_by_role("button", name=re.compile("^triage Completed")).click()
        second = page.get_by_role("tab", name="NetworkAgent")
        second.click()
        entry = page.get_by_role("feed").get_by_role("article").filter(has_text="cluster.").first
        entry.get_by_role("button", name="Copy a link to this entry").click()
        address: str = page.evaluate("navigator.clipboard.readText()")
        assert "?event=" in address

        page.goto(address)
        expect(second).to_have_attribute("aria-selected", "true")
        expect(page.get_by_role("region", name="Arguments").first).to_be_in_viewport()
        page.wait_for_function(BELOW_HEADER)

        page.get_by_role("list", name="Stages").get_by_role("button", name=re.compile("^triage Completed")).click()
        page.get_by_role("button", name="Side by side").click()
        page.get_by_role("region", name="Timeline of ApplicationAgent").wait_for()
        page.get_by_role("region", name="Timeline of NetworkAgent").wait_for()
        assert_accessible(page, "session-side-by-side", page.get_by_role("region", name="Timeline of NetworkAgent"))


def test_the_trace_shows_the_duration_and_the_conversation_of_each_call(browser: Browser, server: Served, finished: dict[str, str]) -> None:
    with loaded_page(browser, server.url) as page:
        follow(page, f"/sessions/{finished['crashloop']}")
        page.get_by_role("link", name="Trace").click()
        calls = page.get_by_role("list", name="Calls").get_by_role("button")
        calls.filter(has_text="Turn 1").wait_for()
        expect(page.get_by_role("list", name="Calls").get_by_role("button", name=re.compile("Failed cluster.pods_get"))).to_have_count(1)
        # The call, its arguments, and its usage.
        expect(calls.filter(has_text="cluster.events_list").first).to_contain_text("namespace=")
        expect(calls.filter(has_text="Turn 1")).to_contain_text("tokens")
        expect(page.get_by_role("list", name="Legend")).to_contain_text("Until the model's first word")

        calls.filter(has_text="Turn 2").click()
        page.get_by_text("Conversation as sent").wait_for()
        page.get_by_text("cluster.events_list").first.wait_for()
        assert "call=llm" in page.url
        page.get_by_role("button", name="Copy all").click()
        page.wait_for_function(
            "() => navigator.clipboard.readText().then(text => text.startsWith('## System') && text.includes('## Answer'))"
        )
        page.get_by_role("button", name="Copy as curl").click()
        page.get_by_role("alert").filter(has_text="comes from a recording").wait_for()
        page.get_by_role("button", name="Next call").click()
        page.get_by_role("region", name="Arguments").wait_for()
        page.keyboard.press("k")
        page.get_by_text("Conversation as sent").wait_for()
        assert_accessible(page, "trace-call", page.get_by_role("main"))
        # On a phone the call opens in a drawer.
        resize(page, PHONE)
        page.get_by_role("dialog", name="Turn 2").get_by_text("Conversation as sent").wait_for()
        assert_fits(page)
        assert_accessible(page, "trace-call-phone")
        resize(page, DESKTOP)
        expect(page.get_by_role("dialog")).to_have_count(0)


def test_the_trace_is_folded_searched_filtered_and_zoomed(browser: Browser, server: Served, finished: dict[str, str]) -> None:
    with loaded_page(browser, server.url) as page:
        follow(page, f"/sessions/{finished['crashloop']}/trace")
        calls = page.get_by_role("list", name="Calls").get_by_role("button")
        calls.filter(has_text="Turn 1").wait_for()
        # A lane for each agent; folded, it is a line with all its calls.
        lanes = page.get_by_role("list", name="Calls").get_by_role("button", expanded=True)
        expect(lanes).to_have_count(2)
        lanes.first.click()
        expect(calls.filter(has_text="Turn 1")).to_have_count(0)
        page.get_by_label("Search calls").fill("pods_get")
        page.get_by_role("status").filter(has_text=re.compile(r"^\d of \d+ calls$")).wait_for()
        calls.filter(has_text="cluster.pods_get").first.wait_for()
        page.get_by_label("Search calls").fill("")
        # The colours of the legend are filters.
        failed = page.get_by_role("list", name="Legend").get_by_role("button", name="Failed")
        failed.click()
        page.get_by_role("status").filter(has_text=re.compile(r"^1 of \d+ calls$")).wait_for()
        expect(calls.filter(has_text="cluster.pods_get")).to_have_count(1)
        assert_accessible(page, "trace-failed", page.get_by_role("list", name="Calls"))
        failed.click()
        page.get_by_role("button", name="Fold all lanes").click()
        expect(page.get_by_role("list", name="Calls").get_by_role("listitem")).to_have_count(2)
        page.get_by_role("button", name="Unfold all lanes").click()

        # A range selected on the axis shows the calls that ran during it.
        ruler = page.get_by_test_id("ruler").bounding_box()
        assert ruler
        page.mouse.move(ruler["x"] + ruler["width"] * 0.6, ruler["y"] + 8)
        page.mouse.down()
        page.mouse.move(ruler["x"] + ruler["width"] * 0.95, ruler["y"] + 8, steps=4)
        page.mouse.up()
        page.get_by_role("status").filter(has_text=re.compile(r"^\d+ of \d+ calls$")).wait_for()
        page.get_by_role("button", name="Show all of the time").click()
        calls.filter(has_text="Turn 1").wait_for()


def tab_to(page: Page, wanted: Locator) -> None:
    """Press Tab until the element has the focus."""
    # Not looked for after every key: finding an element by its role takes longer than pressing the key.
    element = wanted.element_handle()
    for _ in range(MOST_TABS):
        if element.evaluate("element => element === document.activeElement"):
            return
        page.keyboard.press("Tab")
    pytest.fail(f"{wanted} is not reached by the Tab key")


def test_the_keyboard_is_enough_to_submit_watch_report_and_ask(browser: Browser, server: Served) -> None:
    with loaded_page(browser, server.url) as page:
        follow(page, "/")
        page.get_by_role("link", name="New alert").wait_for()
        page.keyboard.press("g")
        page.keyboard.press("n")
        sample = page.get_by_role("button", name="Investigate: A pod crash-loops")
        sample.wait_for()
        tab_to(page, sample)
        page.keyboard.press("Enter")
        page.wait_for_url("**/sessions/*")
        page.get_by_role("heading", name="Do now").first.wait_for()
        verdict = page.get_by_role("region", name="Verdict")
        expect(verdict).to_contain_text("quotations verified, 0 failed")
        expect_status(page, "Completed")
        page.get_by_role("list", name="Stages").get_by_role("button", name="investigation Completed").wait_for()

        report = page.get_by_role("button", name="Report")
        tab_to(page, report)
        page.keyboard.press("Enter")
        page.get_by_role("menuitem", name="HTML").wait_for()
        assert_accessible(page, "report-menu")
        with page.expect_download() as download:
            page.keyboard.press("Enter")
        assert download.value.suggested_filename.startswith("tarsy-")
        for form, sign in (("Markdown", "## Do now"), ("HTML", "<h1>")):
            report.click()
            with page.expect_download() as download:
                page.get_by_role("menuitem", name=form).click()
            assert sign in download.value.path().read_text()
        page.get_by_role("button", name="Copy", exact=True).click()
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied.startswith("> **Recorded model.**")
        assert "# Analysis" in copied

        tab_to(page, page.get_by_role("button", name="Are customers affected right now?"))
        page.evaluate("window.scrollTo(0, 0)")
        page.keyboard.press("Enter")
        exchange = page.get_by_role("article", name="Question: Are customers affected right now?")
        exchange.get_by_text("Hardly, but the margin is thin.").wait_for()
        expect(page.get_by_role("button", name="Ask")).to_be_in_viewport()
        # The panel follows the answer, whose citations are checked too; the analysis beside it stays where it was.
        expect(exchange.get_by_role("link", name="connection pool above 85% in_use=88 limit=100 Q1.2 (verified)")).to_be_in_viewport()
        expect(verdict).to_be_in_viewport()
        assert_accessible(page, "session-chat", exchange)

        tab_to(page, page.get_by_label("Ask a question"))
        page.keyboard.type("Is db-3 full?")
        page.keyboard.press("Enter")
        refused = page.get_by_role("article", name="Question: Is db-3 full?")
        refused.get_by_text("GOOGLE_API_KEY").first.wait_for()
