"""Lost connections, missed messages and expired logins, and how a page recovers from them."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from support.browser import Network, assert_accessible, expect_status, follow, open_page
from support.dashboard_sessions import SPEED, submit, submit_alert
from support.recorded_server import recorded_server
from support.tarsy_process import Served, served

pytestmark = [pytest.mark.xdist_group("dashboard"), pytest.mark.timeout(180)]

TOKEN = "a-token-of-some-length-0123456789"


def test_a_page_reconnects_after_a_restart_and_shows_the_session_to_its_end(browser: Browser, tmp_path: Path) -> None:
    # A server that shuts down waits for its sessions; this one releases them after a second.
    (tmp_path / "tarsy.yaml").write_text("queue: {graceful_shutdown_timeout: 1s}\n")
    env = {"TARSY_REPLAY_SPEED": SPEED, "TARSY_CONFIG_DIR": str(tmp_path)}
    lost = "Connection lost"
    with ExitStack() as after_both:
        with served(tmp_path, env=env) as first:
            port = str(urlsplit(first.url).port)
            page = after_both.enter_context(open_page(browser, first.url))
            page.goto("/")
            page.get_by_text("No investigations yet").wait_for()
            with first.client() as http:
                session = submit(http, "crashloop")
            expect(page.get_by_role("region", name="Active sessions").get_by_role("listitem")).to_have_count(1)
            follow(page, f"/sessions/{session}")
            page.get_by_role("feed").get_by_text("Thinking").first.wait_for()
            page.wait_for_function("() => performance.getEntriesByType('resource').some(one => one.name.includes('system-page'))")
        page.get_by_text(lost).wait_for()
        assert_accessible(page, "connection-lost", page.get_by_role("status").filter(has_text=lost))
        # The pages open without their server and show what could not be loaded. By keyboard: a page that follows the end of its timeline may
        # scroll between the two halves of a click.
        page.get_by_role("link", name="System").press("Enter")
        page.get_by_text("The server's health is unknown.").wait_for()
        page.get_by_text(lost).wait_for()
        with served(tmp_path, "--port", port, env=env | {"TARSY_REPLAY_SPEED": "0"}):
            page.get_by_text(lost).wait_for(state="hidden")
            page.get_by_text("Healthy").first.wait_for()
            page.go_back()
            page.get_by_role("heading", name="Do now").first.wait_for()
            expect_status(page, "Completed")


def test_a_session_whose_process_has_stopped_is_shown_as_waiting_to_be_taken_over(browser: Browser, tmp_path: Path) -> None:
    waiting = "Waiting to be taken over: the process that worked on it has stopped."
    with ExitStack() as after_both:
        with recorded_server(tmp_path) as first, first.client() as http:
            alert = {"data": "Nothing to be heard.", "alert_type": "silence"}
            session = http.post("/api/v1/alerts", json=alert).raise_for_status().json()["session_id"]
            page = after_both.enter_context(open_page(browser, first.url))
            page.goto(f"/sessions/{session}")
            expect_status(page, "Running")
        # The next process serves pages and claims no work: the session waits for another one.
        port = str(urlsplit(first.url).port)
        with served(tmp_path, "--port", port, "--role", "api", env=first.env):
            page.get_by_text("Connection lost").wait_for(state="hidden")
            page.get_by_text(waiting).first.wait_for()
            # None of its agents is shown as running meanwhile.
            page.get_by_role("list", name="Stages").get_by_role("button", name="wait Waiting").wait_for()
            follow(page, "/sessions")
            row = page.get_by_role("region", name="Active sessions").get_by_role("listitem")
            expect(row).to_contain_text(waiting)
            assert_accessible(page, "taken-over", row)


def test_a_page_that_missed_too_many_messages_shows_the_text_that_is_being_streamed(browser: Browser, configured: Served) -> None:
    loads: list[str] = []
    with open_page(browser, configured.url) as page, configured.client() as http:
        network = Network.of(page)
        page.on("request", lambda request: loads.append(request.url) if "/timeline" in request.url else None)
        session = submit_alert(http, "talk")
        page.goto(f"/sessions/{session}")
        expect_status(page, "Running")
        network.cut()
        with http.stream("GET", f"/api/v1/sessions/{session}/events", params={"last_event_id": 0}) as events:
            assert any(line == "event: stream.chunk" for line in events.iter_lines())
        network.broken = False
        page.get_by_role("feed").get_by_text("word0 word1").wait_for()
        # Loaded at first, after the gap, and for each failed attempt; not with every chunk.
        assert len(loads) < 30
        http.post(f"/api/v1/sessions/{session}/cancel").raise_for_status()
        expect_status(page, "Cancelled")


def test_a_browser_that_reports_no_network_loads_pages_of_a_server_that_it_reaches(browser: Browser, server: Served) -> None:
    with open_page(browser, server.url) as page:
        page.goto("/")
        page.get_by_role("navigation", name="Main").wait_for()
        page.evaluate("() => window.dispatchEvent(new Event('offline'))")
        follow(page, "/notifications")
        page.get_by_role("region", name="Targets").wait_for()


def test_an_action_without_a_network_fails_and_is_not_sent_when_the_network_is_back(browser: Browser, server: Served) -> None:
    with open_page(browser, server.url) as page:
        sent: list[str] = []
        page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
        page.goto("/system")
        reload = page.get_by_role("button", name="Reload configuration")
        reload.wait_for()
        page.context.set_offline(offline=True)
        reload.click()
        page.get_by_text("The configuration was not reloaded. The server cannot be reached.").wait_for()
        assert len(sent) == 1
        page.context.set_offline(offline=False)
        with page.expect_response("**/health"):
            page.wait_for_function("() => navigator.onLine")
        assert len(sent) == 1
        reload.click()
        page.get_by_text("The configuration was reloaded.").wait_for()


@pytest.fixture(scope="module")
def guarded(server: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A second process on the same database."""
    env = {"TARSY_DATA_DIR": server.env["TARSY_DATA_DIR"], "TARSY_API_TOKENS": f"ada={TOKEN}"}
    with served(tmp_path_factory.mktemp("guarded"), "--role", "api", env=env) as running:
        yield running


