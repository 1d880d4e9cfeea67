"""A page of the manual as HTML: chapters beside it, what it is made of, the way on. No script: it works wherever it is read."""

import re
from collections.abc import Sequence
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Annotated

from fastapi import Query, Request
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from markdown_it import MarkdownIt
from starlette.exceptions import HTTPException

from tarsy.api.dashboard import file_within
from tarsy.api.manual_index import MAX_QUERY, START, Anchors, Book, Hit, PageLink, plain
from tarsy.api.router import plain_router

STYLE = """
:root { color-scheme: light dark; --text: #1b2430; --soft: #55606f; --page: #fff; --side: #f6f7f9; --line: #dfe3e8; --link: #1d5bb8; --mark: #ffe08a; }
@media (prefers-color-scheme: dark) {
  :root { --text: #dde4ed; --soft: #9aa7b6; --page: #0f1319; --side: #161b23; --line: #2a323d; --link: #86b7ff; --mark: #6b5200; }
}
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
# A list of two entries is longer than what it saves.
LEAST_CONTENTS = 3


def page_html(book: Book, name: str, text: str, nonce: str) -> str:
    """One page."""
    body, headings = _rendered(text)
    title = next((plain(line.removeprefix("# ")) for line in text.splitlines() if line.startswith("# ")), "Manual")
    return _frame(book, title, f"{body}{_way_on(book, name)}", nonce, current=name, headings=headings)


def search_html(book: Book, query: str, nonce: str) -> str:
    """What was found."""
    hits, words = book.search(query), query.lower().split()
    found = "".join(_hit(hit, words) for hit in hits)
    count = "Nothing was found: try fewer or shorter words." if not hits else f"{len(hits)} place{'s' if len(hits) > 1 else ''}"
    return _frame(book, f"Search: {query}", f"<h1>Search: {escape(query)}</h1><p>{count}</p>{found}", nonce, query=query)


def _rendered(text: str) -> tuple[str, Sequence[tuple[str, str]]]:
    """The page's body, with names on its headings; and the ones of the second level."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens, anchors, headings = parser.parse(text), Anchors(), list[tuple[str, str]]()
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            anchor = anchors.of(inline.content)
            opening.attrSet("id", anchor)
            if opening.tag == "h2":
                headings.append((anchor, plain(inline.content)))
    html: str = parser.renderer.render(tokens, parser.options, {})
    # Comments are for the tests that run what a page says; code that scrolls must be reachable by keyboard.
    html = re.sub(r"<p>&lt;!--.*?--&gt;</p>\n?", "", html, flags=re.DOTALL)
    return html.replace("<pre>", '<pre tabindex="0">').replace("<table>", '<table tabindex="0">'), headings


def _frame(
    book: Book, title: str, body: str, nonce: str, *, current: str = "", headings: Sequence[tuple[str, str]] = (), query: str = ""
) -> str:
    chapters = _chapters(book, current)
    contents = _contents(headings)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)} - TARSy</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style nonce="{nonce}">{STYLE}</style></head><body>'
        '<header><a href="/">TARSy</a><a href="/help/">Manual</a><a href="/docs">API</a><span class="grow"></span>'
        '<form role="search" action="/help/"><input type="search" name="q" aria-label="Search the manual" placeholder="Search the manual" '
        f'maxlength="200" value="{escape(query)}"><button>Search</button></form></header>'
        f'<div class="columns"><nav class="side" aria-label="Chapters">{chapters}</nav><main>'
        f'<details class="narrow"><summary>All pages</summary><nav aria-label="All pages">{chapters}</nav></details>{body}</main>'
        f'{f"""<nav class="contents" aria-label="On this page">{contents}</nav>""" if contents else ""}</div></body></html>'
    )


def _chapters(book: Book, current: str) -> str:
    return "".join(
        f"<p>{escape(chapter.title)}</p><ul>{''.join(_entry(page, current) for page in chapter.pages)}</ul>" for chapter in book.chapters
    )


def _entry(page: PageLink, current: str) -> str:
    here = ' aria-current="page"' if page.name == current else ""
    return f'<li><a href="/help/{page.name}"{here}>{escape(page.title)}</a></li>'


def _contents(headings: Sequence[tuple[str, str]]) -> str:
    if len(headings) < LEAST_CONTENTS:
        return ""
    entries = "".join(f'<li><a href="#{escape(anchor)}">{escape(words)}</a></li>' for anchor, words in headings)
    return f"<p>On this page</p><ul>{entries}</ul>"


def _way_on(book: Book, name: str) -> str:
    before, after = book.neighbours(name)
    back = f'<a rel="prev" href="/help/{before.name}">← {escape(before.title)}</a>' if before else "<span></span>"
    on = f'<a rel="next" href="/help/{after.name}">Next: {escape(after.title)} →</a>' if after else ""
    return f'<nav class="way" aria-label="Next page">{back}{on}</nav>' if before or after else ""


def _hit(hit: Hit, words: Sequence[str]) -> str:
    passage = hit.passage
    address = f"/help/{passage.page.name}{f'#{passage.anchor}' if passage.anchor else ''}"
    title = passage.page.title if passage.heading == passage.page.title else f"{passage.page.title}: {passage.heading}"
    return f'<div class="hit"><a href="{escape(address)}">{escape(title)}</a><p>{_marked(hit.excerpt, words)}</p></div>'


def _marked(text: str, words: Sequence[str]) -> str:
    """The words that were looked for, marked. What is found is escaped piece by piece."""
    pieces = re.split(f"({'|'.join(map(re.escape, words))})", text, flags=re.IGNORECASE)
    return "".join(f"<mark>{escape(piece)}</mark>" if place % 2 else escape(piece) for place, piece in enumerate(pieces))


# In an installed package the manual lies beside this module, in a clone where people look for it.
_INSTALLED = Path(__file__).parent / "manual"
MANUAL = _INSTALLED if _INSTALLED.is_dir() else Path(__file__).parents[3] / "docs"
_SHOWN = {".svg": "image/svg+xml", ".png": "image/png", ".webp": "image/webp", ".json": "application/json"}

router = plain_router(include_in_schema=False)


@router.get("/help")
async def manual() -> RedirectResponse:
    """With the slash, so that the pages' own links lead somewhere."""
    return RedirectResponse("/help/")


@router.get("/help/{name:path}")
async def page(request: Request, name: str, q: Annotated[str, Query()] = "") -> Response:

    book, nonce = Book(MANUAL), request.state.csp_nonce
    if not name and q.strip():
        return HTMLResponse(search_html(book, " ".join(q[:MAX_QUERY].split()), nonce))
    file = find(MANUAL, name or START)
    if file is None:
        raise HTTPException(404, f"The manual has no page {name}.")
    if file.suffix in _SHOWN:
        return FileResponse(file, media_type=_SHOWN[file.suffix])
    return HTMLResponse(page_html(book, name or START, file.read_text(encoding="utf-8"), nonce))


def find(manual: Path, name: str) -> Path | None:
    """The file of that name, if it is one we show and really in the manual."""
    file = file_within(manual, name)
    return file if file and (file.suffix == ".md" or file.suffix in _SHOWN) else None
