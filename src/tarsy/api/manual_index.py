"""The manual as a book: its chapters in the order of its start page, what stands on each page, and where words are found. Pure but for reading."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

START = "README.md"
_CHAPTER = re.compile(r"\*\*(.+)\*\*\s*$")
_LINK = re.compile(r"\[([^\]]+)\]\(([\w-]+\.md)\)")
_HEADING = re.compile(r"(#{1,3}) (.+)")
_FENCE = "```"
# Words beside the one that was found, so that a reader sees whether it is the right place.
EXCERPT_CHARACTERS = 160
MAX_RESULTS = 30
MAX_QUERY = 200


@dataclass(frozen=True, slots=True)
class PageLink:
    title: str
    name: str


@dataclass(frozen=True, slots=True)
class Chapter:
    title: str
    pages: tuple[PageLink, ...]


@dataclass(frozen=True, slots=True)
class Passage:
    """What stands below one heading."""

    page: PageLink
    heading: str
    anchor: str
    text: str


@dataclass(frozen=True, slots=True)
class Hit:
    passage: Passage
    excerpt: str


@dataclass(frozen=True)
class Book:
    """The pages that the start page lists."""

    place: Path

    @cached_property
    def chapters(self) -> tuple[Chapter, ...]:
        return tuple(_chapters((self.place / START).read_text(encoding="utf-8")))

    @property
    def pages(self) -> tuple[PageLink, ...]:
        return tuple(page for chapter in self.chapters for page in chapter.pages)

    def neighbours(self, name: str) -> tuple[PageLink | None, PageLink | None]:
        """The pages before and after one."""
        pages = self.pages
        place = next((index for index, page in enumerate(pages) if page.name == name), None)
        if place is None:
            return None, pages[0] if name == START and pages else None
        before = pages[place - 1] if place else None
        return before, pages[place + 1] if place + 1 < len(pages) else None

    def search(self, query: str) -> Sequence[Hit]:
        """The passages that hold every word, those with it in their heading first."""
        words = query[:MAX_QUERY].lower().split()
        if not words:
            return ()
        found = [(_weight(passage, words), passage) for passage in self._passages() if _holds(passage, words)]
        found.sort(key=lambda pair: pair[0], reverse=True)
        return [Hit(passage, excerpt(passage.text, words)) for _, passage in found[:MAX_RESULTS]]

    def _passages(self) -> Iterator[Passage]:
        for page in self.pages:
            yield from passages(page, (self.place / page.name).read_text(encoding="utf-8"))


def _chapters(text: str) -> Iterator[Chapter]:
    title, pages = "", list[PageLink]()
    for line in text.splitlines():
        if found := _CHAPTER.match(line):
            if pages:
                yield Chapter(title, tuple(pages))
            title, pages = found[1], []
        elif title:
            pages += [PageLink(_spelled(words), name) for words, name in _LINK.findall(line)]
    if pages:
        yield Chapter(title, tuple(pages))


def _spelled(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}"


def passages(page: PageLink, text: str) -> Iterator[Passage]:
    """A page cut at its headings; what stands in a fence is text like any other."""
    heading, lines, fenced, anchors = page.title, list[str](), False, Anchors()
    anchor = ""
    for line in text.splitlines():
        fenced = fenced != line.strip().startswith(_FENCE)
        if not fenced and (found := _HEADING.fullmatch(line)):
            if lines:
                yield Passage(page, heading, anchor, "\n".join(lines))
            heading, lines, anchor = plain(found[2]), [], anchors.of(found[2])
        else:
            lines.append(line)
    yield Passage(page, heading, anchor, "\n".join(lines))


class Anchors:
    """Names for headings, as GitHub makes them: a second one of the same words gets a number."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def of(self, heading: str) -> str:
        words = re.sub(r"[^\w\- ]", "", plain(heading).lower()).strip().replace(" ", "-")
        count = self._seen.get(words, 0)
        self._seen[words] = count + 1
        return f"{words}-{count}" if count else words


def plain(markdown: str) -> str:
    """A line without its marks: of links the words, of code the code."""
    return re.sub(r"[*`]|<!--.*?-->", "", re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", markdown))


def _holds(passage: Passage, words: Sequence[str]) -> bool:
    text = f"{passage.page.title} {passage.heading} {passage.text}".lower()
    return all(word in text for word in words)


def _weight(passage: Passage, words: Sequence[str]) -> tuple[int, int]:
    heading, text = f"{passage.page.title} {passage.heading}".lower(), passage.text.lower()
    return sum(word in heading for word in words), sum(text.count(word) for word in words)


def excerpt(text: str, words: Sequence[str]) -> str:
    """The surroundings of the first word that is found, on one line."""
    flat = " ".join(plain(text).split())
    places = [place for word in words if (place := flat.lower().find(word)) >= 0]
    start = max(0, min(places, default=0) - EXCERPT_CHARACTERS // 3)
    cut = flat[start : start + EXCERPT_CHARACTERS]
    return f"{'…' if start else ''}{cut}{'…' if start + EXCERPT_CHARACTERS < len(flat) else ''}"
