"""A session of 5,000 events that streams 200 words a second, watched from its beginning; a list of 10,000 sessions, paged and scrolled through.

What is asserted does not depend on what else the machine does: how much stands in the page, and how often it is drawn. How long frames
took, and how much time of a processor, is printed.
"""

import re
import statistics
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Playwright, expect

from support.browser import launch, open_page
from support.dashboard_sessions import wait_for_end
from support.many_sessions import copy_session
from support.recorded_server import AGENT, call, recorded_server, says
from support.tarsy_process import Served

pytestmark = [pytest.mark.xdist_group("dashboard"), pytest.mark.timeout(180)]

TURNS = 50
# As many as one answer may make.
CALLS_PER_TURN = 50
# A call and its result are two events.
EVENTS = TURNS * CALLS_PER_TURN * 2
# A recorded model streams 40 words a second.
SPEED = "5"
MEASURED_WORDS = 800
WORDS = 4_000

WATCH = """place => {
  const seen = (window.seen = { frames: [], drawn: 0, longest: 0 });
  let last = performance.now();
  const tick = (now) => { seen.frames.push(now - last); last = now; requestAnimationFrame(tick); };
  requestAnimationFrame(tick);
  new MutationObserver(() => { seen.drawn += 1; }).observe(document.querySelector(place), { childList: true, characterData: true, subtree: true });
  new PerformanceObserver((list) => {
    for (const task of list.getEntries()) seen.longest = Math.max(seen.longest, task.duration);
  }).observe({ entryTypes: ["longtask"] });
}"""
LAST_WORD = """() => Number([...document.querySelector("[role=feed]").innerText.matchAll(/word(\\d+)/g)].at(-1)?.[1] ?? -1)"""


@pytest.fixture(scope="module")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """A browser as users have it, which optimizes scripts and moves icons."""
    with launch(playwright) as running:
        yield running


