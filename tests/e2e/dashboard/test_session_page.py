"""A session that has ended: finding text, links, its recording, forks and comparison with another session."""

import json
import re

import pytest
from playwright.sync_api import Browser, Route, expect

from support.browser import (
    PATIENCE_MS,
    PHONE,
    assert_accessible,
    assert_fits,
    expect_status,
    follow,
    loaded_page,
    open_page,
    picture,
    resize,
)
from support.dashboard_sessions import wait_for_end
from support.tarsy_process import Served

pytestmark = [pytest.mark.xdist_group("dashboard"), pytest.mark.timeout(180)]

# Wide enough for a table of contents.
WIDE = (1680, 900)
ALERT = "Pods of shop restart, see https://grafana.example/d/1?x=2. Not javascript:alert(1), nor https://bank.example@evil.example/"


@pytest.fixture(scope="module")
def session(configured: Served) -> str:
    with configured.client() as http:
        submitted = http.post("/api/v1/alerts", json={"data": ALERT}).raise_for_status().json()["session_id"]
        wait_for_end(http, submitted)
    return submitted


def test_a_session_is_searched_its_links_are_safe_and_its_recording_is_downloaded(
    browser: Browser, configured: Served, session: str
) -> None:
    with loaded_page(browser, configured.url, size=WIDE) as page:
        follow(page, f"/sessions/{session}")
        expect_status(page, "Completed")

        # Only web addresses are links, and the shown address is the real one.
        links = page.get_by_role("region", name="Alert").get_by_role("link")
        expect(links).to_have_count(1)
        expect(links).to_have_attribute("href", "https://grafana.example/d/1?x=2")
        expect(links).to_have_attribute("rel", "noopener noreferrer nofollow")

        contents = page.get_by_role("navigation", name="On this page")
        contents.get_by_role("button", name="look").click()
        expect(page.get_by_role("feed").get_by_role("heading", name="look")).to_be_in_viewport()
        contents.get_by_role("button", name="Why").click()
        expect(page.get_by_role("heading", name="Why")).to_be_in_viewport()

        # A correction that only repeats the answer is not shown.
        expect(page.get_by_role("feed").get_by_role("button", name="Draft that was corrected")).to_have_count(0)

        # Found in a tool result, which opens at the match; then the next match.
        page.keyboard.press("/")
        page.keyboard.insert_text("crashloopbackoff")
        found = page.get_by_role("search").get_by_role("status")
        expect(found).to_have_text(re.compile(r"^\d found$"))
        page.keyboard.press("Enter")
        expect(found).to_have_text(re.compile(r"^1 of \d$"))
        expect(page.get_by_role("region", name="Result").locator("mark")).to_have_text("CrashLoopBackOff")
        expect(page.get_by_role("region", name="Result").locator("mark")).to_be_in_viewport()
        page.get_by_role("button", name="Next place").click()
        expect(found).to_have_text(re.compile(r"^2 of \d$"))
        assert_accessible(page, "session-found", page.get_by_role("main"))

        # On paper: the result over the whole width, without what only a screen can use.
        page.emulate_media(media="print")
        for hidden in (
            page.get_by_role("navigation", name="Main"),
            contents,
            page.get_by_role("region", name=re.compile("Timeline|Review")),
        ):
            expect(hidden.locator("visible=true")).to_have_count(0)
        for name in ("Verdict", "Analysis"):
            box = page.get_by_role("region", name=name, exact=True).bounding_box()
            assert box
            assert box["width"] > WIDE[0] * 0.9
        picture(page, "session-printed")
        page.emulate_media(media="screen")

        review = page.get_by_role("region", name="Review", exact=True)
        review.get_by_role("button", name="Not useful").click()
        review.get_by_label("Actual cause").fill("A bad rollout")
        review.get_by_role("button", name="Wrong").click()
        review.get_by_role("button", name="Wrong", pressed=True).wait_for()
        expect(review.get_by_label("Actual cause")).to_have_value("A bad rollout")
        assert_accessible(page, "session-reviewed", review)

        page.get_by_role("button", name="Report").click()
        with page.expect_download() as download:
            page.get_by_role("menuitem", name="Recording").click()
        assert json.loads(download.value.path().read_text())["tarsy_recording"] == 5


def test_a_step_that_cannot_be_forked_shows_the_reason(browser: Browser, configured: Served, session: str) -> None:
    with loaded_page(browser, configured.url) as page:
        follow(page, f"/sessions/{session}/trace")
        # The agent was called once more, to correct the made-up quotation.
        page.get_by_role("list", name="Calls").get_by_role("button").filter(has_text=re.compile("correct", re.IGNORECASE)).first.click()
        fork = page.get_by_role("button", name="Fork from here")
        expect(fork).to_have_attribute("aria-disabled", "true")
        fork.hover()
        expect(page.get_by_role("tooltip")).to_contain_text("fork at the step's own call")
        assert_accessible(page, "fork-refused", page.get_by_role("tooltip"))


