"""The verdict that ends an answer: a fenced block `verdict` of a few YAML lines. Parsed leniently, and hidden while the answer is streamed.

Only a block of the answer itself counts, and of several the last: a block in a tool result, or quoted inside another block, is no verdict.
"""

import re
import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

import yaml

from tarsy.domain.citation import blocks, ends_block, fence_of
from tarsy.domain.evidence import ID_PATTERN
from tarsy.domain.verdict import CATEGORIES, AffectedObject, Confidence, RuledOut, StillHappening, Verdict, VerdictOutcome

# A verdict is a dozen short lines; a longer block is none.
LONGEST_BLOCK = 8_000
_LONGEST_VALUE = 600
_MOST_ITEMS = 30
_MOST_BRACKETS = 200

_NAMES = frozenset({"verdict", "yaml verdict", "verdict yaml"})
# Room for a fence with any of the names; a longer line begins another kind of block.
_LONGEST_OPENING = 80
_OPENING = re.compile(r" {0,3}(?:`{3,}|~{3,})(?P<name>[A-Za-z \t]*)\r?")
_BEGUN_FENCE = re.compile(r" {0,3}(?:`{0,2}|~{0,2})")
_IDS = re.compile(rf"\b{ID_PATTERN}")
# A field begins at the start of its line: items of a list are indented or begin with a hyphen.
_FIELD = re.compile(r"^[A-Za-z][A-Za-z_ ]{1,23}?[ \t]*:", re.MULTILINE)
# To YAML 1.1, `14:05` is a number in base 60.
_BARE_CLOCK = re.compile(r"(:[ \t]+)(\d{1,2}(?::\d\d){1,2})(?=[ \t]*$)", re.MULTILINE)
# What a model writes as the time that it does not know.
NO_TIME = frozenset({"unknown", "none"})
_DATE = re.compile(r"\d{4}-\d\d-\d\d|\d{1,2}:\d\d")
_OUTCOMES: Mapping[str, VerdictOutcome] = {
    "fault": VerdictOutcome.FAULT,
    "fault_found": VerdictOutcome.FAULT,
    "no_fault": VerdictOutcome.NO_FAULT,
    "no_fault_found": VerdictOutcome.NO_FAULT,
    "healthy": VerdictOutcome.NO_FAULT,
    "inconclusive": VerdictOutcome.INCONCLUSIVE,
    "unknown": VerdictOutcome.INCONCLUSIVE,
}
_CONFIDENCE: Mapping[str, Confidence] = {one.value: one for one in Confidence}
_HAPPENING: Mapping[str, StillHappening] = {
    "yes": StillHappening.YES,
    "true": StillHappening.YES,
    "no": StillHappening.NO,
    "false": StillHappening.NO,
}
_STATED: Mapping[str, Sequence[str]] = {
    "outcome": tuple(VerdictOutcome),
    "confidence_object": tuple(Confidence),
    "confidence_mechanism": tuple(Confidence),
    "still_happening": tuple(StillHappening),
    "category": CATEGORIES,
}
_VALUES: Mapping[str, Collection[str]] = {**_STATED, "outcome": _OUTCOMES, "still_happening": {*_HAPPENING, "unknown"}}


@dataclass(frozen=True, slots=True)
class ParsedVerdict:
    """The verdict block of an answer: None without a valid outcome, and each value that is not valid, for the model to correct."""

    verdict: Verdict | None
    problems: tuple[str, ...] = ()


def read_verdict(answer: str) -> Verdict | None:
    """Return the verdict that an answer ends with; None if there is none that states at least its outcome."""
    return parse_verdict(answer).verdict