@pytest.fixture(scope="module")
def talkative(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    def asks(turn: int) -> list[dict[str, Any]]:
        numbers = range(turn * CALLS_PER_TURN, (turn + 1) * CALLS_PER_TURN)
        return [call(number, "pods_list", namespace="shop", label_selector=f"number={number}") for number in numbers]

    turns = [says(AGENT, turn, *asks(turn)) for turn in range(TURNS)]
    paragraphs = (" ".join(f"word{number}" for number in range(start, start + 40)) for start in range(0, WORDS, 40))
    answer = says(AGENT, TURNS, {"text": "## Root cause\n\n" + "\n\n".join(paragraphs)})
    directory = tmp_path_factory.mktemp("talkative")
    defaults = {"llm_provider": "tape", "alert_type": "pods", "max_iterations": TURNS + 1}
    with recorded_server(directory, *turns, answer, speed=SPEED, defaults=defaults) as running:
        yield running


@dataclass(frozen=True, slots=True)
class MainThread:
    """The seconds of a processor that the page has used; waiting for one does not count."""

    # Playwright leaves the types of its messages open.
    debugger: Any

    @classmethod
    def of(cls, page: Page) -> "MainThread":
        debugger: Any = page.context.new_cdp_session(page)
        debugger.send("Performance.enable", {"timeDomain": "threadTicks"})
        return cls(debugger)

    def seconds(self, part: str = "Task") -> float:
        metrics: list[dict[str, Any]] = self.debugger.send("Performance.getMetrics")["metrics"]
        return next(metric["value"] for metric in metrics if metric["name"] == f"{part}Duration")


@pytest.fixture(scope="module")
def session(talkative: Served) -> str:
    with talkative.client() as http:
        return http.post("/api/v1/alerts", json={"data": "Pods of shop restart."}).raise_for_status().json()["session_id"]


# Whether the end of the page is in view, with a margin for content not rendered yet.
AT_END = "document.documentElement.scrollHeight - window.scrollY - window.innerHeight < 200"
# The scroll position once it is the same for twenty frames.
AT_REST = """() => new Promise(done => {
    let place = window.scrollY, frames = 0
    const check = () => {
        frames = window.scrollY === place ? frames + 1 : 0
        place = window.scrollY
        if (frames < 20) requestAnimationFrame(check)
        else done(place)
    }
    check()
})"""


def test_thousands_of_events_and_two_hundred_words_a_second_stay_smooth(browser: Browser, talkative: Served, session: str) -> None:
    with open_page(browser, talkative.url) as page:
        thread = MainThread.of(page)
        page.goto(f"/sessions/{session}")
        expect(page.get_by_role("feed").get_by_text("word0 word1")).to_be_visible(timeout=120_000)
        arrived = thread.seconds()

        page.evaluate(WATCH, "[role=feed]")
        first, before = page.evaluate(LAST_WORD), thread.seconds()
        page.wait_for_function(f"wanted => ({LAST_WORD})() >= wanted", arg=first + MEASURED_WORDS, polling=200)
        used, words = thread.seconds() - before, page.evaluate(LAST_WORD) - first
        seen: dict[str, Any] = page.evaluate("window.seen")
        in_page = page.get_by_role("feed").get_by_role("article").count()
        # The newest word is in view.
        page.wait_for_function(f"() => {AT_END}")

        # A user who scrolls up stays there, while the text goes on.
        page.mouse.move(400, 400)
        start = page.evaluate("window.scrollY")
        page.mouse.wheel(0, -600)
        expect(page.get_by_role("button", name="Follow live")).to_be_visible()
        page.wait_for_function("start => window.scrollY < start - 200", arg=start)
        place = page.evaluate(AT_REST)
        page.wait_for_function("seen => window.seen.drawn > seen", arg=page.evaluate("window.seen.drawn") + 20)
        assert abs(page.evaluate("window.scrollY") - place) < 1
        page.get_by_role("button", name="Follow live").click()
        expect(page.get_by_role("button", name="Follow live")).to_have_count(0)

        # Another client opens the page in mid-stream.
        page.reload()
        page.wait_for_function(f"known => document.querySelector('[role=feed]') && ({LAST_WORD})() > known && {AT_END}", arg=first + words)
        loaded = thread.seconds()
        after_reload = page.get_by_role("feed").get_by_role("article").count()
        with talkative.client() as http:
            stored = len(http.get(f"/api/v1/sessions/{session}/timeline").json()["events"])

    frames: list[float] = seen["frames"]
    drawing = used / seen["drawn"] * 1_000
    print(  # noqa: T201 - the figures are worth a few lines
        f"\n{stored} events arrived live with {arrived:.1f} s of processor time, loaded at once with {loaded:.1f} s"
        f"\n{words} words: drawn {seen['drawn']} times in {len(frames)} frames, {drawing:.1f} ms each, {used / words * 1_000:.2f} s per 1,000;"
        f" median {statistics.median(frames):.0f} ms, p95 {statistics.quantiles(frames, n=20)[-1]:.0f} ms, longest task {seen['longest']:.0f} ms"
        f"\n{in_page} rows in the page"
    )
    assert stored > EVENTS
    assert max(in_page, after_reload) < 60
    # Once per frame, and now and then for the clock and the session's own figures.
    assert seen["drawn"] <= len(frames) * 1.25


SESSIONS = 10_000
# From the first row to the last in steps of half a screen, one a frame; how many there were.
SCROLL = """() => new Promise(done => {
    let steps = 0
    const step = () => {
        steps += 1
        window.scrollBy(0, window.innerHeight / 2)
        if (window.scrollY + window.innerHeight >= document.documentElement.scrollHeight - 1) done(steps)
        else requestAnimationFrame(step)
    }
    step()
})"""
PAGES = 5
# As many as the first page has room for besides one of those that were there.
NEWCOMERS = 150


@contextmanager
def arriving(server: Served) -> Generator[None]:
    """Keep submitting alerts and cancelling queued sessions, so that rows of the visible list are added, moved and removed."""
    ended = Event()

    def send() -> None:
        with server.client() as http:
            for number in range(NEWCOMERS):
                if ended.is_set():
                    return
                alert = {"data": f"Newcomer {number}.", "alert_type": "silence"}
                session = http.post("/api/v1/alerts", json=alert).raise_for_status().json()["session_id"]
                http.post(f"/api/v1/sessions/{session}/cancel").raise_for_status()

    with ThreadPoolExecutor(1) as threads:
        sending = threads.submit(send)
        try:
            yield
        finally:
            ended.set()
            sending.result()


def test_ten_thousand_sessions_in_the_list_stay_smooth_while_others_come(browser: Browser, talkative: Served) -> None:
    with talkative.client() as http:
        alert = {"data": "One of many.", "alert_type": "silence"}
        session = http.post("/api/v1/alerts", json=alert).raise_for_status().json()["session_id"]
        http.post(f"/api/v1/sessions/{session}/cancel").raise_for_status()
        wait_for_end(http, session)
    copy_session(talkative, session, SESSIONS)
    messages: list[str | bytes] = []
    with open_page(browser, talkative.url) as page:
        page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: messages.append(frame)))  # noqa: PLW0108 - Playwright leaves a note on it
        thread = MainThread.of(page)
        page.goto("/sessions?status=cancelled&rows=200")
        rows = page.get_by_role("region", name="Ended sessions").get_by_role("listitem")
        expect(page.get_by_role("heading", name="Ended 10,001")).to_be_visible()
        expect(rows).to_have_count(200)
        before, received = thread.seconds(), len(messages)
        page.evaluate(WATCH, "main")
        with arriving(talkative):
            # The page itself, while rows come in on top of it.
            expect(rows.first).to_contain_text("Newcomer")
            page.evaluate(SCROLL)
            for number in range(2, PAGES + 1):
                page.get_by_role("button", name="Next page").click()
                expect(page.get_by_text(f"page {number} of 51")).to_be_visible()
                expect(rows.first).to_contain_text(re.compile(r"Row \d+ of many"))
                page.evaluate(SCROLL)
            seen: dict[str, Any] = page.evaluate("window.seen")
            used, in_page, elements = thread.seconds() - before, rows.count(), page.locator("main *").count()
    frames: list[float] = seen["frames"]
    print(  # noqa: T201 - the figures are worth a line
        f"\n{PAGES} pages of 200 rows of {SESSIONS:,} with {len(messages) - received} live messages: {used / PAGES * 1_000:.0f} ms of processor time each,"
        f" {elements} elements; median {statistics.median(frames):.0f} ms, p95 {statistics.quantiles(frames, n=20)[-1]:.0f} ms,"
        f" longest task {seen['longest']:.0f} ms"
    )
    assert in_page == 200
    assert elements < 200 * 30
    assert len(messages) > received


