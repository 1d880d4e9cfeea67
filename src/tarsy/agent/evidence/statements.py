"""The statements of an analysis: its sections, its sentences, and the names, figures and sweeping words in them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from tarsy.domain.citation import Citation, without_code

_HEADING = re.compile(r"^[ ]{0,3}(?:#{1,6}[ \t]+|\*\*)([^\n*#]{1,80})", re.MULTILINE)
_CITED = "\0"
# A sentence ends at its mark, and takes along the citations that follow it.
_SENTENCE = re.compile(r"[^\n.!?]*(?:[.!?](?!\s|\0|$)[^\n.!?]*)*(?:[.!?]+(?=\s|\0|$))?[ \t\0]*")
_WORD = re.compile(r"\w")
_INFERENCE = re.compile(r"\(\s*\*?\s*inference\b", re.IGNORECASE)
_NAME = re.compile(r"`([^`\n]{1,200})`")
_SWEEPING = re.compile(r"\b(all|every|none|only|always|never)\b", re.IGNORECASE)
# Units that monitoring prints. Bare numbers are not checked: they would be found, or missed, by chance.
_FIGURE = re.compile(
    r"(?<![\w.,])(?<!\w-)(\d{1,12}(?:[.,]\d{1,6})*)\s?"
    r"(%|percent\b|(?:ms|µs|us|ns|s|sec|secs|seconds?|min|mins|minutes?|h|hours?|d|days?)\b"
    r"|(?:[KMGTP]i?B?|[kKMGTP]?B|bytes|millicores|cores|m)\b(?!\w)|(?:rps|qps|req/s|/s)\b)"
)
_SYNONYMS = {
    **dict.fromkeys(("percent",), "%"),
    **dict.fromkeys(("sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), "min"),
    **dict.fromkeys(("hour", "hours"), "h"),
    **dict.fromkeys(("day", "days"), "d"),
    **dict.fromkeys(("us",), "µs"),
}
# Longer statements are read to here: an analysis consists of sentences.
_LONGEST = 2_000
# As many occurrences of a number are checked for its unit.
_MOST_PLACES = 5_000
# More statements than any analysis has; the rest is not checked.
_MOST = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A sentence or list item, with its offset, its section and its citations."""

    text: str
    start: int
    section: str
    citations: tuple[Citation, ...]

    @property
    def is_inference(self) -> bool:
        return _INFERENCE.search(self.text) is not None

    @property
    def names(self) -> tuple[str, ...]:
        """The texts in back-ticks."""
        return tuple(dict.fromkeys(_NAME.findall(self.text)))

    @property
    def figures(self) -> tuple[str, ...]:
        """Numbers with a unit, as they are written."""
        return tuple(dict.fromkeys(found[0].strip() for found in _FIGURE.finditer(self.text)))

    @property
    def sweeps(self) -> bool:
        """Whether it says all, every, none, only, always or never."""
        return _SWEEPING.search(self.text) is not None


def statements(text: str, cited: Sequence[Citation]) -> tuple[Statement, ...]:
    """Return the statements of an analysis outside its code blocks, in order."""
    prose = _with_citations_marked(without_code(text), cited)
    headings = [(found.start(), found.end(), found[1].strip(" *:").lower()) for found in _HEADING.finditer(prose)]
    found: list[Statement] = []
    section, upcoming, next_citation = "", 0, 0
    for start, end in islice(_sentences(prose), _MOST):
        while upcoming < len(headings) and headings[upcoming][0] <= start:
            section = headings[upcoming][2]
            upcoming += 1
        own: list[Citation] = []
        while next_citation < len(cited) and cited[next_citation].start < end:
            own.append(cited[next_citation])
            next_citation += 1
        words = prose[start : min(end, start + _LONGEST)].replace(_CITED, "").strip(" \t-*•|>")
        is_heading = prose.startswith("#", prose.rfind("\n", 0, start) + 1)
        if _WORD.search(words) and not is_heading:
            found.append(Statement(text=words, start=start, section=section, citations=tuple(own)))
    return tuple(found)


def holds_figure(text: str, figure: str) -> bool:
    """Whether a text contains a figure with its unit, in any spelling."""
    wanted = figure_key(figure)
    number = wanted[0]
    whole, point, rest = number.partition(".")
    with_commas = f"{int(whole):,}{point}{rest}" if whole.isdigit() else number
    return any(_occurs(text, wanted, spelled) for spelled in {number, with_commas})


def _occurs(text: str, wanted: tuple[str, str], spelled: str) -> bool:
    place = text.find(spelled)
    for _ in range(_MOST_PLACES):
        if place < 0:
            return False
        found = _FIGURE.match(text, place)
        if found and figure_key(found[0]) == wanted:
            return True
        place = text.find(spelled, place + 1)
    # A number that occurs so often is not reported as missing.
    return place >= 0


def figure_key(figure: str) -> tuple[str, str]:
    """Return a figure in one spelling: `1,200 seconds` and `1200s` are the same."""
    found = _FIGURE.match(figure)
    if found is None:
        return figure, ""
    number, unit = re.sub(r",(?=\d{3}\b)", "", found[1]), found[2]
    if "." in number:
        number = number.rstrip("0").rstrip(".")
    return number, _SYNONYMS.get(unit.lower(), unit)


def _with_citations_marked(prose: str, cited: Sequence[Citation]) -> str:
    """Replace citations by marks of the same length: a quotation is no statement, and its punctuation ends no sentence."""
    parts: list[str] = []
    position = 0
    for one in cited:
        if one.start >= position:
            parts += (prose[position : one.start], _CITED * (one.end - one.start))
            position = one.end
    return "".join((*parts, prose[position:]))


def _sentences(prose: str) -> Iterator[tuple[int, int]]:
    position = 0
    while position < len(prose):
        found = _SENTENCE.match(prose, position)
        end = found.end() if found else position
        if end > position:
            yield position, end
        position = max(end, position + 1)
