"""Notifications of watched sessions while the tab is hidden."""

import re
from collections.abc import Generator
from contextlib import contextmanager

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from support.browser import PATIENCE_MS, assert_accessible, expect_status, open_page
from support.dashboard_sessions import Silent
from support.tarsy_process import Served

pytestmark = [pytest.mark.xdist_group("dashboard"), pytest.mark.timeout(180)]

# A headless browser shows no notification, hides no tab, and its shell denies every permission: all are replaced here.
RECORDER = """
window.notified = []
window.Notification = class {
    static permission = "PERMISSION"
    static requestPermission() { return Promise.resolve(this.permission) }
    constructor(title, options) { window.notified.push({ title, tag: options.tag }) ; window.last = this }
    close() {}
}
window.isHidden = false
Object.defineProperty(document, "hidden", { get: () => window.isHidden })
"""
ICON = "document.querySelector('link[rel=icon]').getAttribute('href')"


def watch(page: Page, session: str) -> None:
    page.goto(f"/sessions/{session}")
    expect_status(page, "Running")
    page.get_by_role("button", name="Notify me when it ends or waits").click()
    page.get_by_role("button", name="Notify me when it ends or waits", pressed=True).wait_for()


@contextmanager
def paused(http: httpx.Client) -> Generator[None]:
    """Park running sessions until the block ends, and leave the server as it was for other tests."""
    http.post("/api/v1/system/pause", json={"reason": "an upgrade", "now": True}).raise_for_status()
    try:
        yield
    finally:
        http.delete("/api/v1/system/pause").raise_for_status()


def set_hidden(page: Page, *, hidden: bool) -> None:
    page.evaluate("hidden => { window.isHidden = hidden; document.dispatchEvent(new Event('visibilitychange')) }", hidden)


def test_the_browser_notifies_when_a_watched_session_waits_and_when_it_ends(browser: Browser, configured: Served, silent: Silent) -> None:
    session = silent("Nothing to be heard from shop.")
    with open_page(browser, configured.url) as page, configured.client() as http:
        page.add_init_script(RECORDER.replace("PERMISSION", "granted"))
        watch(page, session)
        assert_accessible(page, "watched", page.get_by_role("button", name="Notify me when it ends or waits"))

        # It is watched on every page, and after a reload.
        page.goto("/system")
        page.get_by_text("Effective configuration").wait_for()
        set_hidden(page, hidden=True)
        with paused(http):
            page.wait_for_function("() => window.notified.length === 1", timeout=PATIENCE_MS)
        assert page.evaluate("window.notified[0]") == {"title": "Waiting: Nothing to be heard from shop.", "tag": session}
        assert page.evaluate(ICON) == "/icon-news.svg"
        set_hidden(page, hidden=False)
        assert page.evaluate(ICON) == "/icon.svg"

        set_hidden(page, hidden=True)
        http.post(f"/api/v1/sessions/{session}/cancel").raise_for_status()
        page.wait_for_function("() => window.notified.length === 2", timeout=PATIENCE_MS)
        assert page.evaluate("window.notified[1].title") == "Cancelled: Nothing to be heard from shop."
        page.evaluate("window.last.onclick()")
        page.wait_for_url(re.compile(session))
        expect_status(page, "Cancelled")
        # An ended session is no longer watched.
        expect(page.get_by_role("button", name="Notify me when it ends or waits")).to_have_count(0)


def test_without_permission_to_notify_only_the_tab_has_a_mark(browser: Browser, configured: Served, silent: Silent) -> None:
    session = silent()
    with open_page(browser, configured.url) as page, configured.client() as http:
        page.add_init_script(RECORDER.replace("PERMISSION", "denied"))
        watch(page, session)
        set_hidden(page, hidden=True)
        http.post(f"/api/v1/sessions/{session}/cancel").raise_for_status()
        page.wait_for_function(f"() => {ICON} === '/icon-news.svg'", timeout=PATIENCE_MS)
        assert page.evaluate("window.notified") == []
