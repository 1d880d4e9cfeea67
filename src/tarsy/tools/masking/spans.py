"""Where a value lies, given where it begins: quoted, bare, as YAML writes it, or in a list. Bounded code throughout. Pure module."""

import re
from collections.abc import Iterator

# Plain quotes may hold escaped ones, and doubled ones as YAML and SQL write them; quotes that are escaped themselves end at the next like them.
_QUOTED = re.compile(
    r"""[bru]?(?P<open>["'`])(?P<body>(?:\\[^\n]|''(?=[^\s,;:}\])])|(?!(?P=open))[^\\\n]){0,8192})(?P=open)""", re.IGNORECASE
)
_QUOTED_TWICE = re.compile(r"""(?P<open>\\{1,3}["'])(?P<body>(?:(?!(?P=open))[^\n]){0,8192})(?P=open)""")
_UNTIL_BREAK = re.compile(r"""(?:\\[ ]|[^\s&;"'<>,`]|,(?!\s|[\w.-]{1,40}\s?[=:])|&(?![\w.-]{1,40}=)){1,8192}""")
_SCHEME = re.compile(r"(?:Bearer|Basic|Digest|Token|ApiKey|Negotiate|AWS4-HMAC-SHA256)[ \t]+", re.IGNORECASE)
_BLOCK = re.compile(r"[|>][+-]?\d?[+-]?[ \t]*(?:#[^\n]*)?(?=\n)")

_NOTHING_MORE = re.compile(r"[ \t]{0,64}(?:#[^\n]*)?\r?\n\s{0,1024}")
# A plain value of YAML holds no further pair.
_NEXT_PAIR = re.compile(r"\s[\w.-]{1,64}(?:: |=)")
# One word that stands alone on its line: neither a key nor the beginning of something larger.
_LONE_WORD = re.compile(r"""(?![-#{\[|>&*!%@,])[^\s"'`]{1,8192}+(?<!:)[ \t]{0,64}\r?(?=\n|\Z)""")
_LONE_QUOTED = re.compile(r"""(?:"[^"\n]{0,8192}"|'[^'\n]{0,8192}'),?[ \t]{0,64}\r?(?=\n|\Z)""")
_BETWEEN_ITEMS = re.compile(r"[\s,]{0,1024}")
_MASKED_ITEM = re.compile(r"\[MASKED_[A-Z0-9_]{1,64}\]")
_BARE_ITEM = re.compile(r"""[^\s,\[\]{}"'`]{1,8192}+(?!\s{0,8}:)""")

Span = tuple[int, int]


def value_span(text: str, start: int, *, yaml_line: bool, spaces: bool = False) -> Span | None:
    """Where the value that begins at `start` lies, without its quotes."""
    quoted = _quoted(text, start)
    if quoted is not None:
        scheme = _SCHEME.match(text, quoted.start("body"), quoted.end("body"))
        return (scheme.end() if scheme else quoted.start("body")), quoted.end("body")
    scheme = _SCHEME.match(text, start)
    if scheme is None and yaml_line:
        return _yaml_span(text, start, spaces=spaces)
    return _bare_span(text, scheme.end() if scheme else start)


def listed_spans(text: str, start: int) -> list[Span]:
    """The items of a list in brackets, whose first begins after `start`; up to the first that is not a plain value."""
    spans: list[Span] = []
    while True:
        between = _BETWEEN_ITEMS.match(text, start)
        start = between.end() if between else start
        item = _MASKED_ITEM.match(text, start) or _quoted(text, start) or _BARE_ITEM.match(text, start)
        if item is None:
            break
        spans.append(item.span("body") if "body" in item.re.groupindex else item.span())
        start = item.end()
    return spans


def spans_below(text: str, start: int) -> list[Span]:
    """The values on the lines below a key after which nothing stands: one deeper than the key, or the items of a list."""
    rest = _NOTHING_MORE.match(text, start)
    if rest is None:
        return []
    at = rest.end()
    indent, column = _indent(text, start), at - text.rfind("\n", 0, at) - 1
    if text.startswith("- ", at):
        return list(_dashed_items(text, at, column)) if column >= indent else []
    if column <= indent:
        return []
    if text[at : at + 1] == "[" and not _MASKED_ITEM.match(text, at):
        return listed_spans(text, at + 1)
    span = _lone_value(text, at)
    return [span] if span else []


def _dashed_items(text: str, start: int, column: int) -> Iterator[Span]:
    while text.startswith("- ", start):
        span = _lone_value(text, start + 2)
        if span is None:
            return
        yield span
        end = text.find("\n", span[1])
        start = end + 1 + column
        if end == -1 or text[end + 1 : start].strip(" "):
            return


def _lone_value(text: str, at: int) -> Span | None:
    """A value that has its line to itself. Of several words only if it is quoted: without quotes they are rather an explanation."""
    if _LONE_QUOTED.match(text, at):
        return value_span(text, at, yaml_line=False)
    word = _MASKED_ITEM.match(text, at) or _LONE_WORD.match(text, at)
    return (at, at + len(word.group().rstrip())) if word else None


def _quoted(text: str, start: int) -> re.Match[str] | None:
    return _QUOTED.match(text, start) or _QUOTED_TWICE.match(text, start)


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
    if (
        "," in value
        or (" " in value and (not spaces or _NEXT_PAIR.search(value)))
        or (value[-1] in "}]" and "{" not in value and "[" not in value)
    ):
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
