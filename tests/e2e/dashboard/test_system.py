"""The state of the installation, as the person who runs it wants to see it."""

import pytest
from playwright.sync_api import Browser, expect

from support.browser import PATIENCE_MS, open_page, picture
from support.dashboard_sessions import Silent
from support.tarsy_process import Served

pytestmark = [pytest.mark.xdist_group("dashboard"), pytest.mark.timeout(180)]


def test_the_system_page_shows_servers_queue_configuration_and_version(browser: Browser, configured: Served, silent: Silent) -> None:
    session, _ = silent(), silent()
    with open_page(browser, configured.url) as page, configured.client() as http:
        page.goto("/system")
        expect(page.get_by_text(http.get("/api/v1/system/version").json()["version"], exact=True)).to_be_visible()

        servers = page.get_by_role("region", name="Tool servers")
        expect(servers.get_by_text("Connected")).to_have_count(2, timeout=PATIENCE_MS)
        servers.get_by_text("21 tools").first.click()
        expect(servers.get_by_text("pods_list", exact=True).first).to_be_visible()

        queue = page.get_by_role("region", name="Queue and workers")
        expect(queue.get_by_text("1 of 1")).to_be_visible()
        expect(queue.get_by_role("link", name=session[:8])).to_be_visible()
        expect(page.get_by_role("region", name="Effective configuration")).to_contain_text("max_concurrent_sessions: 1")
        picture(page, "system-busy-light")


def test_the_system_page_says_what_is_missing(browser: Browser, server: Served) -> None:
    with open_page(browser, server.url) as page:
        page.goto("/system")
        expect(page.get_by_role("region", name="Warnings").get_by_text("no model is configured").first).to_be_visible()
        expect(page.get_by_role("region", name="Tool servers").get_by_text("not started: set KUBECONFIG")).to_be_visible()
