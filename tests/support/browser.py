"""A browser, and what every page of the dashboard has to keep to: no errors, nothing from elsewhere, accessible to everybody.

Tests wait for an element with its `wait_for()`. `expect(...).to_be_visible()` does the same, but describes the whole page after every
attempt that fails, which takes a tenth of a second on a long page.
"""

import re
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Error, Locator, Page, Playwright, Request, WebSocketRoute, expect

from support.paths import ROOT

AXE = ROOT / "dashboard" / "node_modules" / "axe-core" / "axe.min.js"
PICTURES = ROOT / "artifacts" / "dashboard"
DESKTOP = (1440, 900)
TABLET = (1024, 768)
PHONE = (390, 844)
# A desktop at 200 % zoom.
ZOOMED = (720, 450)
# A machine that runs other tests too takes its time.
PATIENCE_MS = 30_000
expect.set_options(timeout=15_000)
NOWHERE = "/nowhere"

# The shell has no window to draw and takes a quarter less processor time.
_PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
_FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Pages of one server share a process, which has compiled their scripts already.
    "--process-per-site",
]
# What the browser itself says when a server goes away, which some tests make it do.
_EXPECTED = re.compile(r"WebSocket connection|Failed to load resource")


# For tests that do not measure: most pages live for seconds, so that their scripts would be optimized for longer than they run,
# and the icon of a running session would be drawn sixty times a second.
THRIFTY = ("--js-flags=--max-opt=1", "--force-prefers-reduced-motion")


def launch(playwright: Playwright, *flags: str) -> Browser:
    program = next((path for name in _PROGRAMS if (path := shutil.which(name))), None)
    assert program, "Chromium is missing; on Debian: apt-get install chromium-headless-shell"
    return playwright.chromium.launch(executable_path=program, args=[*_FLAGS, *flags])


@contextmanager
def open_page(browser: Browser, url: str, *, size: tuple[int, int] = DESKTOP) -> Generator[Page]:
    """A page of its own; when the block ends, it must have logged no error and asked nobody but our server."""
    context = _context(browser, url, "fresh")
    others = context.pages
    with _closed_on_failure(browser, url), _watched(_fresh_page(context, url), url) as page:
        resize(page, size)
        yield page
    for opened in context.pages:
        if opened not in others:
            opened.close()


@contextmanager
def loaded_page(browser: Browser, url: str, *, size: tuple[int, int] = DESKTOP) -> Generator[Page]:
    """A page on which the dashboard is loaded already, at an address without content; the test has to `follow` one.

    The next test gets the same page, because loading takes longer than what most tests do, so a test that needs the page before
    it is loaded, or changes what the dashboard keeps in memory, opens a page of its own.
    """
    context = _context(browser, url, "loaded")
    page = _LOADED.pop(context, None) or _load(context, url)
    with _closed_on_failure(browser, url), _watched(page, url):
        resize(page, size)
        yield page
        page.unroute_all(behavior="wait")
        page.emulate_media(media="null", color_scheme="null")
        follow(page, NOWHERE)
        page.get_by_text("There is no such page").wait_for()
        page.evaluate("localStorage.clear(), sessionStorage.clear()")
    _LOADED[context] = page


def close_pages(browser: Browser, url: str) -> None:
    """Close what is open of a server that ends: its pages would look for it until the browser ends."""
    for kind in get_args(_Kind):
        if context := _CONTEXTS.pop((browser, url, kind), None):
            _LOADED.pop(context, None)
            context.close()


# Pages of the same kind share what the browser stores. A loaded page stays open, and its dashboard reacts to what happens: it would, for
# example, remove a session that has ended from those that are watched, before the page that is tested has seen the end.
_Kind = Literal["fresh", "loaded"]
# By browser, server and kind. The next page need not fetch and compile the scripts again.
_CONTEXTS: dict[tuple[Browser, str, _Kind], BrowserContext] = {}
_LOADED: dict[BrowserContext, Page] = {}


@contextmanager
def _closed_on_failure(browser: Browser, url: str) -> Generator[None]:
    try:
        yield
    except BaseException:
        close_pages(browser, url)
        raise


def _context(browser: Browser, url: str, kind: _Kind) -> BrowserContext:
    key = browser, url, kind
    if key not in _CONTEXTS:
        # As the flags of the browser are, which Playwright would otherwise override.
        context = _CONTEXTS[key] = browser.new_context(base_url=url, reduced_motion="null")
        context.set_default_timeout(PATIENCE_MS)
        # Keeps the process of the pages alive.
        context.new_page().goto("/health")
    return _CONTEXTS[key]


def _fresh_page(context: BrowserContext, url: str) -> Page:
    """A page that finds what pages before it loaded, and nothing that they wrote down."""
    context.clear_cookies()
    context.clear_permissions()
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    debugger: Any = context.new_cdp_session(page)
    debugger.send("Storage.clearDataForOrigin", {"origin": url, "storageTypes": "local_storage"})
    return page


def _load(context: BrowserContext, url: str) -> Page:
    page = _fresh_page(context, url)
    page.goto(NOWHERE)
    page.get_by_text("There is no such page").wait_for()
    return page


