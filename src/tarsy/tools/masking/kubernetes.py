"""Kubernetes Secrets in JSON and YAML: alone, in lists, in streams, and inside other text.

Text that parses as JSON is masked as objects, YAML by its lines, and text that is neither (cut off, quoted, on one line) by its form.
A YAML parser would take seconds for a megabyte and give up where a text is cut off. Only the lines that tell the kind of an object are
inspected; of all others only the indentation matters.
"""

import re
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from textwrap import dedent

from tarsy.domain.tool import Tag
from tarsy.tools.masking.secret_json import (
    LAST_APPLIED,
    MASK,
    MASK_BEGINS,
    MENTIONS,
    PAYLOADS,
    SECRET_TYPE,
    EntryMasker,
    mask_document,
    mask_embedded,
)
from tarsy.tools.masking.text_views import TaggedText
from tarsy.tools.masking.values import MASK_PREFIX, Span

# Shorter strings contain no document.
_SHORTEST_DOCUMENT = 20

# In JSON that does not parse, quoted once or more often. Each begins with a literal, so that the matcher can skip ahead.
_LOOSE_PAYLOAD = re.compile(r"""ata(?:(?<=["']data)|(?<=["']stringData))\\*["']\s{0,8}:\s{0,8}\{""")
_FLOW_PAYLOAD = re.compile(r"ata:(?:(?<=\bdata:)|(?<=\bstringData:))(?P<gap>\s{0,8})\{(?P<body>[^{}]{0,1048576})(?:\}|\Z)")
_AFTER_TEXT_ON_FIRST_LINE = (
    re.compile(r"""kind: Secret(?<=[^\s"'{,-] kind: Secret)(?:List)?\r?\n"""),
    re.compile(r"""apiVersion: (?<=[^\s"'{,-] apiVersion: )[\w./]{1,80}\r?\n"""),
)
_LOOSE_VALUE = re.compile(
    r"""(?P<key>\\*["'][^"'\\\n]{1,256}\\*["']\s{0,8}:\s{0,8})(?P<open>\\*)(?P<quote>["'])(?P<value>(?:(?!(?P=open)(?P=quote))[^\n}]){0,65536})"""
)


def mask_kubernetes_secrets(tagged: TaggedText) -> str:
    """Mask the payload of every Secret in a text."""
    text = tagged.text
    if not any(word in text for word in MENTIONS):
        return text
    entries, nested = EntryMasker(tagged), partial(_mask_nested, tagged.tag)
    whole = mask_document(text, nested, entries)
    if whole is not None:
        return whole
    head, rest = mask_embedded(text, nested, entries)
    text = head + (_mask_loose(rest, entries) if any(word in rest for word in MENTIONS) else rest)
    # YAML's one-line style, whether or not its line belongs to a Secret.
    if "{" in text and re.search(r"kind: ?['\"]?Secret(?:List)?\b", text):
        text = _FLOW_PAYLOAD.sub(
            lambda found: found.group() if MASK_PREFIX in found["body"] else f"ata:{found['gap']}{{{MASK}: {MASK}}}", text
        )
    text = mask_yaml(text, entries)
    # YAML whose first line begins with other words.
    at = min((found.start() for begin in _AFTER_TEXT_ON_FIRST_LINE if (found := begin.search(text))), default=None)
    return text if at is None else text[:at] + mask_yaml(text[at:], entries)


def _mask_nested(tag: Tag | None, text: str) -> str:
    """Mask a string that contains a document of its own."""
    mentioned = len(text) > _SHORTEST_DOCUMENT and ("Secret" in text or "Opaque" in text)
    return mask_kubernetes_secrets(TaggedText(text, tag)) if mentioned else text


def _mask_loose(text: str, entries: EntryMasker) -> str:
    """Mask JSON that is cut off or quoted: every string in a `data` or `stringData` object."""
    parts: list[str] = []
    done = 0
    for found in _LOOSE_PAYLOAD.finditer(text):
        if found.start() < done:
            continue
        end = text.find("}", found.end())
        end = len(text) if end == -1 else end
        entry = partial(_loose_entry, entries, encoded="tringD" not in found.group())
        parts += [text[done : found.end()], _LOOSE_VALUE.sub(entry, text[found.end() : end])]
        done = end
    return "".join((*parts, text[done:]))


