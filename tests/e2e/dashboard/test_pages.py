"""Every page: accessible in both themes, usable on a phone, quick to load."""

import pytest
from playwright.sync_api import Browser, Response, expect

from support.browser import (
    PHONE,
    TABLET,
    ZOOMED,
    Network,
    assert_accessible,
    assert_fits,
    assert_verdict_first,
    follow,
    loaded_page,
    open_page,
    picture,
    resize,
)
from support.tarsy_process import Served

pytestmark = [pytest.mark.xdist_group("dashboard"), pytest.mark.timeout(180)]

# A text that each page shows once it is loaded.
PAGES = {
    "sessions": ("/", "Ended"),
    "session": ("/sessions/{crashloop}", "Do now"),
    "parallel": ("/sessions/{dns-outage}", "NetworkAgent"),
    "trace": ("/sessions/{dns-outage}/trace", "Where the time went"),
    "new-alert": ("/alerts/new", "Try a sample incident"),
    "system": ("/system", "Effective configuration"),
    "usage": ("/usage", "This month"),
    "approvals": ("/approvals", "No call waits for an approval"),
    "notifications": ("/notifications", "no answer within 15 s"),
    "reviews": ("/reviews", "Right verdicts by week"),
    "audit": ("/audit", "Alert submitted"),
}
FIRST_LOAD_LIMIT = 250_000
# Compressed bytes of script that a page needs itself: the other pages are preloaded after a mark, when it is idle.
NEEDED = """() => {
    const mark = performance.getEntriesByName("load-pages")[0]?.startTime ?? Infinity
    const scripts = performance.getEntriesByType("resource").filter(one => one.name.endsWith(".js") && one.startTime < mark)
    return scripts.reduce((sum, one) => sum + one.encodedBodySize, 0)
}"""


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_accessible_in_both_themes_and_fits_every_screen(
    browser: Browser, server: Served, finished: dict[str, str], name: str
) -> None:
    address, sign = PAGES[name]
    with loaded_page(browser, server.url) as page:
        follow(page, address.format(**finished))
        page.get_by_text(sign).first.wait_for()
        expect(page.get_by_role("status").filter(has_text="Loading")).to_have_count(0)
        if name == "session":
            assert_verdict_first(page)
        assert_accessible(page, name)
        for size in (ZOOMED, TABLET, PHONE):
            resize(page, size)
            assert_fits(page)
        if name == "session":
            assert_verdict_first(page)
        picture(page, f"{name}-phone")


def test_the_manual_is_a_click_away(browser: Browser, server: Served) -> None:
    with loaded_page(browser, server.url) as page:
        follow(page, "/system")
        page.get_by_role("link", name="Manual").click()
        page.wait_for_url("**/help/")
        page.get_by_role("searchbox", name="Search the manual").fill("j k shortcuts")
        page.get_by_role("searchbox", name="Search the manual").press("Enter")
        page.get_by_role("link", name="A tour of the dashboard: Shortcuts").wait_for()
        assert_accessible(page, "manual-search")
        page.get_by_role("link", name="A tour of the dashboard: Shortcuts").click()
        expect(page.get_by_role("heading", name="Shortcuts")).to_be_in_viewport()
        for picture_of in page.locator("main img").all():
            picture_of.scroll_into_view_if_needed()
            assert picture_of.evaluate("image => image.decode().then(() => image.naturalWidth)") > 100
        assert_accessible(page, "manual")
        page.get_by_role("link", name="Next:").click()
        page.get_by_role("heading", level=1, name="The command line").wait_for()
        resize(page, PHONE)
        page.get_by_text("All pages").click()
        page.get_by_role("navigation", name="All pages").get_by_role("link", name="Metrics", exact=True).click()
        page.get_by_role("heading", level=1, name="Metrics").wait_for()
        assert_fits(page)
        picture(page, "manual-phone")
        page.get_by_role("link", name="TARSy", exact=True).click()
        page.get_by_role("link", name="New alert").wait_for()


def test_an_unknown_address_and_an_unknown_session_are_reported_with_a_link(browser: Browser, server: Served) -> None:
    with loaded_page(browser, server.url) as page:
        follow(page, "/nowhere")
        page.get_by_text("There is no such page").wait_for()
        for address, what in (
            ("sessions/00000000-0000-4000-8000-000000000000", "session"),
            ("sessions/x/trace", "session"),
            ("incidents/x", "incident"),
        ):
            follow(page, f"/{address}")
            page.get_by_text(f"There is no such {what}").wait_for()
        assert_accessible(page)
        page.get_by_role("link", name="All sessions").click()
        page.wait_for_url("**/sessions")


