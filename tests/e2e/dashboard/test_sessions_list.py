"""The list of sessions: searchable, usable without a mouse."""

import re

import pytest
from playwright.sync_api import Browser, expect

from support.browser import open_page
from support.tarsy_process import Served

pytestmark = [pytest.mark.xdist_group("dashboard"), pytest.mark.timeout(180)]


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
        # Words of the analysis; now a word of the alert alone.
        page.get_by_label("Search alerts and analyses").fill("7e1b4f0c2d9a6835")
        page.wait_for_url(re.compile(r"text=7e1b"))
        expect(rows.first).to_contain_text("KubePodCrashLooping")
        expect(rows.first.locator("time")).to_have_attribute("title", re.compile(r"20\d\d.*\d\d:\d\d"))
        page.get_by_label("Status").click()
        page.get_by_role("option", name="Failed").click()
        expect(page.get_by_text("No session matches")).to_be_visible()
        page.reload()
        expect(page.get_by_text("No session matches")).to_be_visible()
        expect(page.get_by_label("Search alerts and analyses")).to_have_value("7e1b4f0c2d9a6835")
        page.get_by_role("button", name="Clear").click()
        expect(rows.filter(has_text="sample-dns-outage").first).to_be_visible()
        assert "?" not in page.url
        page.goto("/?type=sample-dns-outage&chain=sample-dns-outage&since=1h")
        expect(rows.first).to_contain_text("sample-dns-outage")
        expect(rows.filter(has_text="KubePodCrashLooping")).to_have_count(0)


def test_a_list_that_cannot_be_loaded_says_why(browser: Browser, server: Served, finished: dict[str, str]) -> None:
    with open_page(browser, server.url) as page:
        refusal = {"type": "about:blank", "title": "Forbidden", "status": 403, "detail": "The night shift may not look."}
        page.route("**/api/v1/sessions?*", lambda route: route.fulfill(status=403, json=refusal))
        page.goto("/")
        expect(page.get_by_text("The sessions could not be loaded.")).to_be_visible()
        expect(page.get_by_text("The night shift may not look.")).to_be_visible()
        # Nothing will be asked for again by itself.
        page.wait_for_load_state("networkidle")
        page.unroute("**/api/v1/sessions?*")
        page.get_by_role("button", name="Try again").click()
        expect(page.get_by_role("region", name="Ended sessions").get_by_role("listitem").first).to_be_visible()


def test_the_content_is_one_key_away_and_the_filters_stay(browser: Browser, server: Served, finished: dict[str, str]) -> None:
    with open_page(browser, server.url) as page:
        page.goto("/?type=sample-dns-outage")
        expect(page.get_by_role("region", name="Ended sessions").get_by_role("listitem").first).to_be_visible()
        expect(page).to_have_title("Sessions · TARSy")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.locator("main")).to_be_focused()
        page.keyboard.press("Tab")
        expect(page.get_by_label("Search alerts and analyses")).to_be_focused()
        assert page.url.endswith("/?type=sample-dns-outage")


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
