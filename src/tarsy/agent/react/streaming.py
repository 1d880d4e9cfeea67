"""Routes the text of a ReAct turn to timeline events while it is written.

For a turn that follows the format, the pieces of a section add up to exactly what the parser makes of it. Any other turn is streamed as a
thought, and the parser decides when it is complete.
"""

import re

from tarsy.agent.answer_text import TextPiece
from tarsy.agent.react.sections import LINE_HEADER, REASONING_TAGS, SECTION_NAMES, SectionKind, kind_of
from tarsy.domain.timeline import TimelineEventType

# Calls are not shown, nor are observations: the model invented them.
_SHOWN_AS = {
    SectionKind.PREAMBLE: TimelineEventType.LLM_THINKING,
    SectionKind.THOUGHT: TimelineEventType.LLM_THINKING,
    SectionKind.ANSWER: TimelineEventType.FINAL_ANALYSIS,
}

# No header with all its decoration is longer; a line beyond this length is not one.
_LONGEST_HEADER = 64
_NAMES = tuple(spelling for name in SECTION_NAMES for spelling in {name, name.replace(" ", "")})
_DECORATION = re.compile(r"^(?:[ \t]*(?:#{1,6}|>|-|\*|\d{1,2}[.)]?)){0,3}[ \t]*[*_`]{0,3}")
_AFTER_NAME = re.compile(r"[*_`]{0,3}[ \t]{0,4}[:\uff1a]?[*_`]{0,3}")


class ReActRouter:
    """Shows a Thought as thinking and a Final Answer as the analysis, each piece as soon as its section is certain."""

    def __init__(self) -> None:
        self._reasoning = _ReasoningTags()
        # As what the current section is shown.
        self._shown_as: TimelineEventType | None = TimelineEventType.LLM_THINKING
        self._line = ""
        self._at_line_start = True
        self._called = False
        # White space is given out only before more text, so that no section ends or begins with it.
        self._space: list[str] = []
        self._begun: set[TimelineEventType | None] = set()
        self._new_part = False

    def route(self, delta: str) -> list[TextPiece]:
        """Take the next characters of the turn; return those whose section is certain."""
        return self._take_all(self._reasoning.feed(delta))

    def finish(self) -> list[TextPiece]:
        """End the turn; return the text that was held back."""
        pieces = self._take_all(self._reasoning.finish())
        if self._line:
            self._decide(pieces)
        return _merged(pieces)

    def _take_all(self, parts: list[tuple[bool, str]]) -> list[TextPiece]:
        pieces: list[TextPiece] = []
        for inside, text in parts:
            if inside:
                self._emit(text, pieces)
                self._new_part = not self._reasoning.is_open
                continue
            for line in text.splitlines(keepends=True):
                if not self._at_line_start:
                    self._emit(line, pieces)
                else:
                    self._line += line
                    if line.endswith("\n") or not _may_become_header(self._line):
                        self._decide(pieces)
                if line.endswith("\n"):
                    self._at_line_start = True
        return _merged(pieces)

    def _decide(self, pieces: list[TextPiece]) -> None:
        line, self._line = self._line, ""
        self._at_line_start = False
        header = LINE_HEADER.match(line)
        if header is None or not self._enter(kind_of(header["name"])):
            self._emit(line, pieces)
        else:
            self._emit(line[header.end() :], pieces)

    def _enter(self, kind: SectionKind) -> bool:
        """Enter a section; return False if its name is only a word of the current one."""
        if self._shown_as is TimelineEventType.FINAL_ANALYSIS:
            return kind is SectionKind.ANSWER
        # Text after a call is invented, since its result is not known yet.
        if not self._called:
            self._shown_as = _SHOWN_AS.get(kind)
            self._new_part = True
        self._called = self._called or kind is SectionKind.INPUT
        return True

    def _emit(self, text: str, pieces: list[TextPiece]) -> None:
        body = text.strip()
        if not body:
            self._space.append(text)
            return
        lead = len(text) - len(text.lstrip())
        before = ("".join(self._space) + text[:lead]).replace("\r\n", "\n")
        if self._shown_as not in self._begun:
            before = ""
        elif self._new_part:
            before = "\n\n"
        self._begun.add(self._shown_as)
        self._new_part = False
        self._space = [text[lead + len(body) :]]
        if self._shown_as:
            pieces.append((self._shown_as, before + body.replace("\r\n", "\n")))


class _ReasoningTags:
    """Separates the text of a leading `<think>…</think>` from what follows it, and drops the tags."""

    def __init__(self) -> None:
        self._held = ""
        self._closing: str | None = None
        self._over = False

    @property
    def is_open(self) -> bool:
        return self._closing is not None and not self._over

    def feed(self, delta: str) -> list[tuple[bool, str]]:
        if self._over:
            return [(False, delta)]
        self._held += delta
        if self._closing is not None:
            return self._until_closing()
        self._held = begin = self._held.lstrip()
        for tag in REASONING_TAGS:
            if begin.startswith(f"<{tag}>"):
                self._closing = f"</{tag}>"
                self._held = begin[len(tag) + 2 :]
                return self._until_closing()
            if f"<{tag}>".startswith(begin):
                return []
        self._over = True
        return self.finish()

    def finish(self) -> list[tuple[bool, str]]:
        held, self._held = self._held, ""
        return [(self.is_open, held)] if held else []

    def _until_closing(self) -> list[tuple[bool, str]]:
        closing = self._closing or ""
        text, found, rest = self._held.partition(closing)
        if found:
            self._over, self._held = True, ""
            return [(True, text), (False, rest)]
        # The last characters may be the beginning of the closing tag.
        keep = len(closing) - 1
        self._held = text[-keep:]
        return [(True, text[:-keep])]


def _may_become_header(line: str) -> bool:
    """Whether more characters could make a section's header of this beginning of a line."""
    if len(line) > _LONGEST_HEADER:
        return False
    rest = _DECORATION.sub("", line, count=1).lower()
    words = rest.replace("_", " ").replace("-", " ")
    if any(name.startswith(words) for name in _NAMES):
        return True
    longest = max((len(name) for name in _NAMES if words.startswith(name)), default=0)
    return longest > 0 and _AFTER_NAME.fullmatch(rest[longest:]) is not None


def _merged(pieces: list[TextPiece]) -> list[TextPiece]:
    merged: list[TextPiece] = []
    for kind, text in pieces:
        if merged and merged[-1][0] is kind:
            merged[-1] = (kind, merged[-1][1] + text)
        else:
            merged.append((kind, text))
    return merged
