"""The list of sessions: searchable, usable without a mouse."""

import re

import pytest
from playwright.sync_api import Browser, expect

from support.browser import assert_accessible, follow, loaded_page, open_page
from support.dashboard_sessions import submit, wait_for_end
from support.tarsy_process import Served

pytestmark = [pytest.mark.xdist_group("dashboard"), pytest.mark.timeout(180)]

# The sort order after a click on each column header; the last one stays.
SORTS = {
    "Severity": "severity",
    "Verdict": "outcome",
    "Confidence": "confidence",
    "Citations": "citations",
    "Agents": "agents",
    "Fallbacks": "fallbacks",
    "Questions": "questions",
    "Score": "score",
    "Cost": "cost",
    "Tokens": "tokens",
    "Duration": "duration",
}


def test_a_session_has_the_title_of_its_incident(browser: Browser, server: Served, finished: dict[str, str]) -> None:
    title = "Checkout: 38 % of payments fail since 16:24 UTC"
    with loaded_page(browser, server.url) as page:
        follow(page, "/")
        page.get_by_role("link", name=title).first.click()
        expect(page.get_by_role("heading", level=1)).to_contain_text(title)
        expect(page).to_have_title(re.compile(f"^(Suspected fault|Fault): {title}"))


def test_filters_are_in_the_address(browser: Browser, server: Served, finished: dict[str, str]) -> None:
    with loaded_page(browser, server.url) as page:
        follow(page, "/")
        rows = page.get_by_role("region", name="Ended sessions").get_by_role("listitem")
        page.get_by_label("Search alerts and analyses").fill("session lifetime")
        page.wait_for_url(re.compile(r"text="))
        expect(rows.filter(has_text="sample-dns-outage")).to_have_count(0)
        expect(rows.first).to_contain_text("KubePodCrashLooping")
        # A text of the analysis; then one that is only in the alert.
        page.get_by_label("Search alerts and analyses").fill("7e1b4f0c2d9a6835")
        page.wait_for_url(re.compile(r"text=7e1b"))
        expect(rows.first).to_contain_text("KubePodCrashLooping")
        expect(rows.first.locator("time")).to_have_attribute("title", re.compile(r"20\d\d.*\d\d:\d\d"))
        page.get_by_label("Status").click()
        page.get_by_role("option", name="Failed").click()
        page.get_by_text("No session matches").wait_for()
        page.reload()
        page.get_by_text("No session matches").wait_for()
        expect(page.get_by_label("Search alerts and analyses")).to_have_value("7e1b4f0c2d9a6835")
        page.get_by_role("button", name="Clear").click()
        rows.filter(has_text="sample-dns-outage").first.wait_for()
        assert "?" not in page.url
        follow(page, "/?type=sample-dns-outage&chain=sample-dns-outage&since=1h")
        expect(rows.first).to_contain_text("sample-dns-outage")
        expect(rows.filter(has_text="KubePodCrashLooping")).to_have_count(0)


def test_a_list_that_cannot_be_loaded_shows_the_reason(browser: Browser, server: Served, finished: dict[str, str]) -> None:
    with open_page(browser, server.url) as page:
        refusal = {"type": "about:blank", "title": "Forbidden", "status": 403, "detail": "The night shift may not look."}
        page.route("**/api/v1/sessions?*", lambda route: route.fulfill(status=403, json=refusal))
        page.goto("/")
        page.get_by_text("The sessions could not be loaded.").wait_for()
        page.get_by_text("The night shift may not look.").wait_for()
        # The request is not repeated.
        page.wait_for_load_state("networkidle")
        page.unroute("**/api/v1/sessions?*")
        page.get_by_role("button", name="Try again").click()
        page.get_by_role("region", name="Ended sessions").get_by_role("listitem").first.wait_for()


def test_the_content_is_one_key_away_and_the_filters_stay(browser: Browser, server: Served, finished: dict[str, str]) -> None:
    with open_page(browser, server.url) as page:
        page.goto("/?type=sample-dns-outage")
        page.get_by_role("region", name="Ended sessions").get_by_role("listitem").first.wait_for()
        expect(page).to_have_title("Sessions · TARSy")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.locator("main")).to_be_focused()
        page.keyboard.press("Tab")
        expect(page.get_by_label("Search alerts and analyses")).to_be_focused()
        assert page.url.endswith("/?type=sample-dns-outage")


def test_the_keyboard_is_enough(browser: Browser, server: Served, finished: dict[str, str]) -> None:
    with loaded_page(browser, server.url) as page:
        follow(page, "/")
        page.get_by_role("region", name="Ended sessions").get_by_role("listitem").first.wait_for()
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


