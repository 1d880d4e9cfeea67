"""The statements of an analysis: the list items, table rows and sentences of its sections, read as Markdown."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tarsy.domain.citation import Citation

# Characters that are read: fifty pages.
_LONGEST_ANALYSIS = 200_000
# More statements than any analysis has; the rest is not checked.
_MOST_STATEMENTS = 2_000
# Longer statements are read to here: an analysis consists of sentences.
_LONGEST_STATEMENT = 2_000
# Stands for a character of a citation: a letter that no analysis contains, so that nothing in a quotation is read as Markdown.
_CITED = "\ue000"
_CODE = "\ue001"

# Only blocks are parsed: what stands inside a paragraph is read here.
_MARKDOWN = MarkdownIt("commonmark").enable("table").disable(["inline", "text_join"])
# No text makes a pattern here slow: back-ticks, and the marks that end a sentence, are tried once for each run of them.
_CODE_SPAN = re.compile(r"(?<!`)(`++).+?(?<!`)\1(?!`)", re.DOTALL)
_LABEL = re.compile(r"\s*(\*\*|__)(?P<label>[^*_\n]{1,80}?)[:.]?\s*\1\s*[:.\u2013\u2014-]?")
# In bold type or italics before its text: *The setting.*
_TITLE = re.compile(r"(\*{1,3}|_{1,3})[^*_\n.]{1,60}[.!?]?\1")
_NOT_SPACE = re.compile(r"\S")
_MARKER = re.compile(r"\s*(?:>\s*)*(?:[-*+]|\d{1,9}[.)])?\s+|\s*\|")
_INFERENCE = re.compile(r"\(\s*[*_]?\s*inference\b", re.IGNORECASE)
_SWEEPING = re.compile(r"\b(all|every|none|only|always|never)\b", re.IGNORECASE)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:e\.g|i\.e|approx|ca|vs|cf|etc|incl|excl|resp|no|nos|max|min|avg|fig|sec|est|std|dept|st|mr|ms|dr|v|[A-Za-z])$",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_SENTENCE_END = re.compile(rf"(?<![.!?])[.!?]++[*_)\"”]*(?P<cited>[\s{_CITED}]*)(?=\s|{_CITED}|$)")


class AnalysisSection(StrEnum):
    """What a section of an analysis is for, by its heading."""

    WHY = "why"
    RULED_OUT = "ruled out"
    IMPACT = "impact"
    ACTIONS = "actions"
    OTHER = "other"


_HEADINGS = (
    (AnalysisSection.WHY, re.compile(r"why|(?:root |probable )?causes?|chain of causes|root-cause")),
    (AnalysisSection.RULED_OUT, re.compile(r"ruled out|alternatives|excluded|not the cause")),
    (AnalysisSection.IMPACT, re.compile(r"impact|affected|who is affected")),
    (
        AnalysisSection.ACTIONS,
        re.compile(
            r"do now|what to do|to do|actions?|next steps?|(?:the |lasting |permanent )?fix|remed|recommend|mitigat|verify|undo|risk|prevent"
        ),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A list item, a table row or a sentence, without its citations."""

    text: str
    start: int
    end: int
    section: AnalysisSection
    citations: tuple[Citation, ...]
    # Citations of the list items below it: they support it too.
    below: tuple[Citation, ...] = ()

    @property
    def is_inference(self) -> bool:
        return _INFERENCE.search(self.text) is not None

    @property
    def sweeps(self) -> bool:
        """Whether it says all, every, none, only, always or never, outside code."""
        return _SWEEPING.search(_CODE_SPAN.sub("", self.text)) is not None


def section_of(heading: str) -> AnalysisSection | None:
    """Return the section that a heading or a label names, None if it is not a known one."""
    words = re.sub(r"^[\W\d]+|\W+$", "", heading).lower()
    return next((section for section, pattern in _HEADINGS if re.match(rf"(?:{pattern.pattern})", words)), None)


def visible(text: str, cited: Sequence[Citation]) -> tuple[Citation, ...]:
    """Return the citations that a reader sees: none in an HTML comment."""
    hidden = [found.span() for found in _COMMENT.finditer(_masked(text, cited))]
    return tuple(one for one in cited if not any(start <= one.start < end for start, end in hidden))


def statements(text: str, cited: Sequence[Citation]) -> tuple[Statement, ...]:
    """Return the statements of an analysis in order. Headings, table headers, code blocks and introductions that end with a colon are none."""
    return tuple(_Reader(text, cited).read())[:_MOST_STATEMENTS]


@dataclass(slots=True)
class _Item:
    """A list item that is being read: where its own text stands, and whether its label named a section."""

    section: AnalysisSection
    start: int
    spans: list[tuple[int, int]]
    below: list[Citation]


