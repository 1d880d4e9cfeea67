"""The states of a page: calls that wait for a person, sessions that did not end well, and lists that load or cannot be loaded."""

import re
from typing import Any, cast

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from support.browser import (
    DESKTOP,
    NOWHERE,
    PHONE,
    TABLET,
    assert_accessible,
    assert_fits,
    expect_status,
    follow,
    loaded_page,
    open_page,
    picture,
    resize,
)
from support.dashboard_sessions import Silent, submit_alert, wait_for_end
from support.tarsy_process import Served

pytestmark = [pytest.mark.xdist_group("dashboard"), pytest.mark.timeout(180)]

STATUSES = ("pending", "in_progress", "waiting", "cancelling", "completed", "failed", "timed_out", "cancelled")


def assert_good_at_every_width(page: Page, name: str, part: Locator | None = None) -> None:
    assert_accessible(page, name, part)
    for label, size in (("tablet", TABLET), ("phone", PHONE)):
        resize(page, size)
        picture(page, f"{name}-{label}")
        assert_fits(page)
    resize(page, DESKTOP)


def test_calls_that_wait_for_an_approval_are_shown_as_they_would_be_sent_and_decided(browser: Browser, configured: Served) -> None:
    with loaded_page(browser, configured.url) as page, configured.client() as http:
        session = submit_alert(http, "repair")
        follow(page, f"/sessions/{session}")
        expect_status(page, "Waiting")
        cards = page.get_by_role("article", name="Approval of standby.pods_log")
        expect(cards).to_have_count(2)
        expect(cards.filter(has_text='"name": "cart-1"')).to_have_count(1)
        assert_good_at_every_width(page, "session-approval", page.get_by_role("main"))
        page.get_by_role("link", name="Approvals").click()
        expect(cards).to_have_count(2)
        assert_good_at_every_width(page, "approvals-pending", page.get_by_role("main"))
        # By keyboard.
        cards.filter(has_text="cart-1").get_by_label("Reason").focus()
        page.keyboard.type("It only reads.")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(cards).to_have_count(1)
        cards.get_by_label("Reason").fill("Not this one.")
        cards.get_by_role("button", name="Reject").click()
        page.get_by_text("No call waits for an approval").wait_for()
        page.go_back()
        expect_status(page, "Completed")
        feed = page.get_by_role("feed")
        for decision, reason in (("approved by api-client", "It only reads."), ("rejected by api-client", "Not this one.")):
            feed.get_by_role("article").filter(has_text=decision).get_by_role("button", name="standby.pods_log").click()
            cards.filter(has_text=f"Reason: {reason}").wait_for()
        assert_accessible(page, "approvals-decided", feed)


def test_a_target_is_tested_and_a_dead_letter_is_sent_again(browser: Browser, server: Served, finished: dict[str, str]) -> None:
    with loaded_page(browser, server.url) as page:
        follow(page, "/notifications")
        page.get_by_role("button", name="Test ticket-bot").click()
        page.get_by_role("status").filter(has_text="Not delivered: the receiver cannot be reached").wait_for()
        expect(page.get_by_role("listitem").filter(has_text="old-channel").first).to_contain_text("no longer configured")
        page.get_by_role("button", name="Dead letter", exact=True).click()
        expect(page.get_by_role("button", name="Send again")).to_have_count(1)
        assert_accessible(page, "notifications-tested")
        page.get_by_role("button", name="Send again").click()
        page.get_by_text("No notifications").wait_for()


def test_every_status_of_a_session_is_shown_in_the_list(browser: Browser, server: Served, finished: dict[str, str]) -> None:
    with server.client() as http:
        listed: dict[str, Any] = http.get("/api/v1/sessions").raise_for_status().json()
    one = {**listed["sessions"][0], "verdict": None, "analysis_is_partial": True}

    def in_every_status(route: Route) -> None:
        states = [status for status in STATUSES if f"status={status}" in route.request.url]
        rows = [{**one, "id": f"{STATUSES.index(state):08}-0000-4000-8000-000000000000", "status": state} for state in states]
        if "in_progress" in states:
            rows.append({**one, "id": "00000009-0000-4000-8000-000000000000", "status": "in_progress", "waiting_for_model": True})
        route.fulfill(json={**listed, "sessions": rows})

    with open_page(browser, server.url) as page:
        page.route("**/api/v1/sessions?*", in_every_status)
        page.goto("/sessions")
        for label in (
            "Queued",
            "Running",
            "Waiting",
            "Cancelling",
            "Waiting for the model",
            "No verdict",
            "Failed",
            "Timed out",
            "Cancelled",
        ):
            page.get_by_role("listitem").get_by_text(label, exact=True).wait_for()
        assert_good_at_every_width(page, "sessions-statuses")


