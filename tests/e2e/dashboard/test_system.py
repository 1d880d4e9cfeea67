"""The system page: health, queue, configuration, warnings and pauses."""

import pytest
from playwright.sync_api import Browser, expect

from support.browser import PATIENCE_MS, assert_accessible, follow, loaded_page, open_page
from support.dashboard_sessions import Silent
from support.tarsy_process import Served

pytestmark = [pytest.mark.xdist_group("dashboard"), pytest.mark.timeout(180)]


def test_the_system_page_shows_servers_queue_configuration_and_version(browser: Browser, configured: Served, silent: Silent) -> None:
    session, _ = silent(), silent()
    with loaded_page(browser, configured.url) as page, configured.client() as http:
        follow(page, "/system")
        page.get_by_text(http.get("/api/v1/system/version").json()["version"], exact=True).wait_for()

        servers = page.get_by_role("region", name="Tool servers")
        expect(servers.get_by_text("Connected")).to_have_count(2, timeout=PATIENCE_MS)
        offered = len(http.get("/api/v1/system/mcp-servers").raise_for_status().json()["servers"][0]["tools"])
        servers.get_by_text(f"{offered} tools").first.click()
        servers.get_by_text("pods_list", exact=True).first.wait_for()

        queue = page.get_by_role("region", name="Queue and workers")
        queue.get_by_text("1 of 1").wait_for()
        queue.get_by_role("link", name=session[:8]).wait_for()
        expect(page.get_by_role("region", name="Effective configuration")).to_contain_text("max_concurrent_sessions: 1")
        assert_accessible(page, "system-busy", page.get_by_role("main"))

        file = configured.cwd / "tarsy.yaml"
        before = file.read_text()
        file.write_text(before.replace("max_concurrent_sessions: 1", "max_concurrent_sessions: one"))
        page.get_by_role("button", name="Reload configuration").click()
        expect(page.get_by_role("alert").filter(has_text="The configuration was not reloaded.")).to_contain_text("max_concurrent_sessions")
        file.write_text(before)
        page.get_by_role("button", name="Reload configuration").click()
        page.get_by_role("status").filter(has_text="The configuration was reloaded.").wait_for()


def test_the_system_page_shows_what_is_missing(browser: Browser, server: Served) -> None:
    with loaded_page(browser, server.url) as page:
        follow(page, "/system")
        page.get_by_role("region", name="Warnings").get_by_text("no model is configured").first.wait_for()
        page.get_by_role("region", name="Tool servers").get_by_text("not started: set KUBECONFIG").wait_for()


def test_a_pause_is_shown_on_every_page_holds_new_sessions_and_parks_running_ones(
    browser: Browser, configured: Served, silent: Silent
) -> None:
    running = silent("The one that runs.")
    with loaded_page(browser, configured.url) as page, open_page(browser, configured.url) as other:
        other.goto("/")
        follow(page, "/system")
        page.get_by_role("button", name="Pause all work").click()
        page.get_by_label("Reason").fill("the cluster is being upgraded")
        assert_accessible(page, "pause")
        page.get_by_role("button", name="Pause and park running sessions").click()
        for shown in (page, other):
            expect(shown.get_by_text("All work is paused")).to_contain_text("the cluster is being upgraded")
        row = other.get_by_role("region", name="Active sessions").get_by_role("listitem").filter(has_text="The one that runs.")
        expect(row).to_contain_text("Waiting", timeout=PATIENCE_MS)
        expect(page.get_by_role("button", name="Pause all work")).to_have_count(0)
        assert_accessible(page, "system-paused")

        other.get_by_role("button", name="Resume all work").click()
        for shown in (page, other):
            expect(shown.get_by_text("All work is paused")).to_have_count(0)
        expect(row).to_contain_text("Running", timeout=PATIENCE_MS)
        with configured.client() as http:
            assert http.get(f"/api/v1/sessions/{running}").raise_for_status().json()["status"] == "in_progress"
