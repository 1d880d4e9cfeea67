"""Secrets that stand beside their name: `password: x`, `"token":"x"`, `API_KEY=x`, `--password x`, `<secret>x</secret>`, env entries.

Names are found by literal search; what follows is looked at by bounded code, so no text can make it slow. Pure module.
"""

import re
import string
from collections.abc import Iterator

from tarsy.tools.masking.names import NameTable
from tarsy.tools.masking.runs import Alphabet
from tarsy.tools.masking.values import MASK_PREFIX, Sort, is_secret, label

_QUOTES = r"""\\{0,3}["'`]"""
# After a stem: what may end a name, and what leads on to its value. The text is in lower case here.
_LEADS = re.compile(
    rf"""
    (?:[_-]?(?:value|b64|base64|encoded|\d{{1,2}}))?
    (?:
        (?P<assign>(?:{_QUOTES})?\]?[ \t]{{0,4}}(?:=>|:=|[:=])[ \t]{{0,8}})
      | (?P<entry>(?:{_QUOTES})?\s{{0,4}},?\s{{0,200}}(?:{_QUOTES})?value(?:{_QUOTES})?\s{{0,4}}[:=][ \t]{{0,4}})
      | (?P<tag>>)
      | (?P<gap>[ \t]{{1,4}}(?=[^\s-]))
    )""",
    re.VERBOSE,
)
# How a lead can begin: a cheap look before the expression is tried.
_LEAD_CHARS = frozenset("\\ \t\r\n:=>,vbe0123456789")
_LEAD_PAIRS = frozenset(
    first + second
    for firsts, seconds in (("_-", "vbe0123456789"), ("\"'`", "] \t\r\n:=,\\\"'`v"), ("]", " \t:="))
    for first in firsts
    for second in seconds
)
_STEM_CHARACTERS = Alphabet(string.ascii_lowercase + string.digits + "_")
_NAME_CHARS = "abcdefghijklmnopqrstuvwxyz0123456789_.-/$&?"
# How long a name is as a rule, and how long it can be.
_USUAL_NAME = 24
_NAME_WINDOW = 100
_BEFORE_ENTRY = re.compile(rf"(?:name|key)(?:{_QUOTES})?\s{{0,4}}[:=]\s{{0,4}}(?:{_QUOTES})?\Z")
_BEFORE_LINE = re.compile(rf"[ \t]*(?:- )?(?:{_QUOTES})?\Z")

# Plain quotes may hold escaped ones, and doubled ones as YAML and SQL write them; quotes that are escaped themselves end at the next like them.
_QUOTED = re.compile(
    r"""[bru]?(?P<open>["'`])(?P<body>(?:\\[^\n]|''(?=[^\s,;:}\])])|(?!(?P=open))[^\\\n]){0,8192})(?P=open)""", re.IGNORECASE
)
_QUOTED_TWICE = re.compile(r"""(?P<open>\\{1,3}["'])(?P<body>(?:(?!(?P=open))[^\n]){0,8192})(?P=open)""")
_UNTIL_BREAK = re.compile(r"""(?:\\[ ]|[^\s&;"'<>,`]|,(?!\s|[\w.-]{1,40}\s?[=:])|&(?![\w.-]{1,40}=)){1,8192}""")
_SCHEME = re.compile(r"(?:Bearer|Basic|Digest|Token|ApiKey|Negotiate|AWS4-HMAC-SHA256)[ \t]+", re.IGNORECASE)
_BLOCK = re.compile(r"[|>][+-]?\d?[+-]?[ \t]*(?:#[^\n]*)?(?=\n)")

Span = tuple[int, int]


class AssignmentMasker:
    """Masks the values that stand beside the names of some patterns."""

    def __init__(self, patterns: frozenset[str]) -> None:
        self._table = NameTable(patterns)

    def mask(self, text: str) -> str:
        # One letter has two in lower case; without it both texts have the same offsets.
        lowered = text.replace("İ", "I").lower()
        parts: list[str] = []
        done = 0
        for end in self._stem_ends(lowered):
            if end <= done or (lowered[end : end + 1] not in _LEAD_CHARS and lowered[end : end + 2] not in _LEAD_PAIRS):
                continue
            found = self._secret_after(text, lowered, end)
            if found is not None and found[0] >= done:
                start, stop, mark = found
                parts += [text[done:start], mark]
                done = stop
        return "".join((*parts, text[done:])) if parts else text

    def _stem_ends(self, lowered: str) -> list[int]:
        """Where a name may end, in order."""
        ends: set[int] = set()
        words = " ".join(_STEM_CHARACTERS.runs(lowered, at_least=3))
        for stem in self._table.stems:
            if stem not in words:
                continue
            at = lowered.find(stem)
            while at != -1:
                ends.add(at + len(stem))
                at = lowered.find(stem, at + len(stem))
        return sorted(ends)

    def _secret_after(self, text: str, lowered: str, end: int) -> tuple[int, int, str] | None:
        name_at = _name_start(lowered, end)
        known = self._table.classify(lowered[name_at:end])
        leads = _LEADS.match(lowered, end) if known is not None else None
        if known is None or leads is None or _is_masked(text, leads.end()):
            return None
        pattern, sort = known
        placed = _placed(text, lowered, name_at, leads, certain=sort is Sort.CERTAIN)
        if placed is None:
            return None
        (start, stop), prose = placed
        quoted = text[start - 1] in "\"'`"
        return (start, stop, label(pattern)) if is_secret(text[start:stop], sort, prose=prose and not quoted, quoted=quoted) else None