def _loose_entry(entries: EntryMasker, found: re.Match[str], *, encoded: bool) -> str:
    # Where the text is cut off, so may be the value, which cannot be compared then.
    cut_off = found.end() == len(found.string)
    masked = MASK if cut_off else entries.masked(found["key"].strip("\\\"' \t\n\r:"), found["value"], encoded=encoded)
    return f"{found['key']}{found['open']}{found['quote']}{masked}"


# Each expression begins with a newline, so that the matcher skips from line to line.
_OBJECT_LINE = re.compile(
    rf"""\n(?:(?P<end>---|\.\.\.)|(?P<indent>[ ]*+)(?P<dashes>-[ ][- ]*+)?+["']?
    (?P<key>apiVersion|kind|type|data|stringData|{re.escape(LAST_APPLIED)})["']?[ ]*+:(?P<value>[^\n]*+))""",
    re.VERBOSE,
)
_ANY_LINE = re.compile(r"\n(?P<indent> *+)[^\n:]*+:")
# Deeper indentation only occurs in texts made to have us compile expressions.
_MAX_COLUMN = 200


class _Group:
    """One mapping of a YAML text: the keys at one column below one parent."""

    __slots__ = ("column", "is_cut_off", "is_object", "kind", "parent", "type")

    def __init__(self, column: int, parent: "_Group | None") -> None:
        self.column = column
        self.parent = parent
        self.kind: str | None = None
        self.type: str = ""
        # Has an apiVersion, like every object of the cluster.
        self.is_object = False
        # The text ends inside it, so its kind may have been lost.
        self.is_cut_off = False

    @property
    def is_secret(self) -> bool:
        if self.kind is not None:
            return self.kind == "Secret"
        if SECRET_TYPE.fullmatch(self.type) or (self.is_object and self.is_cut_off):
            return True
        above = self.parent
        while above is not None:
            if above.kind is not None or above.is_object:
                return above.kind == "SecretList" or (above.kind is None and above.is_cut_off)
            above = above.parent
        return False

    @property
    def belongs_to_secret(self) -> bool:
        above: _Group | None = self
        while above is not None:
            if above.is_secret:
                return True
            above = above.parent
        return False

    def note(self, key: str, value: str) -> None:
        if key == "apiVersion":
            self.is_object = True
            return
        bare = value.partition(" #")[0].strip().strip("\"',")
        if key == "kind":
            self.kind = bare
        elif key == "type":
            self.type = bare

    def has_payload(self, key: str) -> bool:
        """Return whether the value under this key has to be masked."""
        if key == LAST_APPLIED:
            return self.belongs_to_secret
        return key in PAYLOADS and self.is_secret


def mask_yaml(text: str, entries: EntryMasker) -> str:
    """Mask the payload of every Secret in YAML."""
    if not any(name in text for name in (*PAYLOADS, LAST_APPLIED)):
        return text
    payloads = _payloads(f"\n{text}")
    if not payloads:
        return text
    lines = text.split("\n")
    masked: list[str] = []
    number = at = done = 0
    for payload_at, column in payloads:
        number += text.count("\n", at, payload_at)
        at = payload_at
        if number < done:
            continue
        head, _, value = lines[number].partition(":")
        below = _deeper(lines, number + 1, column)
        masked += lines[done:number]
        if not value.partition("#")[0].strip():
            masked.append(lines[number])
            masked += _masked_entries(lines[number + 1 : below], entries, encoded=head.strip(" -\"'") == "data")
        elif MASK_BEGINS in value or (value.strip() == "{" and _are_masked(lines[number + 1 : below], entries)):
            # Masked already: as JSON, or in an earlier pass.
            masked += lines[number:below]
        else:
            # A flow mapping, a scalar or a block scalar, with the lines that continue it.
            masked.append(f"{head}: {MASK}")
        done = below
    return "\n".join(masked + lines[done:])


def _payloads(text: str) -> list[Span]:
    """Return offset and column of each line that opens a Secret's payload. The text begins with a newline, which offsets do not count."""
    candidates: list[tuple[int, _Group, str]] = []
    stack: list[_Group] = []
    done = 0
    for found in _OBJECT_LINE.finditer(text):
        segment = (done, found.start())
        _leave(stack, text, *segment)
        done = found.end()
        if found["end"]:
            # A document ends, and with it all open mappings.
            stack = []
            continue
        group = _enter(stack, text, segment, found)
        key = found["key"]
        group.note(key, found["value"])
        candidates.append((found.start(), group, key))
    _leave(stack, text, done, len(text))
    for group in stack:
        group.is_cut_off = group.kind is None
    return [(at, group.column) for at, group, key in candidates if group.has_payload(key)]


