"""The list of sessions: live, searchable, usable without a mouse."""

import re

import pytest
from playwright.sync_api import Browser, expect

from e2e.dashboard.browser import open_page
from e2e.dashboard.conftest import submit
from e2e.tarsy_process import Served

pytestmark = [pytest.mark.xdist_group("dashboard"), pytest.mark.timeout(180)]


def test_new_sessions_and_their_ends_appear_without_a_reload(browser: Browser, server: Served, finished: dict[str, str]) -> None:
    with open_page(browser, server.url) as page, server.client() as http:
        page.goto("/")
        ended = page.get_by_role("region", name="Ended sessions").get_by_role("listitem")
        expect(ended.first).to_be_visible()
        before = ended.count()
        session = submit(http, "flapping")
        running = page.get_by_role("region", name="Active sessions").get_by_role("listitem")
        expect(running.filter(has_text="Running")).to_have_count(1)
        http.post(f"/api/v1/sessions/{session}/cancel").raise_for_status()
        expect(ended).to_have_count(before + 1)
        expect(ended.first).to_contain_text("Cancelled")
        expect(running).to_have_count(0)


def test_a_session_goes_by_the_name_of_its_incident(browser: Browser, server: Served, finished: dict[str, str]) -> None:
    title = "Checkout: 38 % of payments fail since 16:24 UTC"
    with open_page(browser, server.url) as page:
        page.goto("/")
        page.get_by_role("link", name=title).first.click()
        expect(page.get_by_role("heading", level=1)).to_contain_text(title)
        expect(page).to_have_title(re.compile(f"^Completed: {title}"))


def test_filters_live_in_the_address(browser: Browser, server: Served, finished: dict[str, str]) -> None:
    with open_page(browser, server.url) as page:
        page.goto("/")
        rows = page.get_by_role("region", name="Ended sessions").get_by_role("listitem")
        page.get_by_label("Search alerts and analyses").fill("session lifetime")
        page.wait_for_url(re.compile(r"text="))
        expect(rows.filter(has_text="sample-dns-outage")).to_have_count(0)
        expect(rows.first).to_contain_text("KubePodCrashLooping")
        page.get_by_label("Status").click()
        page.get_by_role("option", name="Failed").click()
        expect(page.get_by_text("No session matches")).to_be_visible()
        page.reload()
        expect(page.get_by_text("No session matches")).to_be_visible()
        expect(page.get_by_label("Search alerts and analyses")).to_have_value("session lifetime")
        page.get_by_role("button", name="Clear").click()
        expect(rows.filter(has_text="sample-dns-outage").first).to_be_visible()
        assert "?" not in page.url


def test_the_keyboard_is_enough(browser: Browser, server: Served, finished: dict[str, str]) -> None:
    with open_page(browser, server.url) as page:
        page.goto("/")
        expect(page.get_by_role("region", name="Ended sessions").get_by_role("listitem").first).to_be_visible()
        page.keyboard.press("/")
        expect(page.get_by_label("Search alerts and analyses")).to_be_focused()
        page.keyboard.type("j")
        expect(page.get_by_label("Search alerts and analyses")).to_have_value("j")
        page.keyboard.press("Backspace")
        page.keyboard.press("Escape")
        page.keyboard.press("j")
        page.keyboard.press("j")
        page.keyboard.press("k")
        links = page.locator("[data-row-link]")
        expect(links.first).to_be_focused()
        page.keyboard.press("Enter")
        page.wait_for_url("**/sessions/*")