def test_a_step_of_a_sub_agent_is_forked_where_it_is_read(browser: Browser, configured: Served) -> None:
    with configured.client() as http:
        alert = {"data": "Pods of shop restart.", "alert_type": "team"}
        session = http.post("/api/v1/alerts", json=alert).raise_for_status().json()["session_id"]
        wait_for_end(http, session)
        trace = http.get(f"/api/v1/sessions/{session}/trace").raise_for_status().json()
        sent = next(one["id"] for one in trace["executions"] if one["parent_execution_id"])
        call = next(one["id"] for one in trace["llm"] if one["execution_id"] == sent)
    with loaded_page(browser, configured.url) as page:
        follow(page, f"/sessions/{session}/trace?call=llm:{call}")
        expect(page.get_by_role("button", name="Fork from here")).to_have_attribute("aria-disabled", "false")

        follow(page, f"/sessions/{session}")
        expect_status(page, "Completed")
        page.get_by_role("list", name="Agents of send").get_by_role("button", name=re.compile("LogAgent")).click()
        entry = page.get_by_role("feed").get_by_role("article").filter(has_text="cluster.pods_list")
        entry.get_by_role("button", name="Fork from here").first.click()
        dialog = page.get_by_role("dialog", name="Fork from turn 1 of LogAgent")
        dialog.get_by_text("Lead waits for the new report of LogAgent.").wait_for()
        dialog.get_by_label("Hint for its agents").fill("Look at the nodes.")
        assert_accessible(page, "fork-sub-agent")
        dialog.get_by_role("button", name="Fork", exact=True).click()
        page.wait_for_url(lambda url: session not in url, timeout=PATIENCE_MS)
        page.get_by_text("from turn 1 of LogAgent (A1)").wait_for()
        expect_status(page, "Completed")
        page.get_by_role("list", name="Agents of send").get_by_role("button", name=re.compile("LogAgent")).click()
        expect(page.get_by_role("feed").get_by_text("Look at the nodes.").first).to_be_attached()


def test_a_comparison_of_sessions_without_analyses_says_so(browser: Browser, configured: Served, session: str) -> None:
    def without_analysis(route: Route) -> None:
        response = route.fetch()
        route.fulfill(response=response, json={**response.json(), "final_analysis": None})

    with open_page(browser, configured.url) as page:
        page.route(re.compile("/api/v1/sessions/[^/]+$"), without_analysis)
        page.goto(f"/sessions/{session}/compare?with={session}")
        page.get_by_text("Neither session has an analysis").wait_for()
        assert_accessible(page, "compare-without-analyses", page.get_by_role("main"))


def test_a_session_is_forked_and_compared_with_its_fork(browser: Browser, configured: Served, session: str) -> None:
    with loaded_page(browser, configured.url) as page:
        follow(page, f"/sessions/{session}")
        expect_status(page, "Completed")
        page.get_by_role("feed").get_by_role("article").filter(has_text="cluster.pods_list").get_by_role(
            "button", name="Fork from here"
        ).first.click()
        dialog = page.get_by_role("dialog", name="Fork from turn 1 of PodAgent")
        dialog.get_by_label("Hint for its agents").fill("Look at the nodes.")
        assert_accessible(page, "fork")
        dialog.get_by_role("button", name="Fork", exact=True).click()
        page.wait_for_url(lambda url: session not in url, timeout=PATIENCE_MS)
        # First what only the fork shows: the session it comes from is completed too.
        expect(page.get_by_role("feed").get_by_text("Look at the nodes.").first).to_be_attached()
        page.get_by_text("from turn 1 of PodAgent").wait_for()
        expect_status(page, "Completed")

        page.get_by_role("link", name="Compare").click()
        page.wait_for_url(f"**/compare?with={session}")
        page.get_by_role("row", name=re.compile("^Verdict Suspected fault Suspected fault")).wait_for()
        page.get_by_role("row", name=re.compile("^Turns 4 4")).wait_for()
        page.get_by_text("Their analyses are the same, word for word").wait_for()
        assert_accessible(page, "compare", page.get_by_role("main"))
        compared = page.url

        # Without another session, those of the same type are offered; any other id can be pasted.
        follow(page, f"/sessions/{session}/compare")
        page.get_by_role("list", name="Other sessions").get_by_role("button").first.wait_for()
        page.get_by_label("Address or id of a session").fill("nonsense")
        page.get_by_role("button", name="Compare").click()
        page.get_by_role("alert").filter(has_text="An id looks like").wait_for()
        assert_accessible(page, "compare-choose", page.get_by_role("main"))
        page.get_by_label("Address or id of a session").fill(compared.split("?")[0])
        page.get_by_role("button", name="Compare").click()
        page.get_by_role("row", name=re.compile("^Verdict")).wait_for()

        resize(page, PHONE)
        assert_fits(page)
        picture(page, "compare-phone")
        follow(page, f"/sessions/{session}")
        # The bar with the button to ask covers no other button: it is as wide as the page, and the page ends above it.
        page.get_by_role("button", name="Copy the name").click()
        page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
        bar = page.get_by_role("button", name="Ask").locator("..").bounding_box()
        last = page.get_by_role("region", name="Alert").last.bounding_box()
        assert bar
        assert last
        assert (bar["x"], bar["width"]) == (0, PHONE[0])
        assert last["y"] + last["height"] <= bar["y"]
        assert_fits(page)
        picture(page, "session-phone-end")