# The browser's metrics of the work on a page: the total, and its largest parts.
PARTS = ("Task", "Script", "RecalcStyle", "Layout")
# Rules that the browser has to try on every element that comes into the page: those for its two pseudo-elements, and those that compare it with
# its neighbours without naming what it is.
COSTLY_RULES = r"""() => {
    const selectors = (rules) => [...rules].flatMap(rule => [...(rule.selectorText ? [rule.selectorText] : []), ...selectors(rule.cssRules ?? [])])
    return [...document.styleSheets].flatMap(sheet => selectors(sheet.cssRules)).filter(one => /(^|[ ,*>+~])::(before|after)|[+~] ?(\*|:not)/.test(one))
}"""


def test_a_trace_of_thousands_of_calls_stays_smooth(browser: Browser, talkative: Served, session: str) -> None:
    with open_page(browser, talkative.url) as page:
        thread = MainThread.of(page)
        page.goto(f"/sessions/{session}/trace")
        calls = page.get_by_role("list", name="Calls")
        expect(calls.get_by_role("listitem").first).to_be_visible(timeout=60_000)
        # Calls made while the page is open are added to it.
        expect(page.get_by_role("status").filter(has_text=re.compile(r"^25\d\d calls$"))).to_be_visible(timeout=120_000)
        page.reload()
        expect(page.get_by_role("status").filter(has_text=re.compile(r"^25\d\d calls$"))).to_be_visible(timeout=60_000)
        assert page.evaluate(COSTLY_RULES) == []
        before = {part: thread.seconds(part) for part in PARTS}
        page.evaluate(WATCH, "ol[aria-label=Calls]")
        steps: int = page.evaluate(SCROLL)
        each = {part: (thread.seconds(part) - seconds) / steps * 1_000 for part, seconds in before.items()}
        in_page = calls.get_by_role("listitem").count()
        # The last call is shown; several were made at once, so it may be any of them.
        expect(page.locator("ol[aria-label=Calls] > li").last).to_be_in_viewport()
        assert page.evaluate(
            "(last => last.ariaPosInSet === last.ariaSetSize)([...document.querySelectorAll('ol[aria-label=Calls] > li')].at(-1))"
        )
        page.get_by_label("Search calls").fill("number=1234")
        expect(calls.get_by_role("listitem")).to_have_count(2)
        seen: dict[str, Any] = page.evaluate("window.seen")
    frames: list[float] = seen["frames"]
    print(  # noqa: T201 - the figures are worth a few lines
        f"\na trace of {TURNS * CALLS_PER_TURN} calls loaded with {before['Task']:.1f} s of processor time, scrolled through in {steps} half screens"
        f" of {each['Task']:.1f} ms each: {each['Script']:.1f} script, {each['RecalcStyle']:.1f} styles, {each['Layout']:.1f} layout"
        f"\nmedian {statistics.median(frames):.0f} ms, p95 {statistics.quantiles(frames, n=20)[-1]:.0f} ms, longest task {seen['longest']:.0f} ms"
        f"\n{in_page} rows in the page"
    )
    assert in_page < 80