def test_sorting_columns_and_views_of_the_list_are_in_its_address(browser: Browser, server: Served, finished: dict[str, str]) -> None:
    with loaded_page(browser, server.url) as page, server.client() as http:
        follow(page, "/sessions")
        ended = page.get_by_role("region", name="Ended sessions")
        rows = ended.get_by_role("listitem")
        rows.first.wait_for()
        page.get_by_role("button", name="Columns").click()
        for name in ("Severity", "Confidence", "Citations", "Agents", "Fallbacks", "Questions", "Score", "Cost"):
            page.get_by_role("menuitemcheckbox", name=name).click()
        assert_accessible(page, "columns-menu")
        page.keyboard.press("Escape")
        expect(rows.filter(has_text="KubePodCrashLooping").first).to_contain_text("high")

        # By the server: sessions on other pages are sorted too.
        for name, sort in SORTS.items():
            ended.get_by_role("button", name=f"Sort by {name}").click()
            page.wait_for_url(re.compile(f"sort={sort}"))
            query = {"sort": sort, "status": ["completed", "failed", "timed_out", "cancelled"]}
            wanted = [one["id"] for one in http.get("/api/v1/sessions", params=query).json()["sessions"]]
            page.wait_for_function(
                "wanted => [...document.querySelectorAll('[data-session]')].map(row => row.dataset.session).join() === wanted.join()",
                arg=wanted,
            )
        assert_accessible(page, "sessions-columns", ended)

        page.get_by_role("button", name="Views").click()
        # The keyboard reaches the field and saves.
        page.keyboard.press("Tab")
        expect(page.get_by_label("Name this view")).to_be_focused()
        page.keyboard.type("What takes long")
        page.keyboard.press("Enter")
        page.get_by_role("dialog", name="Views").get_by_role("button", name="What takes long", exact=True).wait_for()
        assert_accessible(page, "views-menu")
        page.keyboard.press("Escape")
        view = page.url

        page.get_by_label("Submitted").click()
        page.get_by_role("option", name="From … until …").click()
        page.get_by_label("Until").fill("2020-01-01T00:00")
        page.get_by_text("No session matches").wait_for()
        page.wait_for_url(re.compile("[?&]to=20"))
        # By keyboard the time is written part by part: month and day.
        page.get_by_label("Until").focus()
        page.keyboard.type("1125", delay=50)
        page.wait_for_url(re.compile("[?&]to=2020-11-2"))
        expect(page.get_by_label("Until")).to_have_value("2020-11-25T00:00")
        assert_accessible(page, "sessions-range", page.get_by_role("main"))
        page.get_by_role("button", name="Clear").click()
        rows.first.wait_for()
        follow(page, "/sessions")
        page.get_by_role("button", name="Views").click()
        page.get_by_role("dialog", name="Views").get_by_role("button", name="What takes long", exact=True).click()
        page.wait_for_url(view)


def test_marked_sessions_are_exported_and_deleted_and_rows_are_links(browser: Browser, server: Served, finished: dict[str, str]) -> None:
    with server.client() as http, loaded_page(browser, server.url) as page:
        unwanted = submit(http, "crashloop")
        wait_for_end(http, unwanted)
        follow(page, "/sessions")
        row = page.locator(f"[data-session='{unwanted}']")
        with page.context.expect_page() as opened:
            row.locator("a").click(modifiers=["ControlOrMeta"])
        opened.value.get_by_role("heading", level=1).wait_for()
        opened.value.close()

        row.locator("a").focus()
        page.keyboard.press("x")
        marked = page.get_by_role("region", name="Selected sessions")
        expect(marked).to_contain_text("1 session selected")
        with page.expect_download() as download:
            marked.get_by_role("link", name="Export").click()
        assert unwanted in download.value.path().read_text()
        assert_accessible(page, "marked", page.get_by_role("main"))
        marked.get_by_role("button", name="Delete 1").click()
        page.get_by_role("button", name="Delete them").wait_for()
        assert_accessible(page, "marked-delete")
        page.get_by_role("button", name="Delete them").click()
        expect(row).to_have_count(0)
        assert http.get(f"/api/v1/sessions/{unwanted}").status_code == 404
        expect(marked).to_have_count(0)


def test_the_palette_opens_pages_and_sessions_by_keyboard(browser: Browser, server: Served, finished: dict[str, str]) -> None:
    with open_page(browser, server.url) as page:
        page.route("**/assets/session-page*", lambda _: None)
        page.goto("/system")
        page.get_by_text("Effective configuration").wait_for()
        page.keyboard.press("?")
        shortcuts = page.get_by_role("dialog", name="Keyboard shortcuts")
        expect(shortcuts).to_contain_text("Go to incidents")
        assert_accessible(page, "shortcuts")
        page.keyboard.press("Escape")
        expect(shortcuts).to_have_count(0)
        page.keyboard.press("g")
        page.keyboard.press("i")
        page.wait_for_url("**/incidents")

        page.keyboard.press("Control+k")
        field = page.get_by_role("combobox", name="Go to")
        field.fill("payments fail")
        found = page.get_by_role("option", name=re.compile("payments fail since"))
        found.first.wait_for()
        assert_accessible(page, "palette")
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/sessions/{finished['dns-outage']}")
        # On the page of a session, its trace is the first item, even if the page was loaded after the palette was opened.
        page.keyboard.press("Control+k")
        expect(field).to_be_focused()
        page.unroute_all()
        expect(page.get_by_role("option", name="Trace")).to_have_attribute("aria-selected", "true")
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/sessions/{finished['dns-outage']}/trace")
        page.keyboard.press("Control+k")
        field.fill("usage")
        page.keyboard.press("Enter")
        page.wait_for_url("**/usage")
