"""Queued sessions, sessions that end while the page is disconnected, and lists too long for one page."""

import json

import pytest
from playwright.sync_api import Browser, expect

from support.browser import NOWHERE, PATIENCE_MS, Network, assert_accessible, expect_status, follow, loaded_page, open_page
from support.dashboard_sessions import Silent, wait_for_end
from support.tarsy_process import Served

pytestmark = [pytest.mark.xdist_group("dashboard"), pytest.mark.timeout(180)]


def test_queued_sessions_show_their_position_and_move_up(browser: Browser, configured: Served, silent: Silent) -> None:
    with loaded_page(browser, configured.url) as page, configured.client() as http:
        follow(page, "/")
        first = silent("The first one.")
        rows = page.get_by_role("region", name="Active sessions").get_by_role("listitem")
        running = rows.filter(has_text="The first one.")
        expect(running).to_contain_text("Running")
        expect(running).to_contain_text("wait")
        running.get_by_role("img", name="stage 1 of 2").wait_for()
        silent("The second one.")
        silent("The third one.")
        expect(rows.filter(has_text="The second one.")).to_contain_text("position 1 in the queue")
        expect(rows.filter(has_text="The third one.")).to_contain_text("position 2 in the queue")
        expect(rows.nth(0)).to_contain_text("The first one.")
        expect(rows.nth(2)).to_contain_text("The third one.")
        assert_accessible(page, "queue", page.get_by_role("region", name="Active sessions"))

        http.post(f"/api/v1/sessions/{first}/cancel").raise_for_status()
        expect(rows.filter(has_text="The second one.")).to_contain_text("Running")
        expect(rows.filter(has_text="The third one.")).to_contain_text("position 1 in the queue")
        expect(page.get_by_role("region", name="Ended sessions").get_by_role("listitem").first).to_contain_text("Cancelled")

        page.get_by_role("link", name="The third one.").click()
        expect_status(page, "Queued")
        page.get_by_text("position 1").wait_for()
        page.get_by_role("button", name="Cancel", exact=True).click()
        page.get_by_role("button", name="Cancel the session").wait_for()
        assert_accessible(page, "cancel")
        page.get_by_role("button", name="Cancel the session").click()
        expect_status(page, "Cancelled")


def test_running_sessions_are_shown_above_a_queue_of_any_length_and_older_ones_on_further_pages(
    browser: Browser, configured: Served, silent: Silent
) -> None:
    silent("The one that runs.")
    for number in range(105):
        silent(f"In line {number}.")
    with loaded_page(browser, configured.url) as page, configured.client() as http:
        follow(page, "/")
        active = page.get_by_role("region", name="Active sessions")
        active.get_by_role("heading", name="Active 106").wait_for()
        expect(active.get_by_role("listitem").first).to_contain_text("The one that runs.")
        expect(active.get_by_role("listitem").nth(1)).to_contain_text("In line 0.")
        active.get_by_text("Of the 105 sessions that wait, the 100 that run next are shown.").wait_for()
        page.get_by_text("1 running, 105 in the queue. Next: In line 0., In line 1., In line 2.").wait_for()
        for number in (1, 2):
            active.get_by_label(f"Select In line {number}.").check()
        page.get_by_role("region", name="Selected sessions").get_by_role("button", name="Cancel 2").click()
        page.get_by_role("button", name="Cancel them").click()
        active.get_by_role("heading", name="Active 104").wait_for()
        page.get_by_text("103 in the queue. Next: In line 0., In line 3., In line 4.").wait_for()
        ended = page.get_by_role("region", name="Ended sessions").get_by_role("listitem")
        expect(ended.filter(has_text="In line 1.").first).to_contain_text("Cancelled by api-client.")

        # A queued session is cancelled at once. No list is open meanwhile: it would be fetched again and again.
        follow(page, NOWHERE)
        http.post("/api/v1/cancellations", params={"alert_type": "silence", "status": "pending"}).raise_for_status()
        follow(page, "/?status=cancelled&text=line")
        page.get_by_role("heading", name="Ended 105").wait_for()
        expect(ended).to_have_count(50)
        expect(ended.first).to_contain_text("In line 104.")
        page.get_by_text("1 to 50 of 105, page 1 of 3").wait_for()
        page.get_by_role("button", name="Next page").click()
        page.get_by_text("51 to 100 of 105, page 2 of 3").wait_for()
        page.get_by_role("button", name="Next page").click()
        expect(ended).to_have_count(5)
        assert ended.locator("[data-row-link]").all_inner_texts() == [f"In line {number}." for number in reversed(range(5))]
        page.reload()
        page.get_by_text("101 to 105 of 105, page 3 of 3").wait_for()
        page.get_by_role("button", name="Previous page").click()
        expect(ended).to_have_count(50)


def test_all_sessions_that_match_a_filter_are_cancelled(browser: Browser, configured: Served, silent: Silent) -> None:
    silent("The one that runs.")
    for number in range(3):
        silent(f"Storm {number}.")
    with loaded_page(browser, configured.url) as page:
        follow(page, "/sessions?text=storm")
        page.get_by_role("button", name="Cancel matching").click()
        page.get_by_text("In all 1 run, 3 are in the queue and 0 wait.").wait_for()
        assert_accessible(page, "cancel-matching")
        page.get_by_role("button", name="Cancel them").click()
        expect(page.get_by_role("region", name="Ended sessions").get_by_role("listitem")).to_have_count(3, timeout=PATIENCE_MS)
        expect(page.get_by_role("dialog")).to_be_hidden()
        page.get_by_role("button", name="Clear").click()
        expect(page.get_by_role("region", name="Active sessions").get_by_role("listitem")).to_have_count(1)


def test_a_session_that_ended_while_the_connection_was_lost_is_not_shown_as_running(
    browser: Browser, configured: Served, silent: Silent
) -> None:
    with open_page(browser, configured.url) as page, configured.client() as http:
        network = Network.of(page)
        page.goto("/")
        for address in ("/sessions/{session}", "/"):
            session = silent()
            follow(page, address.format(session=session))
            page.get_by_text("Running").first.wait_for()
            network.cut()
            page.get_by_text("Connection lost. Reconnecting").wait_for()
            http.post(f"/api/v1/sessions/{session}/cancel").raise_for_status()
            wait_for_end(http, session)
            network.broken = False
            page.get_by_text("Connection lost. Reconnecting").wait_for(state="hidden")
            page.get_by_text("Cancelled").first.wait_for()
            expect(page.get_by_text("Running")).to_have_count(0)


def test_only_the_visible_lines_of_a_large_text_are_in_the_page(browser: Browser, configured: Served, silent: Silent) -> None:
    session = silent(json.dumps({"title": "A large one", "points": list(range(20_000))}, indent=1))
    with loaded_page(browser, configured.url) as page:
        follow(page, f"/sessions/{session}")
        page.get_by_role("button", name="Show JSON").click()
        alert = page.locator("[role=region][aria-label=Alert]")
        expect(alert).to_contain_text('"title"')
        assert alert.locator("div").count() < 150
        alert.evaluate("box => { box.scrollTop = box.scrollHeight; }")
        expect(alert).to_contain_text("19999")
        assert alert.locator("div").count() < 150
