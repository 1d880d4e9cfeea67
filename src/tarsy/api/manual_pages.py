"""The manual at /help: its pages as HTML without scripts, in the order of its start page, and a search in them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Annotated

from fastapi import Query, Request
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from markdown_it import MarkdownIt

from tarsy.api.dashboard import file_within
from tarsy.api.router import plain_router

# In an installed package the pages are beside this module, in a clone in `docs`.
_INSTALLED = Path(__file__).parent / "manual"
MANUAL = _INSTALLED if _INSTALLED.is_dir() else Path(__file__).parents[3] / "docs"
START = "README.md"
_MEDIA_TYPES = {".svg": "image/svg+xml", ".png": "image/png", ".webp": "image/webp", ".json": "application/json"}
_CHAPTER = re.compile(r"\*\*(.+)\*\*\s*$")
_LINK = re.compile(r"\[([^\]]+)\]\(([\w-]+\.md)\)")
_HEADING = re.compile(r"(#{1,3}) (.+)")
_FENCE = "```"
# Enough text around a word for a reader to see whether it is the right place.
EXCERPT_CHARACTERS = 160
MAX_RESULTS = 30
MAX_QUERY = 200
# Of which the result of parsing is kept.
MAX_PAGES = 100
# A list of two headings is longer than what it saves.
MIN_CONTENTS = 3

STYLE = """
:root { color-scheme: light dark; --text: light-dark(#1b2430, #dde4ed); --soft: light-dark(#55606f, #9aa7b6); --page: light-dark(#fff, #0f1319);
  --side: light-dark(#f6f7f9, #161b23); --line: light-dark(#dfe3e8, #2a323d); --link: light-dark(#1d5bb8, #86b7ff); --mark: light-dark(#ffe08a, #6b5200); }
[data-theme=light] { color-scheme: light; } [data-theme=dark] { color-scheme: dark; }
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { font: 16px/1.6 system-ui, sans-serif; margin: 0; color: var(--text); background: var(--page); overflow-wrap: break-word; }
a { color: var(--link); }
header { display: flex; flex-wrap: wrap; gap: .5rem 1.25rem; align-items: center; padding: .6rem 1.25rem; border-bottom: 1px solid var(--line); background: var(--side); }
header a { text-decoration: none; font-weight: 600; } header .grow { flex: 1; }
form { display: flex; gap: .4rem; max-width: 100%; }
input { font: inherit; padding: .25rem .6rem; border: 1px solid var(--soft); border-radius: .4rem; background: var(--page); color: var(--text); min-width: 0; width: 16rem; }
button { font: inherit; padding: .25rem .8rem; border: 1px solid var(--soft); border-radius: .4rem; background: var(--side); color: var(--text); cursor: pointer; }
.columns { display: grid; grid-template-columns: 15rem minmax(0, 50rem) 14rem; gap: 2.5rem; max-width: 90rem; margin: 0 auto; padding: 0 1.25rem; }
.side, .contents { position: sticky; top: 0; align-self: start; max-height: 100vh; overflow-y: auto; padding: 1.25rem 0; font-size: .9rem; }
.side p, .contents p { margin: 1rem 0 .2rem; font-weight: 700; color: var(--soft); }
.side ul, .contents ul, .narrow ul { list-style: none; margin: 0; padding: 0; }
.side li a, .contents li a, .narrow li a { display: block; padding: .15rem .5rem; border-radius: .3rem; text-decoration: none; }
.side a[aria-current], .narrow a[aria-current] { background: var(--line); color: var(--text); font-weight: 600; }
.narrow { display: none; margin: .8rem 0; border: 1px solid var(--line); border-radius: .5rem; padding: .5rem .8rem; }
.narrow p { margin: .8rem 0 .2rem; font-weight: 700; color: var(--soft); }
main { padding: .5rem 0 4rem; min-width: 0; }
h1, h2 { border-bottom: 1px solid var(--line); padding-bottom: .3rem; line-height: 1.3; } h2 { margin-top: 2.2rem; }
img { max-width: 100%; height: auto; background: #fff; border: 1px solid var(--line); border-radius: .5rem; }
code { background: var(--side); padding: .1rem .3rem; border-radius: .25rem; font-size: .9em; overflow-wrap: anywhere; }
pre { background: var(--side); border: 1px solid var(--line); border-radius: .5rem; padding: 1rem; overflow-x: auto; }
pre code { padding: 0; background: none; overflow-wrap: normal; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
td, th { text-align: left; padding: .3rem 1rem .3rem 0; vertical-align: top; border-bottom: 1px solid var(--line); min-width: 5rem; }
.way { display: flex; justify-content: space-between; gap: 1rem; flex-wrap: wrap; margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 1rem; }
.hit { margin: 1.2rem 0; } .hit p { margin: .1rem 0; color: var(--soft); } mark { background: var(--mark); color: var(--text); }
@media (max-width: 75rem) { .columns { grid-template-columns: 15rem minmax(0, 1fr); } .contents { display: none; } }
@media (max-width: 50rem) { .columns { display: block; } .side { display: none; } .narrow { display: block; } form { width: 100%; } input { flex: 1; } }
@media print { header, .side, .contents, .narrow, .way { display: none; } .columns { display: block; } }
"""

router = plain_router(include_in_schema=False)


@router.get("/help")
async def redirect_to_manual() -> RedirectResponse:
    """Redirect to the path with a slash, which relative links in the pages need."""
    return RedirectResponse("/help/")


# Not async, so that it runs in a thread: a long page takes 0.3 s when it is first read.
@router.get("/help/{name:path}")
def page(request: Request, name: str, q: Annotated[str, Query()] = "") -> Response:
    manual, nonce = Manual(MANUAL, request.cookies.get("theme", "")), request.state.csp_nonce
    if not name and q.strip():
        return HTMLResponse(search_html(manual, " ".join(q[:MAX_QUERY].split()), nonce))
    file = find(MANUAL, name or START)
    if file is None:
        return HTMLResponse(missing_html(manual, name, nonce), status_code=404)
    if file.suffix in _MEDIA_TYPES:
        return FileResponse(file, media_type=_MEDIA_TYPES[file.suffix])
    return HTMLResponse(page_html(manual, name or START, file.read_text(encoding="utf-8"), nonce))


def find(directory: Path, name: str) -> Path | None:
    """Return the file of that name if it is inside `directory` and of a kind that is shown."""
    file = file_within(directory, name)
    return file if file and (file.suffix == ".md" or file.suffix in _MEDIA_TYPES) else None


@dataclass(frozen=True, slots=True)
class PageLink:
    title: str
    name: str


@dataclass(frozen=True, slots=True)
class Chapter:
    title: str
    pages: tuple[PageLink, ...]


@dataclass(frozen=True, slots=True)
class ManualSection:
    """The text below one heading."""

    page: PageLink
    heading: str
    anchor: str
    text: str


@dataclass(frozen=True)
class Manual:
    """The chapters and pages that the start page lists."""

    directory: Path
    # As the reader chose it in the dashboard; the system's if it is neither light nor dark.
    theme: str = ""

    @cached_property
    def chapters(self) -> tuple[Chapter, ...]:
        chapters: list[Chapter] = []
        for line in (self.directory / START).read_text(encoding="utf-8").splitlines():
            if found := _CHAPTER.match(line):
                chapters.append(Chapter(found[1], ()))
            elif chapters:
                links = tuple(PageLink(f"{words[0].upper()}{words[1:]}", name) for words, name in _LINK.findall(line))
                chapters[-1] = Chapter(chapters[-1].title, chapters[-1].pages + links)
        return tuple(chapter for chapter in chapters if chapter.pages)

    @property
    def pages(self) -> tuple[PageLink, ...]:
        return tuple(page for chapter in self.chapters for page in chapter.pages)

    def neighbours(self, name: str) -> tuple[PageLink | None, PageLink | None]:
        """Return the pages before and after the page `name`."""
        pages = self.pages
        place = next((index for index, page in enumerate(pages) if page.name == name), None)
        if place is None:
            return None, pages[0] if name == START and pages else None
        before = pages[place - 1] if place else None
        return before, pages[place + 1] if place + 1 < len(pages) else None

    def search(self, query: str) -> Sequence[tuple[ManualSection, str]]:
        """Return the sections that contain all words with an excerpt of each, those with words in their heading first."""
        words = list(dict.fromkeys(query.lower().split()))
        if not words:
            return ()
        found: list[tuple[tuple[int, int], ManualSection]] = []
        for page in self.pages:
            for section in sections(page, (self.directory / page.name).read_text(encoding="utf-8")):
                heading, text = f"{section.page.title} {section.heading}".lower(), section.text.lower()
                if all(word in heading or word in text for word in words):
                    weight = sum(word in heading for word in words), sum(text.count(word) for word in words)
                    found.append((weight, section))
        found.sort(key=lambda pair: pair[0], reverse=True)
        return [(section, excerpt(section.text, words)) for _, section in found[:MAX_RESULTS]]


@lru_cache(MAX_PAGES)
def sections(page: PageLink, text: str) -> Sequence[ManualSection]:
    """Split a page at its headings; a heading inside a fence is text."""
    heading, lines, fenced, anchors = page.title, list[str](), False, Anchors()
    anchor, ended = "", list[ManualSection]()
    for line in text.splitlines():
        fenced = fenced != line.strip().startswith(_FENCE)
        if not fenced and (found := _HEADING.fullmatch(line)):
            if lines:
                ended.append(ManualSection(page, heading, anchor, "\n".join(lines)))
            heading, lines, anchor = plain(found[2]), [], anchors.of(found[2])
        else:
            lines.append(line)
    return [*ended, ManualSection(page, heading, anchor, "\n".join(lines))]


class Anchors:
    """The anchors of a page's headings, as GitHub makes them: a second heading with the same words gets a number."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def of(self, heading: str) -> str:
        words = re.sub(r"[^\w\- ]", "", plain(heading).lower()).strip().replace(" ", "-")
        count = self._seen.get(words, 0)
        self._seen[words] = count + 1
        return f"{words}-{count}" if count else words


def plain(markdown: str) -> str:
    """Return a line without Markdown: the text of links, the code of code."""
    return re.sub(r"[*`]|<!--.*?-->", "", re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", markdown))


def excerpt(text: str, words: Sequence[str]) -> str:
    """Return the text around the first word that is found, on one line."""
    flat = " ".join(plain(text).split())
    places = [place for word in words if (place := flat.lower().find(word)) >= 0]
    start = max(0, min(places, default=0) - EXCERPT_CHARACTERS // 3)
    cut = flat[start : start + EXCERPT_CHARACTERS]
    return f"{'…' if start else ''}{cut}{'…' if start + EXCERPT_CHARACTERS < len(flat) else ''}"


@lru_cache(MAX_PAGES)
def body_html(text: str) -> tuple[str, Sequence[tuple[str, str]]]:
    """Return the text of a page as HTML, and the anchors and words of its headings of the second level."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens, anchors, headings = parser.parse(text), Anchors(), list[tuple[str, str]]()
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            anchor = anchors.of(inline.content)
            opening.attrSet("id", anchor)
            if opening.tag == "h2":
                headings.append((anchor, plain(inline.content)))
    body: str = parser.renderer.render(tokens, parser.options, {})
    # Comments are for the tests that run the examples of a page; code that scrolls must be reachable by keyboard.
    body = re.sub(r"<p>&lt;!--.*?--&gt;</p>\n?", "", body, flags=re.DOTALL)
    return body.replace("<pre>", '<pre tabindex="0">').replace("<table>", '<table tabindex="0">'), headings


def page_html(manual: Manual, name: str, text: str, nonce: str) -> str:
    """Return a page, with the list of its headings of the second level and links to its neighbours."""
    body, headings = body_html(text)
    before, after = manual.neighbours(name)
    if before or after:
        back = f'<a rel="prev" href="/help/{before.name}">← {escape(before.title)}</a>' if before else "<span></span>"
        on = f'<a rel="next" href="/help/{after.name}">Next: {escape(after.title)} →</a>' if after else ""
        body += f'<nav class="way" aria-label="Next page">{back}{on}</nav>'
    title = next((plain(line.removeprefix("# ")) for line in text.splitlines() if line.startswith("# ")), "Manual")
    return _frame(manual, title, body, nonce, current=name, headings=headings)


def missing_html(manual: Manual, name: str, nonce: str) -> str:
    """Return the page for an address that the manual does not have."""
    body = f'<h1>There is no such page</h1><p>The manual has no page <code>{escape(name)}</code>. Search it above, or begin at <a href="/help/">its first page</a>.</p>'
    return _frame(manual, "There is no such page", body, nonce)


def search_html(manual: Manual, query: str, nonce: str) -> str:
    """Return the page of search results, with the words of the query marked."""
    hits = manual.search(query)
    words = re.compile(f"({'|'.join(map(re.escape, query.lower().split()))})", re.IGNORECASE)
    found = ""
    for section, text in hits:
        address = f"/help/{section.page.name}{f'#{section.anchor}' if section.anchor else ''}"
        title = section.page.title if section.heading == section.page.title else f"{section.page.title}: {section.heading}"
        # Every second piece is a word of the query; each is escaped on its own.
        pieces = enumerate(words.split(text))
        marked = "".join(f"<mark>{escape(piece)}</mark>" if number % 2 else escape(piece) for number, piece in pieces)
        found += f'<div class="hit"><a href="{escape(address)}">{escape(title)}</a><p>{marked}</p></div>'
    count = "Nothing was found: try fewer or shorter words." if not hits else f"{len(hits)} place{'s' if len(hits) > 1 else ''}"
    return _frame(manual, f"Search: {query}", f"<h1>Search: {escape(query)}</h1><p>{count}</p>{found}", nonce, query=query)


def _frame(
    manual: Manual, title: str, body: str, nonce: str, *, current: str = "", headings: Sequence[tuple[str, str]] = (), query: str = ""
) -> str:
    chapters = ""
    for chapter in manual.chapters:
        here = {current: ' aria-current="page"'}
        entries = (f'<li><a href="/help/{one.name}"{here.get(one.name, "")}>{escape(one.title)}</a></li>' for one in chapter.pages)
        chapters += f"<p>{escape(chapter.title)}</p><ul>{''.join(entries)}</ul>"
    contents = ""
    if len(headings) >= MIN_CONTENTS:
        links = "".join(f'<li><a href="#{escape(anchor)}">{escape(words)}</a></li>' for anchor, words in headings)
        contents = f'<nav class="contents" aria-label="On this page"><p>On this page</p><ul>{links}</ul></nav>'
    theme = f' data-theme="{manual.theme}"' if manual.theme in {"light", "dark"} else ""
    return (
        f'<!doctype html><html lang="en"{theme}><head><meta charset="utf-8"><title>{escape(title)} - TARSy</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style nonce="{nonce}">{STYLE}</style></head><body>'
        '<header><a href="/">TARSy</a><a href="/help/">Manual</a><a href="/docs">API</a><span class="grow"></span>'
        '<form role="search" action="/help/"><input type="search" name="q" aria-label="Search the manual" placeholder="Search the manual" '
        f'maxlength="200" value="{escape(query)}"><button>Search</button></form></header>'
        f'<div class="columns"><nav class="side" aria-label="Chapters">{chapters}</nav><main>'
        f'<details class="narrow"><summary>All pages</summary><nav aria-label="All pages">{chapters}</nav></details>{body}</main>'
        f"{contents}</div></body></html>"
    )