def test_the_list_loads_less_than_250_kb_of_javascript(browser: Browser, server: Served, finished: dict[str, str]) -> None:
    scripts: list[Response] = []
    with open_page(browser, server.url) as page:
        page.on("response", lambda response: scripts.append(response) if response.url.endswith(".js") else None)
        page.goto("/")
        page.get_by_role("region", name="Ended sessions").get_by_role("listitem").first.wait_for()
        loaded: int = page.evaluate(NEEDED)
        assert any(script.header_value("content-encoding") == "gzip" for script in scripts)
    print(f"{loaded / 1000:.0f} kB of script")  # noqa: T201 - the figure is worth a line
    assert 100_000 < loaded < FIRST_LOAD_LIMIT


def test_a_page_that_cannot_be_loaded_is_reported_in_the_shell_and_loads_by_itself(browser: Browser, server: Served) -> None:
    with open_page(browser, server.url) as page:
        page.route("**/assets/usage-page*", lambda route: route.abort())
        page.goto("/system")
        page.get_by_text("Effective configuration").wait_for()
        page.route("**/api/v1/me", lambda route: route.abort())
        page.get_by_role("link", name="Usage").click()
        page.get_by_text("This page has not been loaded yet").wait_for()
        page.get_by_role("link", name="System").wait_for()
        assert_accessible(page, "page-away")
        page.unroute_all()
        page.get_by_role("heading", name="Usage").or_(page.get_by_text("This month")).first.wait_for()


@pytest.mark.parametrize("name", ["docs", "help"])
def test_pages_of_the_server_itself_are_accessible_and_fit_a_phone(browser: Browser, server: Served, name: str) -> None:
    with open_page(browser, server.url, size=PHONE) as page:
        page.goto(f"/{name}")
        assert_fits(page)
        assert_accessible(page, name)


def test_an_update_of_the_server_and_urgent_warnings_are_reported_on_every_page(browser: Browser, server: Served) -> None:
    urgent = {"source": "workers", "message": "No worker has given a sign of life for an hour.", "since": None}
    with open_page(browser, server.url) as page:
        network = Network.of(page)
        page.goto("/usage")
        page.get_by_role("heading", name="Usage").wait_for()
        page.wait_for_load_state("networkidle")
        # As after an update: the page fetches the version again after a lost connection.
        page.route("**/api/v1/system/version", lambda route: route.fulfill(json={"version": "9.9.9"}))
        page.route("**/api/v1/system/warnings", lambda route: route.fulfill(json={"warnings": [urgent]}))
        network.cut()
        network.broken = False
        banner = page.get_by_role("status").filter(has_text="TARSy was updated from")
        banner.filter(has_text="to 9.9.9. This page is still the old one.").wait_for()
        warning = page.get_by_role("status").filter(has_text="No worker has given a sign of life for an hour.")
        warning.wait_for()
        assert_accessible(page, "banners")
        warning.get_by_role("link", name="System").click()
        page.get_by_text("Effective configuration").wait_for()
        warning.first.wait_for()
        banner.get_by_role("button", name="Reload").click()
        page.get_by_text("Effective configuration").wait_for()
        expect(banner).to_have_count(0)


# Every text that was ever visible with the Markdown syntax of a heading or of strong text.
RAW = r"""
window.raw = []
const check = () => {
    const text = document.querySelector("main")?.innerText ?? ""
    window.raw.push(...(text.match(/^#{1,3} .*$|\*\*[^*\n]+\*\*/gm) ?? []))
}
new MutationObserver(check).observe(document, { childList: true, characterData: true, subtree: true })
"""


def test_an_analysis_is_never_shown_as_raw_markdown(browser: Browser, server: Served, finished: dict[str, str]) -> None:
    with open_page(browser, server.url) as page:
        page.add_init_script(RAW)
        page.goto(f"/sessions/{finished['crashloop']}")
        page.get_by_role("heading", name="Do now").first.wait_for()
        page.get_by_role("region", name="Analysis").get_by_role("heading").first.wait_for()
        page.wait_for_load_state("networkidle")
        assert page.evaluate("window.raw") == []
