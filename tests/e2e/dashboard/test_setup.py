"""The setup page, from an empty installation to a model, a cluster and the snippets for a first alert."""

import asyncio
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from support.browser import DESKTOP, PHONE, TABLET, assert_accessible, assert_fits, follow, open_page, picture, resize
from support.terminal_server import Shown, served_in_terminal
from support.vendor_server import VendorServer, json_reply, vendor_server
from support.vendors import Answer, ChatCompletions

pytestmark = [pytest.mark.xdist_group("dashboard"), pytest.mark.timeout(180)]

MODEL = ChatCompletions()
# Of a small button.
ONE_LINE = 40
MODELS = json_reply(200, {"data": [{"id": MODEL.model}]})


@contextmanager
def model_server() -> Generator[VendorServer]:
    """A fake model server on its own thread: Playwright uses the event loop of this one."""
    ready, ended = threading.Event(), asyncio.Event()
    started: list[tuple[VendorServer, asyncio.AbstractEventLoop]] = []

    async def run() -> None:
        async with vendor_server() as vendor:
            started.append((vendor, asyncio.get_running_loop()))
            ready.set()
            await ended.wait()

    thread = threading.Thread(target=asyncio.run, args=(run(),))
    thread.start()
    assert ready.wait(10)
    vendor, loop = started[0]
    try:
        yield vendor
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join(10)


def programs(directory: Path) -> str:
    """A PATH whose `npx` starts a simulated cluster."""
    directory.mkdir()
    (directory / "npx").write_text(f"#!/bin/sh\nexec {sys.executable} -P -m tarsy.demo.cluster --incident crashloop\n")
    (directory / "npx").chmod(0o755)
    return f"{directory}:/usr/bin:/bin"


# Texts that are truncated at the end of a line.
CUT = """() => [...document.querySelectorAll("main *")]
    .filter(one => getComputedStyle(one).textOverflow === "ellipsis" && one.scrollWidth > one.clientWidth)
    .map(one => one.innerText)"""


def assert_step_fits(page: Page, name: str) -> None:
    """Assert that a step fits at every width without truncation and is accessible in both themes."""
    for label, size in (("tablet", TABLET), ("phone", PHONE), ("desktop", DESKTOP)):
        resize(page, size)
        assert_fits(page)
        assert page.evaluate(CUT) == []
        picture(page, f"setup-{name}-{label}")
    assert_accessible(page, f"setup-{name}", page.get_by_role("main"))


def assert_on_one_line(page: Page, offer: Locator) -> None:
    for size in (TABLET, PHONE, DESKTOP):
        resize(page, size)
        box = offer.bounding_box()
        assert box
        assert box["height"] < ONE_LINE


def skip_to_the_end(page: Page, shown: Shown) -> None:
    """Skip model and cluster: a sample needs neither, and the snippets for senders are shown."""
    page.goto("/")
    offer = page.get_by_role("link", name="Set up TARSy")
    offer.wait_for()
    assert_on_one_line(page, offer)
    offer.click()
    page.get_by_label("Setup code").wait_for()
    assert_step_fits(page, "code")
    page.get_by_role("button", name="Next: Connect your systems").click()
    page.get_by_role("button", name="Next: Run a sample").click()
    page.get_by_role("button", name="crash", exact=False).first.click()
    page.get_by_role("link", name="Watch the investigation").wait_for()
    assert_step_fits(page, "sample")
    page.get_by_role("button", name="Next: Send a first alert").click()
    expect(page.get_by_role("region", name="From a terminal")).to_contain_text(f"'{shown.url}/api/v1/alerts'")
    page.get_by_role("button", name="Copy the Alertmanager configuration").click()
    assert f"{shown.url}/api/v1/webhook/alertmanager" in page.evaluate("navigator.clipboard.readText()")
    assert_step_fits(page, "alert")
    page.get_by_role("link", name="Done").click()
    expect(page.get_by_role("link", name="Set up TARSy")).to_have_count(0)


def enter_the_code(page: Page, shown: Shown) -> None:
    follow(page, "/system")
    page.get_by_role("link", name="Set up").click()
    page.get_by_label("Setup code").fill("AAAA-AAAA")
    page.get_by_role("button", name="Open").click()
    page.get_by_text("Attempts left: 4").wait_for()
    page.get_by_label("Setup code").fill(shown.code.lower())
    page.get_by_role("button", name="Open").click()


def choose_a_model(page: Page, vendor: VendorServer) -> None:
    page.get_by_role("button", name="A model of your own").click()
    page.get_by_label("Address of the model server").fill(f"{vendor.url}/v1")
    vendor.replies.extend([MODELS, MODELS, MODEL.reply(Answer(text=("ready",)))])
    page.get_by_role("button", name="Find models").click()
    page.get_by_role("button", name="Test and save").click()
    # The server loads the vendor's library only now.
    page.get_by_text("It works, and is in use from now on.").wait_for()
    page.get_by_text(f"In use: local ({MODEL.model}).").wait_for()
    assert_step_fits(page, "model")


def connect_a_cluster(page: Page, kubeconfig: Path) -> None:
    page.get_by_role("button", name="1. Choose a model done").wait_for()
    page.get_by_role("button", name="Next: Connect your systems").click()
    cluster = page.get_by_role("form", name="A Kubernetes or OpenShift cluster")
    cluster.get_by_label("Kubeconfig file").fill("/no/such/file")
    cluster.get_by_role("button", name="Test and connect").click()
    cluster.get_by_text("there is no such file").wait_for()
    cluster.get_by_label("Kubeconfig file").fill(str(kubeconfig))
    cluster.get_by_role("button", name="Test and connect").click()
    cluster.get_by_text("It works, and is in use from now on.").wait_for()
    cluster.get_by_text("Written to .env: KUBECONFIG").wait_for()
    assert_step_fits(page, "tools")


def test_an_empty_installation_is_set_up_with_the_code_of_its_terminal(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "kubeconfig").touch()
    env = {"PATH": programs(tmp_path / "programs")}
    with model_server() as vendor, served_in_terminal(tmp_path, env) as shown:
        with open_page(browser, shown.url) as page:
            skip_to_the_end(page, shown)
            enter_the_code(page, shown)
            choose_a_model(page, vendor)
            connect_a_cluster(page, tmp_path / "kubeconfig")
        with open_page(browser, shown.url, size=PHONE) as page:
            page.goto("/setup")
            # The code has been used, and its cookie belongs to another browser.
            page.get_by_text("Start tarsy serve again in a terminal").wait_for()
            assert_step_fits(page, "code-used")
        assert shown.code not in shown.log.read_text()