def test_a_failed_a_partial_a_forced_and_a_cancelled_session_show_what_happened(
    browser: Browser, configured: Served, silent: Silent
) -> None:
    with loaded_page(browser, configured.url) as page, configured.client() as http:
        unfinished, hurried = (submit_alert(http, alert_type) for alert_type in ("unfinished", "hurry"))
        wait_for_end(http, unfinished)
        follow(page, f"/sessions/{unfinished}")
        expect_status(page, "Failed")
        page.get_by_text("This analysis is partial").first.wait_for()
        assert_good_at_every_width(page, "session-failed")
        wait_for_end(http, hurried)
        page.route(re.compile(f"/api/v1/sessions/{hurried}$"), with_actions)
        follow(page, f"/sessions/{hurried}")
        expect_status(page, "Completed")
        page.get_by_text("This analysis is partial. The agent had to conclude").wait_for()
        actions = page.get_by_role("region", name="Actions")
        for text in ("Approved by ada. The symptom is gone.", "Outcome unknown", "Not decided, or running", "was not begun"):
            actions.get_by_text(text).wait_for()
        assert_good_at_every_width(page, "session-actions", actions)
        running = silent()
        page.route(re.compile(f"/api/v1/sessions/{running}$"), without_model)
        follow(page, f"/sessions/{running}")
        expect(page.get_by_test_id("session-status")).to_have_text("Waiting for the model")
        assert_accessible(page, "session-waiting-for-model", page.get_by_role("main"))
        page.unroute_all(behavior="wait")
        http.post(f"/api/v1/sessions/{running}/cancel").raise_for_status()
        expect_status(page, "Cancelled")
        assert_accessible(page, "session-cancelled", page.get_by_role("main"))


def with_actions(route: Route) -> None:
    """As if a stage had acted, with every outcome."""
    response, outcomes = route.fetch(), ("succeeded", "failed", "not_run", "dry_run", "unknown", "pending")
    actions = [
        {
            "evidence_id": f"B{number}",
            "call": f'cluster-admin.rollout_restart {{"namespace": "shop", "deployment": "{"cart-" * 12}{number}"}}',
            "approved_by": "ada" if outcome == "succeeded" else None,
            "outcome": outcome,
            "verified": "yes" if outcome == "succeeded" else "unknown",
        }
        for number, outcome in enumerate(outcomes)
    ]
    left_out = ['Stage "roll back" was not begun: a stage before it failed, a ceiling was met, or the session\'s time was up.']
    route.fulfill(response=response, json={**response.json(), "actions": actions, "actions_left_out": left_out})


def without_model(route: Route) -> None:
    response = route.fetch()
    waiting = {"waiting_for_model": True, "waiting_reason": "No model of its chain answers."}
    route.fulfill(response=response, json={**response.json(), **waiting})


# Every page, and what it says when its data cannot be loaded.
LOADED = {
    "/incidents": "The incidents could not be loaded.",
    "/incidents/00000000-0000-4000-8000-000000000000": "The incident could not be loaded.",
    "/sessions": "The sessions could not be loaded.",
    "/sessions/00000000-0000-4000-8000-000000000000": "The session could not be loaded.",
    "/sessions/00000000-0000-4000-8000-000000000000/trace": "The trace could not be loaded.",
    "/sessions/00000000-0000-4000-8000-000000000000/compare": "The session could not be loaded.",
    "/alerts/new": "The samples could not be loaded.",
    "/approvals": "The approvals could not be loaded.",
    "/reviews": "The reviews could not be loaded.",
    "/usage": "The usage could not be loaded.",
    "/notifications": "The notifications could not be loaded.",
    "/system": "The configuration could not be loaded.",
    "/audit": "The audit log could not be loaded.",
    "/setup": "The setup page could not be loaded.",
}


def test_every_page_shows_that_it_loads_and_why_it_could_not_be_loaded(browser: Browser, server: Served) -> None:
    reason = "This needs the role admin, and your role is viewer."
    refusal = {"type": "about:blank", "title": "Forbidden", "status": 403, "detail": reason}
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    def refuse(route: Route) -> None:
        route.fulfill(status=403, json=refusal)

    data = re.compile("/api/v1/(?!me$|system/version)")
    first = next(iter(LOADED))
    with open_page(browser, server.url) as page:
        page.route(data, hold)
        page.goto(first)
        for address, failure in LOADED.items():
            if address != first:
                follow(page, address)
            page.get_by_role("status").filter(has_text="Loading").first.wait_for()
            # Both states look the same on all pages.
            if address == first:
                assert_accessible(page, "loading")
            page.route(data, refuse)
            for request in held:
                refuse(request)
            held.clear()
            expect(page.get_by_role("alert").filter(has_text=failure).first).to_contain_text(reason)
            if address == first:
                assert_accessible(page, "failed")
                resize(page, PHONE)
            assert_fits(page)
            page.unroute(data, refuse)


