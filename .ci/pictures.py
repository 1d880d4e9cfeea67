"""The pictures of the README and the manual, made anew from the sample incidents: `make pictures`.

A server of its own with recorded models, a browser, and nothing else: every run shows the same views.
"""

import base64
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.browser import launch  # noqa: E402 - where the path above leads
from support.dashboard_sessions import submit, wait_for_end  # noqa: E402
from support.tarsy_process import Served, served  # noqa: E402
from support.terminal_server import served_in_terminal  # noqa: E402

PLACE = ROOT / "docs" / "images"
SIZE = (1280, 800)
# Three of them stand beside each other: narrow ones can still be read.
FRAME = (840, 760)
GAP = 30
# Text stays crisp, and a picture of a page takes some 50 kB.
QUALITY = 0.86
# Where a session that is watched is pictured: at its beginning, in the middle, at its end.
LIVE_ENTRIES = (2, 9)
WIDTH_OF_THREE = 1800


def main() -> None:
    with sync_playwright() as playwright:
        browser = launch(playwright)
        with tempfile.TemporaryDirectory() as directory:
            setup_page(browser, Path(directory))
        with tempfile.TemporaryDirectory() as directory, served(Path(directory), env={"TARSY_REPLAY_SPEED": "1"}) as slow:
            live_investigation(browser, slow)
        with tempfile.TemporaryDirectory() as directory, served(Path(directory)) as fast:
            finished_sessions(browser, fast)
        browser.close()


def opened(browser: Browser, url: str, *, dark: bool = False, size: tuple[int, int] = SIZE) -> Page:
    scheme = "dark" if dark else "light"
    context = browser.new_context(base_url=url, viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)
    return context.new_page()


def keep(page: Page, name: str, picture: bytes | None = None, width: int | None = None) -> None:
    """Write a picture as WebP, which the browser itself makes."""
    shot = base64.b64encode(picture or page.screenshot(animations="disabled")).decode()
    blank = page.context.new_page()
    data: str = blank.evaluate(
        """async ([shot, quality, width]) => {
            const image = new Image();
            image.src = `data:image/png;base64,${shot}`;
            await image.decode();
            const scale = width ? width / image.width : 1;
            const canvas = document.createElement("canvas");
            canvas.width = Math.round(image.width * scale);
            canvas.height = Math.round(image.height * scale);
            const context = canvas.getContext("2d");
            context.imageSmoothingQuality = "high";
            context.drawImage(image, 0, 0, canvas.width, canvas.height);
            return canvas.toDataURL("image/webp", quality);
        }""",
        [shot, QUALITY, width],
    )
    blank.close()
    (PLACE / f"{name}.webp").write_bytes(base64.b64decode(data.partition(",")[2]))
    print(f"{name}.webp {(PLACE / f'{name}.webp').stat().st_size // 1000} kB")


def setup_page(browser: Browser, directory: Path) -> None:
    with served_in_terminal(directory, {}) as shown:
        page = opened(browser, shown.url)
        page.goto("/setup")
        page.get_by_label("Setup code").fill(shown.code)
        page.get_by_role("button", name="Open").click()
        expect(page.get_by_label("API key")).to_be_visible()
        keep(page, "setup")


def live_investigation(browser: Browser, server: Served) -> None:
    """One session, pictured three times while it runs, side by side."""
    with server.client() as http:
        session = submit(http, "crashloop")
        page = opened(browser, server.url, dark=True, size=FRAME)
        page.goto(f"/sessions/{session}")
        frames: list[bytes] = []
        for entries in LIVE_ENTRIES:
            expect(page.get_by_role("article").nth(entries)).to_be_visible(timeout=120_000)
            page.evaluate("window.scrollTo({top: document.body.scrollHeight})")
            frames.append(page.screenshot())
        wait_for_end(http, session)
        expect(page.get_by_text("Do now").first).to_be_visible(timeout=60_000)
        to_the_place(page, page.get_by_role("region", name="Verdict"))
        frames.append(page.screenshot(animations="disabled"))
    keep(page, "live", side_by_side(browser, frames), WIDTH_OF_THREE)


def side_by_side(browser: Browser, frames: Sequence[bytes]) -> bytes:
    images = "".join(f'<img src="data:image/png;base64,{base64.b64encode(frame).decode()}">' for frame in frames)
    page = browser.new_context(viewport={"width": FRAME[0] * len(frames) + GAP * (len(frames) - 1), "height": FRAME[1]}).new_page()
    page.set_content(f"<style>body{{margin:0;display:flex;gap:{GAP}px;background:#0f1319}}</style>{images}")
    page.wait_for_load_state("networkidle")
    return page.screenshot()


def finished_sessions(browser: Browser, server: Served) -> None:
    with server.client() as http:
        names = ("disk-full", "oom-leak", "flapping", "crypto-miner", "hourly-timeouts", "dns-outage", "crashloop")
        sessions = {name: submit(http, name) for name in names}
        for session in sessions.values():
            wait_for_end(http, session)
    page = opened(browser, server.url, dark=True)
    page.goto(f"/sessions/{sessions['disk-full']}")
    expect(page.get_by_text("Do now").first).to_be_visible()
    settle(page, "session")
    light = opened(browser, server.url)
    light.goto("/sessions")
    expect(light.get_by_text("Ended").first).to_be_visible()
    settle(light, "sessions")
    light.goto(f"/sessions/{sessions['dns-outage']}")
    expect(light.get_by_role("feed").first).to_be_visible()
    to_the_place(light, light.get_by_role("feed").first)
    settle(light, "side-by-side")
    light.goto(f"/sessions/{sessions['hourly-timeouts']}/trace")
    expect(light.get_by_text("Where the time went").first).to_be_visible()
    settle(light, "trace")
    light.goto("/help/dashboard.md")
    settle(light, "manual")


def to_the_place(page: Page, place: Locator) -> None:
    """Scroll until it is below the sticky header, and wait until nothing moves any more."""
    for _ in range(3):
        place.evaluate("element => window.scrollTo({top: element.getBoundingClientRect().top + window.scrollY - 110, behavior: 'instant'})")
        page.wait_for_timeout(400)


def settle(page: Page, name: str) -> None:
    page.wait_for_load_state("networkidle")
    keep(page, name)


if __name__ == "__main__":
    main()
