"""The manual's pages: every one is there, nothing else is, and each is found by its words."""

import re
from pathlib import Path

import pytest

from tarsy.api.manual_pages import MANUAL, START, Manual, find, missing_html, page_html, search_html

WHOLE_MANUAL = Manual(MANUAL)
PAGES = sorted(path.relative_to(MANUAL).as_posix() for path in MANUAL.rglob("*.md"))


def html_of(page: str) -> str:
    file = find(MANUAL, page)
    assert file
    return page_html(WHOLE_MANUAL, page, file.read_text(), "nonce")


@pytest.mark.parametrize("page", PAGES)
def test_every_page_is_rendered_and_its_links_lead_to_pages(page: str) -> None:
    html = html_of(page)
    assert "<h1" in html
    for link in re.findall(r'(?:href|src)="([^"#]+)', html.partition("<main>")[2]):
        if "://" not in link and not link.startswith("/"):
            assert find(MANUAL, (Path(page).parent / link).as_posix()), link
    assert "&lt;!--" not in html


def test_links_into_the_middle_of_a_page_lead_to_a_heading() -> None:
    for page in PAGES:
        for name, anchor in re.findall(r"\]\(([\w/.-]+\.md)?#([\w-]+)\)", (MANUAL / page).read_text()):
            target = (Path(page).parent / name).as_posix() if name else page
            assert f'id="{anchor}"' in html_of(target), f"{page}: {name}#{anchor}"


def test_the_start_page_leads_to_every_other_page_once() -> None:
    listed = [page.name for page in WHOLE_MANUAL.pages]
    assert sorted(listed) == sorted(path.name for path in MANUAL.glob("*.md") if path.name != START)


def test_a_page_has_chapters_contents_and_a_way_on() -> None:
    html = html_of("models.md")
    assert '<a href="/help/models.md" aria-current="page">' in html
    assert '<a href="#choosing-a-model">Choosing a model</a>' in html
    pages = [page.name for page in WHOLE_MANUAL.pages]
    place = pages.index("models.md")
    assert f'rel="prev" href="/help/{pages[place - 1]}"' in html
    assert f'rel="next" href="/help/{pages[place + 1]}"' in html
    assert f'rel="next" href="/help/{pages[0]}"' in html_of(START)


def test_words_are_found_where_they_stand_and_shown_as_text() -> None:
    hits = WHOLE_MANUAL.search("RETRY-AFTER rate_limited")
    assert ("models.md", "When things go wrong") in {(section.page.name, section.heading) for section, _ in hits}
    html = search_html(WHOLE_MANUAL, "kubeconfig <script>", "nonce")
    assert "<script>" not in html
    assert "Nothing was found" in html
    assert "<mark>KUBECONFIG</mark>" in search_html(WHOLE_MANUAL, "kubeconfig", "nonce")
    assert WHOLE_MANUAL.search("  ") == ()


@pytest.mark.parametrize(
    "name",
    ["../README.md", "../pyproject.toml", "/etc/passwd", "adr", "no-such.md", "a\x00.md", "a" * 300 + ".md", "../src/tarsy/__init__.py"],
)
def test_nothing_beyond_the_manual_is_shown(name: str) -> None:
    assert find(MANUAL, name) is None


def test_markup_in_a_page_stays_text() -> None:
    assert "<script>" not in page_html(WHOLE_MANUAL, "x.md", "# Title <script>alert(1)</script>\n\n<script>alert(2)</script>", "nonce")


def test_a_page_has_the_theme_that_the_reader_chose_and_one_that_is_missing_is_part_of_the_manual() -> None:
    missing = missing_html(Manual(MANUAL, "dark"), "<nothing>.md", "nonce")
    assert '<html lang="en" data-theme="dark">' in missing
    assert "&lt;nothing&gt;.md" in missing
    assert 'aria-label="Search the manual"' in missing
    assert "data-theme=" not in missing_html(Manual(MANUAL, '"><script>'), "x", "nonce").partition("<style")[0]