class _Reader:
    def __init__(self, text: str, cited: Sequence[Citation]) -> None:
        self._text = text
        self._cited = cited
        # To Markdown, a carriage return ends a line by itself; here, lines end at \n.
        self._masked = _masked(text, cited).replace("\r", " ")
        self._starts = [0, *(found.end() for found in re.finditer("\n", self._masked)), len(text) + 1]
        # The headings that the text is under: their levels and sections.
        self._headings: list[tuple[int, AnalysisSection]] = []
        self._items: list[_Item] = []

    def read(self) -> Iterator[Statement]:
        found: list[Statement] = []
        in_body = False
        tokens = _MARKDOWN.parse(self._masked[:_LONGEST_ANALYSIS])
        for number, token in enumerate(tokens):
            match token.type:
                case "heading_open":
                    self._enter(int(token.tag[1:]), section_of(tokens[number + 1].content))
                case "list_item_open":
                    start, _ = self._span(token)
                    self._items.append(_Item(self._items[-1].section if self._items else self._section, start, [], []))
                case "list_item_close":
                    found += self._end_item()
                case "paragraph_open" if self._items:
                    self._add_to_item(*self._span(token))
                case "paragraph_open":
                    found += self._paragraph(*self._span(token))
                case "tbody_open" | "tbody_close":
                    in_body = token.type == "tbody_open"
                case "tr_open" if in_body:
                    found += self._statement([self._span(token)], self._section)
                case _:
                    pass
        return iter(sorted(found, key=lambda one: one.start))

    @property
    def _section(self) -> AnalysisSection:
        return self._headings[-1][1] if self._headings else AnalysisSection.OTHER

    def _enter(self, level: int, section: AnalysisSection | None) -> None:
        """Begin a section. An unknown heading below a known one belongs to it."""
        while self._headings and self._headings[-1][0] >= level:
            self._headings.pop()
        self._headings.append((level, section or self._section))

    def _span(self, token: Token) -> tuple[int, int]:
        first, last = token.map or (0, 0)
        return self._starts[first], self._starts[last] - 1

    def _paragraph(self, start: int, end: int) -> Iterator[Statement]:
        label = _LABEL.match(self._masked, start, end)
        alone = label is not None and not self._masked[label.end() : end].strip()
        named = section_of(label["label"]) if label else section_of(self._masked[start:end]) if end - start < 40 else None
        if label and (named or alone):
            # Labels in bold type are headings of the lowest level.
            self._enter(7, named)
            start = label.end()
        elif named and self._masked[start:end].rstrip().endswith(":"):
            self._enter(7, named)
            return
        for first, last in _sentences(self._masked, start, end):
            yield from self._statement([(first, last)], self._section)

    def _add_to_item(self, start: int, end: int) -> None:
        item = self._items[-1]
        marker = _MARKER.match(self._masked, start)
        start = min(marker.end() if marker else start, end)
        label = _LABEL.match(self._masked, start, end)
        if not item.spans and label and (named := section_of(label["label"])):
            item.section = named
            start = label.end()
        item.spans.append((start, end))

    def _end_item(self) -> Iterator[Statement]:
        item = self._items.pop()
        own = list(self._statement(item.spans, item.section, item.below))
        if self._items:
            self._items[-1].below += [*item.below, *(citation for one in own for citation in one.citations)]
        yield from own

    def _statement(self, spans: Sequence[tuple[int, int]], section: AnalysisSection, below: Sequence[Citation] = ()) -> Iterator[Statement]:
        if not spans:
            return
        words = " ".join(self._masked[start : min(end, start + _LONGEST_STATEMENT)] for start, end in spans)
        own = tuple(one for one in self._cited if any(start <= one.start < end for start, end in spans))
        plain = words.replace(_CITED, "").strip(" \t\n*_|")
        if not own and (not re.search(r"\w", plain) or plain.endswith(":") or _TITLE.fullmatch(words.strip())):
            return
        text = " ".join(self._without_citations(start, end) for start, end in spans)
        yield Statement(
            text=" ".join(text.split()).strip(" -*•|>")[:_LONGEST_STATEMENT],
            start=spans[0][0],
            end=spans[-1][1],
            section=section,
            citations=own,
            below=tuple(below),
        )

    def _without_citations(self, start: int, end: int) -> str:
        return "".join(self._text[at] for at in range(start, min(end, start + _LONGEST_STATEMENT)) if self._masked[at] != _CITED)


def _masked(text: str, cited: Sequence[Citation]) -> str:
    """Return the text with its citations replaced by as many other characters."""
    parts: list[str] = []
    position = 0
    for one in cited:
        if one.start >= position:
            parts += (text[position : one.start], _CITED * (one.end - one.start))
            position = one.end
    return "".join((*parts, text[position:]))


def _sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the sentences of a paragraph; a sentence takes along the citations that follow its full stop."""
    # Nothing in a code span ends a sentence.
    part = _CODE_SPAN.sub(lambda found: _CODE * len(found[0]), text[start:end])
    begin = 0
    for found in _SENTENCE_END.finditer(part):
        following = _NOT_SPACE.search(part, found.end())
        # Names of programs begin sentences in lower case, too.
        is_end = following is None or following[0].isalnum() or following[0] in f'{_CODE}*_"\u201c([-\u2013'
        if found[0][0] == "." and _ABBREVIATION.search(part, max(begin, found.start() - 12), found.start()):
            is_end = following is None
        if is_end and found.end() > begin:
            yield start + begin, start + found.end()
            begin = found.end()
    if part[begin:].strip():
        yield start + begin, end
