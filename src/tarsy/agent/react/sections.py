"""Finds the sections of a ReAct turn in text that was meant to follow the format.

Every pattern is bounded where it could match the same text twice, so that a megabyte of any text takes linear time.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class SectionKind(StrEnum):
    # The text before the first header.
    PREAMBLE = "preamble"
    THOUGHT = "thought"
    ACTION = "action"
    INPUT = "input"
    OBSERVATION = "observation"
    ANSWER = "answer"


@dataclass(frozen=True, slots=True)
class ReActSection:
    kind: SectionKind
    text: str


@dataclass(frozen=True, slots=True)
class Header:
    """The position of a section's name, emphasis and colon included."""

    kind: SectionKind
    start: int
    end: int
    # As written, to tell a header from a key of the same name in YAML arguments.
    name: str


# The tags that local models write around their reasoning.
REASONING_TAGS = ("think", "thinking")
# The names of the sections; the words of one may also be joined by `_` or `-`, or not be separated.
SECTION_NAMES = {
    "final answer": SectionKind.ANSWER,
    "final analysis": SectionKind.ANSWER,
    "final response": SectionKind.ANSWER,
    "action input": SectionKind.INPUT,
    "action": SectionKind.ACTION,
    "thoughts": SectionKind.THOUGHT,
    "thought": SectionKind.THOUGHT,
    "observations": SectionKind.OBSERVATION,
    "observation": SectionKind.OBSERVATION,
}
_LENIENT_NAMES = {
    **SECTION_NAMES,
    "tool input": SectionKind.INPUT,
    "tool arguments": SectionKind.INPUT,
    "tool args": SectionKind.INPUT,
    "tool name": SectionKind.ACTION,
    "tool": SectionKind.ACTION,
    "arguments": SectionKind.INPUT,
    "args": SectionKind.INPUT,
    "parameters": SectionKind.INPUT,
    "input": SectionKind.INPUT,
}
_KINDS = {name.replace(" ", ""): kind for name, kind in _LENIENT_NAMES.items()}

# Quote marks, headings, bullets and numbers before the name; emphasis around it; the colon, unless the line ends there.
_LINE = (
    r"^(?:[ \t]{{0,8}}(?:\#{{1,6}}|>|-|\*(?=[ \t])|\d{{1,2}}[.)])){{0,3}}[ \t]{{0,8}}"
    r"(?P<open>[*_`]{{1,3}})?(?P<name>{names})(?(open)[*_`]{{0,3}})[ \t]{{0,4}}"
    r"(?:[:\uff1a](?(open)[*_`]{{0,3}})|(?=\n|\Z))"
)


def _line_header(names: Iterable[str]) -> re.Pattern[str]:
    spelled = "|".join(name.replace(" ", "[ _-]?") for name in names)
    return re.compile(_LINE.format(names=spelled), re.IGNORECASE | re.MULTILINE)


LINE_HEADER, LENIENT_LINE_HEADER = _line_header(SECTION_NAMES), _line_header(_LENIENT_NAMES)

# In the middle of a line only the names as the format spells them count, and only with their colon.
_MIDDLE_HEADER = re.compile(
    r"(?<=[\s.!?;)\]}\"'>*_`])(?P<open>[*_`]{1,3})?(?P<name>Final Answer|Action Input|Action|Thought|Observation)"
    r"(?(open)[*_`]{0,3})[ \t]{0,2}:(?(open)[*_`]{0,3})"
)

# After these words a section is mentioned, not begun: "I cannot give a Final Answer: …".
_BEFORE_MENTION = frozenset(
    {"a", "an", "the", "my", "your", "this", "that", "no", "next", "recommended", "required", "for", "of", "to", "with", "and", "or"}
)
_LAST_WORD = re.compile(r"([A-Za-z']{1,16})[ \t]{1,4}\Z")


def line_headers(text: str, pattern: re.Pattern[str] = LINE_HEADER) -> list[Header]:
    """The headers at the beginnings of lines."""
    return [_header(found) for found in pattern.finditer(text)]


def all_headers(text: str) -> list[Header]:
    """The headers at the beginnings of lines and in the middle of them."""
    headers = {header.start: header for header in line_headers(text)}
    covered = {header.end for header in headers.values()}
    for found in _MIDDLE_HEADER.finditer(text):
        word = _LAST_WORD.search(text[max(0, found.start() - 20) : found.start()])
        is_mentioned = word is not None and word[1].lower() in _BEFORE_MENTION
        if found.end() not in covered and not is_mentioned:
            header = _header(found)
            headers.setdefault(header.start, header)
    return [headers[start] for start in sorted(headers)]


def cut(text: str, headers: Iterable[Header]) -> list[ReActSection]:
    """Split `text` at its headers. An answer reaches to the end, headers in it included."""
    sections: list[ReActSection] = []
    current, begin = Header(SectionKind.PREAMBLE, 0, 0, ""), 0
    for header in headers:
        if current.kind is SectionKind.ANSWER:
            break
        # A lower-case key (`action: list`) among arguments written as YAML is no header.
        is_argument = current.kind is SectionKind.INPUT and header.name.islower() and not current.name.islower()
        if header.start < begin or is_argument:
            continue
        sections.append(ReActSection(current.kind, text[begin : header.start].strip()))
        current, begin = header, header.end
    rest = text[begin:]
    if current.kind is SectionKind.ANSWER:
        rest = without_repeated_answer_headers(rest)
    sections.append(ReActSection(current.kind, rest.strip()))
    return [section for section in sections if section.text or section.kind is not SectionKind.PREAMBLE]


def without_repeated_answer_headers(answer: str) -> str:
    """Remove `Final Answer:` headers inside an answer."""
    kept: list[str] = []
    begin = 0
    for header in line_headers(answer):
        if header.kind is SectionKind.ANSWER:
            kept.append(answer[begin : header.start])
            begin = header.end
    return "".join([*kept, answer[begin:]])


def split_reasoning(text: str) -> tuple[str, str]:
    """Return a leading `<think>…</think>`, which local models write before they answer, and the rest of the text."""
    stripped = text.lstrip()
    for tag in REASONING_TAGS:
        opening, closing = f"<{tag}>", f"</{tag}>"
        if stripped.startswith(opening) and (end := stripped.find(closing)) >= 0:
            return stripped[len(opening) : end].strip(), stripped[end + len(closing) :]
    return "", text


def kind_of(name: str) -> SectionKind:
    return _KINDS[name.lower().replace(" ", "").replace("_", "").replace("-", "")]


def _header(found: re.Match[str]) -> Header:
    return Header(kind_of(found["name"]), found.start(), found.end(), found["name"])