@contextmanager
def _watched(page: Page, url: str) -> Generator[Page]:
    errors: list[str] = []
    hosts: set[str] = set()

    def note_message(message: ConsoleMessage) -> None:
        if message.type == "error" and not _EXPECTED.search(message.text):
            errors.append(message.text)

    def note_error(error: Error) -> None:
        errors.append(str(error))

    def note_request(request: Request) -> None:
        hosts.add(urlsplit(request.url).netloc)

    page.on("console", note_message)
    page.on("pageerror", note_error)
    page.on("request", note_request)
    yield page
    assert not errors, errors
    assert hosts <= {urlsplit(url).netloc, ""}, hosts
    page.remove_listener("console", note_message)
    page.remove_listener("pageerror", note_error)
    page.remove_listener("request", note_request)


@dataclass(slots=True)
class Network:
    """The live connection of a page, which the test can cut and mend."""

    broken: bool = False
    open: list[WebSocketRoute] = field(default_factory=list[WebSocketRoute])

    @classmethod
    def of(cls, page: Page) -> "Network":
        network = cls()

        # A function: Playwright wants to leave a note on it, for which the slots of a value have no room.
        def accept(connection: WebSocketRoute) -> None:
            network.accept(connection)

        page.route_web_socket("**/ws", accept)
        return network

    def accept(self, connection: WebSocketRoute) -> None:
        if self.broken:
            connection.close(code=1012)
            return
        connection.connect_to_server()
        self.open.append(connection)

    def cut(self) -> None:
        self.broken = True
        for connection in self.open:
            connection.close(code=1012)


def follow(page: Page, address: str) -> None:
    """Open another page of the dashboard as its links do: the router notices the new address, and the document is not loaded again."""
    page.evaluate("address => history.pushState({}, '', address)", address)


def use_theme(page: Page, *, dark: bool) -> None:
    page.emulate_media(color_scheme="dark" if dark else "light")


def resize(page: Page, size: tuple[int, int]) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    # In the first frame the page gets the event, in the second it has drawn the change.
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def picture(page: Page, name: str) -> None:
    """Save a picture of the page if the directory exists, which is for people who want to look at what the tests saw."""
    if PICTURES.is_dir():
        page.screenshot(path=PICTURES / f"{name}.png", animations="disabled")


def assert_accessible(page: Page, name: str | None = None, part: Locator | None = None) -> None:
    """No violation of WCAG A or AA that axe can find on the page, or in its open dialog or menu, in either theme.

    With a name, `picture` is called for each theme. With a part, only that is looked at: the rest of the page is checked by another test.
    """
    for theme in ("dark", "light"):
        use_theme(page, dark=theme == "dark")
        if name:
            picture(page, f"{name}-{theme}")
        # The themes differ in their colours alone: everything else is looked at once.
        found = _violations(page, part, _COLOURS if theme == "dark" else _WCAG)
        assert not found, "\n".join((theme, *found))


_WCAG = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}
# What is behind an open dialog or menu is out of reach, and is checked where nothing covers it.
_MODAL = "[aria-modal=true], [role=menu]"
# All rules of WCAG A and AA that axe counts among those about colours.
_COLOURS = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}


def _violations(page: Page, part: Locator | None, rules: dict[str, Any]) -> list[str]:
    if not page.evaluate("() => 'axe' in window"):
        # The content security policy lets nobody add scripts to the page; the debugger may.
        page.evaluate(AXE.read_text())
    # Of the elements that pass, axe would otherwise describe every one.
    options = {"runOnly": rules, "resultTypes": ["violations"]}
    run = f"(part, options) => axe.run(part.querySelector('{_MODAL}') ?? part, options)"
    result: dict[str, Any] = (part or page.locator("html")).evaluate(run, options)
    return [
        f"{violation['id']}: {node['html'][:200]} {node['failureSummary']}"
        for violation in result["violations"]
        for node in violation["nodes"]
    ]


def assert_fits(page: Page) -> None:
    """Nothing has to be scrolled sideways."""
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def assert_verdict_first(page: Page) -> None:
    """The verdict and the first command of *Do now* are directly under the title: they are seen without scrolling."""
    page.evaluate("window.scrollTo(0, 0)")
    verdict = page.get_by_role("region", name="Verdict")
    title, card, command = (
        located.bounding_box()
        for located in (page.get_by_role("heading", level=1), verdict, verdict.get_by_role("region", name="Do now").locator("pre").first)
    )
    assert title
    assert card
    assert command
    # Only the actions of the page are between them.
    assert 0 <= card["y"] - title["y"] - title["height"] <= 120
    assert page.viewport_size
    assert command["y"] + command["height"] <= page.viewport_size["height"]


def expect_status(page: Page, label: str) -> None:
    """The status of the session whose page is open; once it has ended, the page shows its verdict instead."""
    status = label.lower().replace(" ", "_")
    status = {"queued": "pending", "running": "in_progress"}.get(status, status)
    page.locator(f"[data-testid=session-status][data-status={status}]").wait_for()
