"""A stranger's first minutes: a fresh clone, `make run`, a browser, one click, a finished investigation. Run by `make first-run`.

Packages come from wherever this machine gets them; the goal is meant for warm caches.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Playwright, expect, sync_playwright

ROOT = Path(__file__).parents[1]
LIMIT_SECONDS = 180.0
# Far more than the limit, to see by how much it is missed.
GIVE_UP_SECONDS = 900.0
READY = re.compile(r"TARSy is ready: (http://\S+)")
BROWSERS = ("chromium", "chromium-headless-shell", "chromium-browser", "google-chrome")


class Stopwatch:
    def __init__(self) -> None:
        self._began = self._last = time.monotonic()

    def report(self, what: str) -> None:
        now = time.monotonic()
        print(f"{what:<52} {now - self._last:6.1f} s", flush=True)
        self._last = now

    @property
    def total(self) -> float:
        return self._last - self._began


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


@contextmanager
def make_run(clone: Path, data: Path) -> Generator[str]:
    """`make run` in the clone until the block ends; its address."""
    keys = re.compile(r"TARSY_|DATABASE_URL|VIRTUAL_ENV|.*_API_KEY")
    environment = {name: value for name, value in os.environ.items() if not keys.match(name)} | {"TARSY_DATA_DIR": str(data)}
    # In a session of its own, so that make and the server are stopped together, as by Ctrl-C.
    with (clone.parent / "make.log").open("w") as log:
        command = ["make", "run", f"ARGS=--port {free_port()}"]
        process = subprocess.Popen(
            command,
            cwd=clone,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,
        )
    try:
        assert process.stdout
        answered = next((found for line in process.stdout if (found := READY.search(line))), None)
        if answered is None:
            sys.exit(f"make run did not start a server:\n{(clone.parent / 'make.log').read_text()[-3000:]}")
        yield answered[1]
    finally:
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=120)


def investigate(playwright: Playwright, address: str, watch: Stopwatch) -> None:
    """Choose the first sample and wait for its analysis."""
    program = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if program is None:
        sys.exit("Chromium is missing; on Debian: apt-get install chromium")
    browser = playwright.chromium.launch(executable_path=program, args=["--headless", "--no-sandbox", "--disable-gpu"])
    page = browser.new_page(base_url=address)
    page.goto("/")
    page.get_by_role("link", name="New alert").first.click()
    sample = page.get_by_role("button", name=re.compile("^Investigate: ")).first
    expect(sample).to_be_visible(timeout=60_000)
    watch.report("the dashboard shows the samples")
    sample.click()
    expect(page.get_by_test_id("session-status")).to_have_attribute("data-status", "completed", timeout=GIVE_UP_SECONDS * 1000)
    expect(page.get_by_role("heading", name="Root cause").first).to_be_visible()
    watch.report("a sample is investigated, at the pace of a real model")
    browser.close()


def main() -> bool:
    with tempfile.TemporaryDirectory(prefix="tarsy-first-run-") as name:
        directory = Path(name)
        # The database's account has to get to its data.
        directory.chmod(0o711)
        clone = directory / "tarsy"
        watch = Stopwatch()
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        watch.report("git clone")
        with make_run(clone, directory / "data") as address, sync_playwright() as playwright:
            watch.report("make run: installed, built, database made, ready")
            investigate(playwright, address, watch)
            together = watch.total
        print(f"{'together':<52} {together:6.1f} s   (limit {LIMIT_SECONDS:.0f} s on two quiet cores with warm caches)")
        watch.report("stopped")
        with make_run(clone, directory / "data"):
            watch.report("make run again: ready")
    return together < LIMIT_SECONDS


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
