"""The manual's pages: every one is there, nothing else is."""

import re
from pathlib import Path

import pytest

from tarsy.api.help import MANUAL, START, find, manual_page


@pytest.mark.parametrize("page", sorted(path.relative_to(MANUAL).as_posix() for path in MANUAL.rglob("*.md")))
def test_every_page_is_rendered_and_its_links_lead_to_pages(page: str) -> None:
    file = find(MANUAL, page)
    assert file
    html = manual_page(file.read_text(), "nonce")
    assert "<h1>" in html
    for link in re.findall(r'(?:href|src)="([^"#]+)', html.partition("<main>")[2]):
        if "://" not in link and not link.startswith("/"):
            assert find(MANUAL, (Path(page).parent / link).as_posix()), link


def test_the_start_page_leads_to_every_other_page() -> None:
    text = (MANUAL / START).read_text()
    assert [path.name for path in MANUAL.glob("*.md") if path.name != START and f"]({path.name})" not in text] == []


@pytest.mark.parametrize(
    "name",
    ["../README.md", "../pyproject.toml", "/etc/passwd", "adr", "no-such.md", "a\x00.md", "a" * 300 + ".md", "../src/tarsy/__init__.py"],
)
def test_nothing_beyond_the_manual_is_shown(name: str) -> None:
    assert find(MANUAL, name) is None


def test_markup_in_a_page_stays_text() -> None:
    assert "<script>" not in manual_page("# Title <script>alert(1)</script>\n\n<script>alert(2)</script>", "nonce")
