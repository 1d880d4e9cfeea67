"""The verdict of an investigation, its citations, and the tool results they cite."""

import re

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from support.browser import PHONE, assert_accessible, assert_fits, follow, loaded_page, open_page, picture, resize
from support.dashboard_sessions import submit_alert, wait_for_end
from support.tarsy_process import Served

pytestmark = [pytest.mark.xdist_group("dashboard"), pytest.mark.timeout(180)]

TRUE_WORDS = "cart-6f7b9c4d8-9kq2m 0/1 CrashLoopBackOff"
MADE_UP = "cart-6f7b9c4d8-9kq2m burns node-9"


@pytest.fixture(scope="module")
def cited(configured: Served) -> str:
    """The address of a session of whose three citations one is true, one quotes nothing, and one is made up."""
    with configured.client() as http:
        session = (
            http.post("/api/v1/alerts", json={"data": "Pods of shop restart.", "alert_type": "pods"})
            .raise_for_status()
            .json()["session_id"]
        )
        wait_for_end(http, session)
    return f"/sessions/{session}"


def chip(page: Page, words: str) -> Locator:
    return page.get_by_role("region", name="Analysis").get_by_role("link", name=words)


def test_the_verdict_shows_cause_confidence_and_what_to_do_now(browser: Browser, configured: Served, cited: str) -> None:
    with loaded_page(browser, configured.url) as page:
        follow(page, cited)
        verdict = page.get_by_role("region", name="Verdict")
        expect(verdict).to_contain_text("Deployment shop/cart")
        expect(verdict).to_contain_text("A new pod of the cart does not start.")
        expect(verdict).to_contain_text("Suspected fault")
        reason = "a link of the chain of causes cites words that were not seen"
        expect(verdict).to_contain_text(f"Low, although the agent claimed more: {reason}.")
        expect(verdict).to_contain_text("yesterday")
        verdict.locator("dd").get_by_text("Yes", exact=True).wait_for()
        verdict.get_by_role("link", name="A1 (not verified)").wait_for()
        do_now = verdict.get_by_role("region", name="Do now")
        expect(do_now.locator("strong")).to_have_text(["Risk:", "Verify:", "Undo:"])
        do_now.get_by_role("button", name="Copy this code").click()
        assert page.evaluate("navigator.clipboard.readText()") == "kubectl -n shop rollout undo deployment/cart"
        # The analysis does not repeat it.
        expect(page.get_by_role("region", name="Analysis")).not_to_contain_text("rollout undo")

        verdict.get_by_role("button", name="1 quotation verified, 1 failed, 1 by id only.").click()
        rows = verdict.get_by_role("list", name="Citations").get_by_role("listitem")
        expect(rows.nth(0)).to_contain_text(f"{MADE_UP} Not verified: these words are not in A1.")
        expect(rows.nth(0)).to_contain_text(re.compile("The nearest real line: shop +cart-6f7b9c4d8-9kq2m"))
        expect(rows.nth(1)).to_contain_text("By id only: nothing is quoted.")
        expect(rows.nth(2)).to_contain_text(f"{TRUE_WORDS} Verified")
        expect(verdict.get_by_role("list", name="Statements that failed the check")).to_contain_text("these words are not in A1")
        assert_accessible(page, "verdict", verdict)
        rows.nth(2).get_by_role("link").click()
        page.get_by_role("complementary", name="Evidence A1").wait_for()


def test_a_citation_shows_its_words_where_they_stand_and_opens_the_result_beside_the_text(
    browser: Browser, configured: Served, cited: str
) -> None:
    with open_page(browser, configured.url) as page:
        page.goto(cited)
        true = chip(page, f"{TRUE_WORDS} A1 (verified)")
        true.hover()
        card = page.get_by_role("tooltip")
        expect(card.locator("mark")).to_have_text(re.compile(r"cart-6f7b9c4d8-9kq2m +0/1 +CrashLoopBackOff"))
        expect(card).to_contain_text("cart-5b6c7d9f48-q6zvn")
        expect(card).to_contain_text("Verified: these words are in the result.")
        assert_accessible(page, "citation", card)
        page.mouse.move(0, 0)
        expect(card).to_have_count(0)

        # With the keyboard alone: the made-up one shows the reason, opens, and closes again.
        made_up = chip(page, f"{MADE_UP} A1 (not verified)")
        expect(made_up).to_have_attribute("data-state", "failed")
        made_up.focus()
        expect(page.get_by_role("tooltip")).to_contain_text("Not verified: these words are not in A1.")
        page.keyboard.press("Enter")
        panel = page.get_by_role("complementary", name="Evidence A1")
        expect(panel).to_be_focused()
        expect(panel.locator("mark")).to_contain_text("10.20.10.77")
        expect(panel.get_by_role("list", name="Quotations")).to_contain_text("The nearest real line is marked below.")
        page.keyboard.press("Escape")
        expect(panel).to_have_count(0)
        expect(made_up).to_be_focused()
        assert "evidence" not in page.url

        true.click()
        expect(panel.locator("mark")).to_be_in_viewport()
        expect(panel.locator("mark")).to_have_text(re.compile(r"cart-6f7b9c4d8-9kq2m +0/1 +CrashLoopBackOff"))
        expect(true).to_be_in_viewport()
        assert_accessible(page, "evidence", panel)