def parse_verdict(answer: str) -> ParsedVerdict:
    """Return the verdict that an answer ends with, and what in it is not valid."""
    spans = _spans(answer)
    if not spans:
        return ParsedVerdict(None)
    lines = answer[slice(*spans[-1])].splitlines()
    body = lines[1:-1] if fence_of(lines[-1]) and len(lines) > 1 else lines[1:]
    fields = _fields("\n".join(body)[:LONGEST_BLOCK])
    problems = tuple(_problems(fields))
    outcome = _OUTCOMES.get(_key(fields.get("outcome", "")))
    if outcome is None:
        return ParsedVerdict(None, problems)
    both = fields.get("confidence", "")
    ruled_out = fields.get("ruled_out")
    items = cast("list[Any]", ruled_out)[:_MOST_ITEMS] if isinstance(ruled_out, list) else []
    verdict = Verdict(
        outcome=outcome,
        object=_object(fields.get("object")),
        mechanism=_text(fields.get("mechanism")),
        confidence_object=_confidence(fields.get("confidence_object", both)),
        confidence_mechanism=_confidence(fields.get("confidence_mechanism", both)),
        since=_text(fields.get("since")),
        still_happening=_HAPPENING.get(_key(fields.get("still_happening", "")), StillHappening.UNKNOWN),
        evidence=_ids(fields.get("evidence")),
        ruled_out=tuple(one for item in items if (one := _ruled_out(item)).hypothesis),
        category=_text(fields.get("category")),
    )
    return ParsedVerdict(verdict, problems)


def _problems(fields: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with the values of a verdict block. A field that is left out has its default."""
    for name, values in _VALUES.items():
        given = fields.get(name, fields.get("confidence", "") if name.startswith("confidence") else "")
        # A model may write a list or a mapping, which no set can hold.
        if (given not in ("", None) or name == "outcome") and _key(given) not in values:
            yield f"{name}: {_text(given) or 'nothing'} is none of {', '.join(_STATED[name])}"
    since = _text(fields.get("since"))
    if since and since.lower() not in NO_TIME and not _DATE.search(since):
        yield f"since: {since} is no time such as 2026-03-10T09:12:41Z"
    if _OUTCOMES.get(_key(fields.get("outcome", ""))) is VerdictOutcome.FAULT:
        yield from (
            f"{name}: a fault has one"
            for name in ("object", "mechanism")
            if not _text(fields.get(name)) and not isinstance(fields.get(name), dict)
        )


def verdict_block(answer: str) -> str:
    """Return the verdict block that an answer ends with, fences included; empty if it has none."""
    spans = _spans(answer)
    return answer[slice(*spans[-1])].strip() if spans else ""


def without_verdict(answer: str) -> str:
    """Return the answer without its verdict blocks, for people, who see the verdict as a card."""
    spans = _spans(answer)
    if not spans:
        return answer
    starts, ends = zip(*spans, strict=True)
    parts = (answer[start:end].strip() for start, end in zip((0, *ends), (*starts, len(answer)), strict=True))
    return "\n\n".join(part for part in parts if part)


def _spans(answer: str) -> list[tuple[int, int]]:
    """Return the offsets of the verdict blocks in the answer's own text."""
    return [(start, end) for start, end in blocks(answer) if opens_verdict(answer[start:end].partition("\n")[0])]


def opens_verdict(line: str) -> bool:
    """Whether a line opens a verdict block, if it is outside any other."""
    found = _OPENING.fullmatch(line.rstrip("\r\n"))
    return len(line) <= _LONGEST_OPENING and found is not None and _name(found) in _NAMES


def may_open_verdict(line: str) -> bool:
    """Whether the beginning of a line could still become one that opens a verdict block."""
    found = _OPENING.fullmatch(line) or _BEGUN_FENCE.fullmatch(line)
    return len(line) <= _LONGEST_OPENING and found is not None and any(name.startswith(_name(found)) for name in _NAMES)


def _name(opening: re.Match[str]) -> str:
    return " ".join((opening["name"] if opening.re is _OPENING else "").lower().split())


def _fields(block: str) -> Mapping[str, Any]:
    """Parse the block as YAML if possible, else field by field: a colon in a sentence spoils only the field that it is in."""
    parsed = _parsed(block)
    if isinstance(parsed, dict):
        return {_key(name): value for name, value in cast("dict[Any, Any]", parsed).items()}
    block = textwrap.dedent(block)
    starts = [found.start() for found in _FIELD.finditer(block)]
    fields: dict[str, Any] = {}
    for start, end in pairwise((*starts, len(block))):
        name, _, value = block[start:end].partition(":")
        one = _parsed(block[start:end])
        fields[_key(name)] = next(iter(cast("dict[Any, Any]", one).values())) if isinstance(one, dict) else value.strip().strip("\"'")
    return fields


def _parsed(text: str) -> Any:
    """Parse YAML; None if that fails. Aliases are never followed: one can expand to gigabytes. Tags would make values of any type."""
    try:
        # Deep nesting takes seconds to parse, and is no verdict.
        odd = re.search(r"[:\-\[,{?]\s*[&*]\w|(?:^|[:\-\[,{?\s])!", text) or text.count("[") + text.count("{") > _MOST_BRACKETS
        return None if odd else yaml.load(_BARE_CLOCK.sub(r'\1"\2"', text), Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None


def _key(name: object) -> str:
    return _written(name).strip().lower().replace(" ", "_").replace("-", "_")


def _written(value: object) -> str:
    try:
        return str(value)
    except ValueError:
        # Python refuses to write an integer of thousands of digits, which YAML reads from `0xfff…`.
        return ""


def _confidence(value: object) -> Confidence:
    return _CONFIDENCE.get(_key(value), Confidence.LOW)


def _object(value: object) -> AffectedObject | None:
    if isinstance(value, dict):
        parts = {_key(name): _text(part) for name, part in cast("dict[Any, Any]", value).items()}
        name = parts.get("name", "")
        return AffectedObject(kind=parts.get("kind", ""), namespace=parts.get("namespace", ""), name=name) if name else None
    parts = [part.strip() for part in _text(value).split("/") if part.strip()]
    if not parts or [part.lower() for part in parts] == ["none"]:
        return None
    match parts:
        case [name]:
            return AffectedObject(name=name)
        case [kind, name]:
            return AffectedObject(kind=kind, name=name)
        case [kind, namespace, *rest]:
            return AffectedObject(kind=kind, namespace=namespace, name="/".join(rest))
        case _:
            return None


def _ruled_out(item: object) -> RuledOut:
    if isinstance(item, dict):
        fields = {_key(name): part for name, part in cast("dict[Any, Any]", item).items()}
        return RuledOut(_text(fields.get("hypothesis")), _ids(fields.get("evidence")))
    return RuledOut(_text(item), _ids(item))


def _ids(value: object) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_IDS.findall(_text(value, LONGEST_BLOCK))))[:_MOST_ITEMS]