def log_in(page: Page) -> None:
    page.get_by_role("heading", name="Log in to TARSy").wait_for()
    page.get_by_label("API token", exact=True).fill(TOKEN)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="Log in to TARSy")).to_have_count(0)


def test_a_server_that_requires_a_login_shows_nothing_before_and_requests_an_expired_one_again(browser: Browser, guarded: Served) -> None:
    with open_page(browser, guarded.url) as page:
        network = Network.of(page)
        page.goto("/")
        page.get_by_role("heading", name="Log in to TARSy").wait_for()
        assert_accessible(page, "login")
        page.get_by_label("API token").fill("wrong")
        page.get_by_role("button", name="Log in").click()
        page.get_by_text("Login failed.").wait_for()
        log_in(page)
        page.get_by_role("link", name="New alert").wait_for()
        page.get_by_role("button", name="Log out").click()
        page.get_by_role("heading", name="Log in to TARSy").wait_for()
        expect(page.get_by_role("link", name="New alert", include_hidden=True)).to_have_count(0)

        # An expired login loses no input.
        log_in(page)
        page.get_by_role("link", name="New alert").click()
        page.get_by_label("Alert text").fill("Written with care.")
        page.context.clear_cookies()
        # By script: the page may have found out already, and then its form cannot be reached with a pointer.
        page.get_by_role("button", name="Submit alert").evaluate("button => button.click()")
        page.get_by_role("heading", name="Log in to TARSy").wait_for()
        assert_accessible(page, "login-expired")
        log_in(page)
        expect(page.get_by_label("Alert text")).to_have_value("Written with care.")

        # Nor does it lose an open dialog, behind which the form cannot be.
        follow(page, "/system")
        page.get_by_role("button", name="Pause all work").click()
        reason = page.get_by_role("dialog", name="Pause all work?").get_by_label("Reason")
        reason.fill("The vendor is down.")
        page.context.clear_cookies()
        log_in(page)
        expect(reason).to_have_value("The vendor is down.")
        expect(reason).to_be_focused()
        page.keyboard.press("Escape")

        # Without any input: the live connection is lost, and a new one is rejected without a login.
        page.get_by_role("link", name="Sessions").click()
        page.get_by_role("region", name="Ended sessions").or_(page.get_by_text("No investigations yet")).wait_for()
        page.context.clear_cookies()
        network.cut()
        network.broken = False
        log_in(page)
        expect(page.get_by_text("Connection lost")).to_have_count(0)