def test_evidence_has_an_address_that_survives_a_reload_and_the_back_button_closes_it(
    browser: Browser, server: Served, finished: dict[str, str]
) -> None:
    with loaded_page(browser, server.url) as page:
        follow(page, f"/sessions/{finished['dns-outage']}?evidence=B6")
        panel = page.get_by_role("complementary", name="Evidence B6")
        expect(panel).to_contain_text("cluster.configmaps_get")
        page.reload()
        expect(panel.locator("mark")).to_be_in_viewport()
        panel.get_by_role("button", name="Close").click()
        expect(panel).to_have_count(0)

        chip(page, "9214 queries 0 replies B7 (verified)").click()
        page.get_by_role("complementary", name="Evidence B7").wait_for()
        chip(page, "forward . 10.44.0.53 B6 (verified)").click()
        expect(panel.locator("mark")).to_have_text("forward . 10.44.0.53")
        panel.get_by_role("button", name="Copy a link to this result").click()
        address: str = page.evaluate("navigator.clipboard.readText()")
        page.go_back()
        expect(panel).to_have_count(0)
        follow(page, address)
        expect(panel.locator("mark")).to_have_text("forward . 10.44.0.53")
        timeline = page.get_by_role("feed", name="Timeline")
        result = timeline.get_by_role("region", name="Full result").or_(timeline.get_by_role("region", name="Result")).first
        panel.get_by_role("button", name="Show in the timeline").click()
        expect(result).to_be_in_viewport()
        # And once more, after going back to the top.
        follow(page, address)
        page.keyboard.press("Home")
        page.wait_for_function("() => window.scrollY === 0")
        panel.get_by_role("button", name="Show in the timeline").click()
        expect(result).to_be_in_viewport()

        follow(page, f"/sessions/{finished['dns-outage']}?evidence=Z9")
        page.get_by_text("Z9 could not be shown.").wait_for()


DRAWING_IS_LOADED = "performance.getEntriesByType('resource').some(one => one.name.includes('/chart-plot'))"


def test_series_of_metrics_are_drawn_beside_their_citation_and_in_the_timeline(
    browser: Browser, server: Served, finished: dict[str, str]
) -> None:
    with open_page(browser, server.url) as page:
        page.goto(f"/sessions/{finished['crashloop']}")
        cpu = chip(page, "A8 (verified)").first
        cpu.wait_for()
        page.wait_for_load_state("networkidle")
        # The timeline, with its charts, is below the visible part of the page.
        assert not page.evaluate(DRAWING_IS_LOADED)
        cpu.click()
        panel = page.get_by_role("complementary", name="Evidence A8")
        drawn = panel.get_by_role(
            "img", name=re.compile(r"deployment:cpu_utilisation:ratio.+: 1 series, .+, lowest 0\.547, highest 0\.874")
        )
        drawn.locator("canvas").wait_for()
        panel.get_by_role("button", name="Show table").press("Enter")
        # As many as the result has samples, and the heading.
        expect(panel.get_by_role("row")).to_have_count(15)
        assert_accessible(page, "metric-chart", panel)
        panel.get_by_role("button", name="Show in the timeline").click()
        page.get_by_role("main").locator("figure canvas").nth(1).wait_for()
        resize(page, PHONE)
        assert_fits(page)


def test_on_a_phone_the_result_opens_in_a_drawer(browser: Browser, configured: Served, cited: str) -> None:
    with loaded_page(browser, configured.url, size=PHONE) as page:
        follow(page, cited)
        chip(page, f"{TRUE_WORDS} A1 (verified)").click()
        sheet = page.get_by_role("dialog", name="Evidence A1")
        expect(sheet.locator("mark")).to_be_in_viewport()
        assert_fits(page)
        assert_accessible(page, "evidence-phone")
        sheet.get_by_role("button", name="Close").click()
        expect(sheet).to_have_count(0)
        assert_fits(page)
        picture(page, "verdict-phone")

        # The chat is a drawer too, and unsent text is kept.
        page.get_by_role("button", name="Ask").click()
        page.get_by_label("Ask a question").fill("Is it")
        chat = page.get_by_role("dialog", name="Follow-up")
        ask = chat.get_by_role("button", name="Ask", exact=True)
        expect(ask).to_be_in_viewport()
        assert_accessible(page, "chat-phone")
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        page.get_by_role("button", name="Ask").click()
        expect(chat.get_by_label("Ask a question")).to_have_value("Is it")
        # An answer can be stopped.
        ask.click()
        chat.get_by_role("button", name="Stop", exact=True).click()
        chat.get_by_role("article", name="Question: Is it").get_by_text("Cancelled").wait_for()
        ask.wait_for()


def test_a_challenged_verdict_shows_the_result_of_the_challenge(browser: Browser, configured: Served) -> None:
    with loaded_page(browser, configured.url) as page, configured.client() as http:
        session = submit_alert(http, "challenged")
        wait_for_end(http, session)
        follow(page, f"/sessions/{session}")
        verdict = page.get_by_role("region", name="Verdict")
        verdict.get_by_text("Upheld by a challenge").wait_for()
        page.get_by_role("list", name="Stages").get_by_role("button", name="challenge Completed").wait_for()
        assert_accessible(page, "challenged", verdict)