def _leave(stack: list[_Group], text: str, start: int, stop: int) -> None:
    """Close the mappings that end on the lines between two inspected ones."""
    while stack:
        column = stack[-1].column
        shallower = re.compile(rf"\n(?P<indent> {{0,{column - 1}}}+)(?! )[^\n:]*+:") if 0 < column <= _MAX_COLUMN else _ANY_LINE
        line = shallower.search(text, start, stop)
        if line is None:
            return
        indent = len(line["indent"])
        while stack and stack[-1].column > indent:
            stack.pop()
        start = line.end()


def _enter(stack: list[_Group], text: str, segment: Span, line: re.Match[str]) -> _Group:
    """Return the mapping of a line: close deeper ones, open a new one for a deeper line or a new list item."""
    column = dash_at = len(line["indent"])
    if line["dashes"]:
        column += len(line["dashes"])
    elif stack and stack[-1].column == column:
        return stack[-1]
    while stack and stack[-1].column > dash_at:
        stack.pop()
    top = stack[-1].column if stack else -1
    if top < column:
        for ancestor in (*_ancestors(text, segment, (top, column), dash_at), column):
            stack.append(_Group(ancestor, stack[-1] if stack else None))
    return stack[-1]


def _ancestors(text: str, segment: Span, between: Span, limit: int) -> list[int]:
    """Return the columns, in order, of mappings that are open at the end of a segment and not on the stack yet: their kind may follow."""
    columns: list[int] = []
    (start, stop), (top, below) = segment, between
    # Each line closes the mappings deeper than itself, so the last lines decide which earlier ones are still open.
    while limit > top:
        line_at = text.rfind("\n", start, stop)
        if line_at == -1:
            break
        line = text[line_at + 1 : stop]
        stop = line_at
        if ":" not in line:
            continue
        bare = line.lstrip(" ")
        dash_at = len(line) - len(bare)
        column = len(line) - len(bare.lstrip("- ")) if bare.startswith("- ") else dash_at
        if top < column <= limit and column < below:
            columns.append(column)
            below = column
        limit = min(limit, dash_at) if column != dash_at else min(limit, column - 1)
    return columns[::-1]


def _deeper(lines: list[str], start: int, column: int) -> int:
    """Return where the lines deeper than `column` end; blank lines after the last of them do not belong to them."""
    number = end = start
    while number < len(lines):
        line = lines[number]
        bare = line.lstrip(" ")
        if bare and len(line) - len(bare) <= column and not bare.isspace():
            break
        number += 1
        end = number if bare and not bare.isspace() else end
    return end


def _are_masked(lines: list[str], entries: EntryMasker) -> bool:
    """Return whether all entries of a JSON object are masked, or shown."""
    pairs = [line.partition(":") for line in lines if ":" in line and MASK_BEGINS not in line]
    bare = [(key.strip(" \"'"), value.strip(" \"',")) for key, _, value in pairs]
    return all(value in {entries.masked(key, value, encoded=encoded) for encoded in (True, False)} for key, value in bare)


def _masked_entries(lines: list[str], entries: EntryMasker, *, encoded: bool) -> Iterator[str]:
    """Mask each `key: value`, and drop lines that continue a value."""
    first = next((line for line in lines if line.strip()), "")
    column = len(first) - len(first.lstrip(" "))
    ends = [number for number, line in enumerate(lines) if line.strip() and len(line) - len(line.lstrip(" ")) <= column]
    for number, following in pairwise((*ends, len(lines))):
        key, colon, value = lines[number].partition(":")
        bare = value.partition(" #")[0].strip()
        if bare[:1] in {"|", ">"}:
            # The lines of a block, without their indentation.
            bare = "\n".join(dedent("\n".join(lines[number + 1 : following])).splitlines())
        elif following > number + 1:
            bare = " ".join((bare, *(line.strip() for line in lines[number + 1 : following]))).strip()
        bare = bare.strip("\"'")
        masked = entries.masked(key.strip(" \"'"), bare, encoded=encoded)
        if not colon:
            yield f"{lines[number][:column]}{MASK}"
        else:
            yield lines[number] if masked == bare else f"{key}: {masked}"