def _is_masked(text: str, at: int) -> bool:
    """Whether the value that begins here, perhaps with a quote, is hidden already: a short cut for what a rule before us has done."""
    return text.startswith(MASK_PREFIX, at) or text.startswith(MASK_PREFIX, at + 1)


def _name_start(lowered: str, end: int) -> int:
    for window in (_USUAL_NAME, _NAME_WINDOW):
        earliest = end - window if end > window else 0
        start = earliest + len(lowered[earliest:end].rstrip(_NAME_CHARS))
        if start > earliest:
            return start
    return earliest


def _placed(text: str, lowered: str, name_at: int, leads: re.Match[str], *, certain: bool) -> tuple[Span, bool] | None:
    """Where the value lies, and whether it may be prose; None when the name is not followed by a value after all."""
    at = leads.end()
    match leads.lastgroup:
        case "assign":
            alone = _BEFORE_LINE.match(text, max(text.rfind("\n", 0, name_at) + 1, name_at - _NAME_WINDOW), name_at) is not None
            span = _value_span(text, at, yaml_line=alone and ":" in leads.group(), spaces=certain)
            return (span, not alone and ": " in leads.group()) if span else None
        case "entry":
            if _BEFORE_ENTRY.search(lowered, max(0, name_at - 20), name_at) is None:
                return None
            span = _value_span(text, at, yaml_line=True, spaces=certain)
        case "tag":
            if lowered[name_at - 1 : name_at] != "<":
                return None
            closing = text.find("<", at, at + 4096)
            span = (at, closing) if closing > at else None
        case _:
            if not _takes_next_word(text, lowered, name_at, at, certain=certain):
                return None
            span = _value_span(text, at, yaml_line=False)
    return (span, leads.lastgroup == "gap") if span else None


def _takes_next_word(text: str, lowered: str, name_at: int, at: int, *, certain: bool) -> bool:
    """Whether a name is followed by its value without a sign between: options, SQL's PASSWORD 'x', Redis' and Docker's directives."""
    if lowered.startswith("--", name_at):
        return True
    directive = lowered.startswith(("requirepass", "masterauth"), name_at) or lowered.endswith("env ", 0, name_at)
    return certain and (directive or text[at] in "\"'")


def _value_span(text: str, start: int, *, yaml_line: bool, spaces: bool = False) -> Span | None:
    """Where the value that begins at `start` lies, without its quotes."""
    quoted = _QUOTED.match(text, start) or _QUOTED_TWICE.match(text, start)
    if quoted is not None:
        scheme = _SCHEME.match(text, quoted.start("body"), quoted.end("body"))
        return (scheme.end() if scheme else quoted.start("body")), quoted.end("body")
    scheme = _SCHEME.match(text, start)
    if scheme is None and yaml_line:
        return _yaml_span(text, start, spaces=spaces)
    return _bare_span(text, scheme.end() if scheme else start)


def _bare_span(text: str, start: int) -> Span | None:
    """Up to a space or a separator, without the punctuation that closes the surrounding text."""
    found = _UNTIL_BREAK.match(text, start)
    if found is None:
        return None
    value = found.group()
    # A bracket that was opened inside belongs to the value, as in ${NAME}.
    closing = "".join(mark for mark, opening in ((")", "("), ("]", "["), ("}", "{")) if opening not in value)
    return start, start + max(1, len(value.rstrip(f".,:;\\{closing}")))


def _yaml_span(text: str, start: int, *, spaces: bool) -> Span | None:
    """A YAML value: the rest of the line if it may hold spaces, or the block of deeper lines below it."""
    block = _BLOCK.match(text, start)
    if block is not None:
        return _block_span(text, start, block.end() + 1)
    end = text.find("\n", start)
    value, _, _ = text[start : len(text) if end == -1 else end].partition(" #")
    value = value.rstrip()
    if not value or value[0] in "{[":
        return None
    if value[0] in "\"'":
        # The quote is closed on a later line, or not at all.
        below = _deeper_lines(text, end + 1, _indent(text, start)) if end != -1 else ()
        return start, max((stop for _, stop in below), default=start + len(value))
    # Commas and braces belong to a list of pairs on one line, not to the value.
    if "," in value or (not spaces and " " in value) or (value[-1] in "}]" and "{" not in value and "[" not in value):
        return _bare_span(text, start)
    return start, start + len(value)


def _block_span(text: str, key_at: int, start: int) -> Span | None:
    """The lines from `start` on that stand deeper than the key."""
    lines = list(_deeper_lines(text, start, _indent(text, key_at)))
    if not lines:
        return None
    first = lines[0]
    return first[0] + len(text[first[0] : first[1]]) - len(text[first[0] : first[1]].lstrip(" ")), lines[-1][1]


def _indent(text: str, at: int) -> int:
    """How deep the key of the line stands."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return len(line) - len(line.lstrip(" -"))


def _deeper_lines(text: str, start: int, indent: int) -> Iterator[Span]:
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end == -1 else end
        line = text[start:end]
        if line.strip():
            if len(line) - len(line.lstrip(" ")) <= indent:
                return
            yield start, end
        start = end + 1