# Parts of pages whose requests fail alone, and what is shown in their place.
PARTS = {
    "/incidents": ("/mutes", ["The mutes could not be loaded."]),
    "/alerts/new": (
        "/system/(mcp-servers|default-tools)",
        ["The tool servers could not be loaded.", "The chain's own tools could not be loaded."],
    ),
    "/sessions/{crashloop}": ("/sessions/[^/]*/(citations|evidence/.*)", ["The citations could not be loaded."]),
    "/sessions/{crashloop}/compare?with={dns-outage}": ("/sessions/[^/]*/trace", ["Turns and tool calls could not be counted."]),
}


def test_a_part_of_a_page_that_cannot_be_loaded_says_so(browser: Browser, server: Served, finished: dict[str, str]) -> None:
    refusal = {"type": "about:blank", "title": "Forbidden", "status": 403, "detail": "Not today."}
    with open_page(browser, server.url) as page:
        page.goto(NOWHERE)
        page.get_by_text("There is no such page").wait_for()
        for address, (refused, failures) in PARTS.items():
            page.route(re.compile(f"/api/v1{refused}$"), lambda route: route.fulfill(status=403, json=refusal))
            follow(page, address.format(**finished))
            for failure in failures:
                expect(page.get_by_role("alert").filter(has_text=failure)).to_contain_text("Not today.")
            if address == "/sessions/{crashloop}":
                # The words behind a citation, which its tooltip shows.
                page.get_by_role("region", name="Analysis").locator("a.citation").first.hover()
                expect(page.get_by_role("tooltip")).to_contain_text("could not be loaded. Not today.")
            page.unroute_all(behavior="wait")
        follow(page, "/incidents")
        page.get_by_text("Nothing is muted").wait_for()


# Pages without data, and what they say then.
EMPTY = {
    "/incidents": "No incidents",
    "/sessions/{crashloop}/trace": "No calls yet",
    "/sessions/{crashloop}/compare": "There is no other session of this alert type",
    "/reviews": "No reviews yet",
    "/usage": "No model calls in this period",
    "/notifications": "No targets are configured",
    "/system": "No tool server is in use",
    "/audit": "No entries match",
}


def without_data(value: Any) -> Any:
    """Return the value with empty lists and zeros."""
    if isinstance(value, dict):
        return {name: without_data(one) for name, one in cast("dict[str, Any]", value).items()}
    return [] if isinstance(value, list) else 0 if type(value) is int else value


def test_pages_without_data_say_so(browser: Browser, server: Served, finished: dict[str, str]) -> None:
    def empty(route: Route) -> None:
        response = route.fetch()
        route.fulfill(response=response, json=without_data(response.json()))

    with open_page(browser, server.url) as page:
        page.route(re.compile("/api/v1/(?!me$|sessions/[^/?]*$|system/(config|queue|version))"), empty)
        page.goto("/")
        page.get_by_role("navigation", name="Main").wait_for()
        for address, text in EMPTY.items():
            follow(page, address.format(**finished))
            page.get_by_text(text).wait_for()
            assert_accessible(page, f"empty-{address.split('/')[1]}", page.get_by_role("main"))


def test_a_server_that_does_not_respond_and_a_person_without_a_role_are_reported(browser: Browser, server: Served) -> None:
    with open_page(browser, server.url) as page, server.client() as http:
        known = {**http.get("/api/v1/me").raise_for_status().json(), "login_required": True, "author": "ada", "role": None}
        page.route("**/api/v1/me", lambda route: route.fulfill(json=known))
        page.goto("/")
        page.get_by_text("ada is logged in, but has no role in TARSy.").wait_for()
        assert_accessible(page, "no-role")
        page.unroute_all()
        page.route("**/api/v1/me", lambda route: route.abort())
        page.reload()
        page.get_by_text("TARSy is not responding.").wait_for()
        assert_accessible(page, "not-responding")
        page.unroute_all()
        page.get_by_role("button", name="Try again").click()
        page.get_by_role("navigation", name="Main").wait_for()