def _text(value: object, limit: int = _LONGEST_VALUE) -> str:
    """Return a scalar, or a list of scalars, as one line; an empty string for anything else."""
    if value is None or isinstance(value, dict):
        return ""
    if isinstance(value, list):
        return ", ".join(_text(item) for item in cast("list[Any]", value)[:_MOST_ITEMS] if not isinstance(item, list))[:limit]
    return " ".join(_written(value)[: 2 * limit].split())[:limit]


_PIECE = re.compile(r"[^\n]*\n|[^\n]+")


class VerdictFilter:
    """Takes a text in pieces and returns what is not part of a verdict block, as soon as that is certain.

    The result does not depend on the pieces, and equals `without_verdict`, white space apart.
    """

    def __init__(self) -> None:
        # The fence of the block that the text is in.
        self._fence = ""
        self._hides = False
        # The line so far, and whether it is returned as it comes.
        self._line: list[str] = []
        self._certain = False

    def feed(self, delta: str) -> str:
        shown: list[str] = []
        for piece in _PIECE.findall(delta):
            if self._certain:
                self._line.append(piece)
                shown.append(piece)
            else:
                self._line = ["".join((*self._line, piece))]
                self._certain = not self._hides and (bool(self._fence) or not may_open_verdict(self._line[0].removesuffix("\n")))
                shown.append(self._line[0] if self._certain else "")
            if piece.endswith("\n"):
                shown.append(self._end_line())
        return "".join(shown)

    def finish(self) -> str:
        """Return the text that was held back."""
        return self._end_line()

    def _end_line(self) -> str:
        line, was_certain = "".join(self._line), self._certain
        self._line, self._certain = [], False
        if self._fence:
            ends = ends_block(line, self._fence)
            was_hidden, self._hides = self._hides, self._hides and not ends
            self._fence = "" if ends else self._fence
            return "" if was_certain or was_hidden else line
        self._fence = fence_of(line)
        self._hides = opens_verdict(line)
        return "" if was_certain or self._hides else line
