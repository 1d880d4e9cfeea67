"""Detects that a model repeats itself, from turn to turn or within one answer."""

import json
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tarsy.domain.conversation import ToolCall

# The same call twice can be polling; after three times the model is nudged, after five it is stopped.
NUDGE_AFTER = 3
STOP_AFTER = 5
# A model that was cut off in a loop gets one more chance, and is stopped if it loops again.
STOP_AFTER_LOOPS = 2
# A round of two or three turns over and over is a repetition as well.
_LONGEST_ROUND = 3
# As many of the newest turns are compared.
COMPARED_TURNS = STOP_AFTER * _LONGEST_ROUND + 1
# Beside different calls, a repeated short phrase is a habit ("Let me check the next one."); a repeated paragraph is not.
_PARAGRAPH = 200

# A loop within an answer: many times the same, and much of it. No rule across a page and no quoted log is this long without any change.
_LOOP_TIMES = 6
_SHORTEST_LOOP = 3_000
_LONGEST_PERIOD = 2_000
_TAIL = _LOOP_TIMES * _LONGEST_PERIOD
_CHECK_EVERY = 500

LOOP_NOTE = "[The same passage followed over and over, until this message was cut off.]"


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """The text and the tool calls of an answer."""

    text: str
    calls: tuple[ToolCall, ...] = ()

    @property
    def was_cut_off(self) -> bool:
        return self.text.endswith(LOOP_NOTE)


class RepetitionKind(StrEnum):
    CALLS = "calls"
    WORDS = "words"
    LOOP = "loop"


@dataclass(frozen=True, slots=True)
class Repetition:
    """A repetition among the newest turns; `stop` if a nudge would not help any more."""

    kind: RepetitionKind
    times: int
    stop: bool
    tools: tuple[str, ...] = ()


def find_repetition(turns: Sequence[StoredTurn]) -> Repetition | None:
    """Compare the newest turn with those before it. The same turns always give the same result, so that a repetition leads to one nudge."""
    if not turns:
        return None
    newest = turns[-COMPARED_TURNS:]
    if newest[-1].was_cut_off:
        cut_off = _span([turn.was_cut_off for turn in newest], 1)
        return Repetition(RepetitionKind.LOOP, cut_off, stop=cut_off >= STOP_AFTER_LOOPS)
    if repetition := _repeated_calls(newest):
        return repetition
    words = [" ".join(turn.text.split()) for turn in newest]
    if newest[-1].calls and len(words[-1]) < _PARAGRAPH:
        return None
    times = _span(words, 1)
    return Repetition(RepetitionKind.WORDS, times, stop=times >= STOP_AFTER) if _matters(times, 1) else None


def _repeated_calls(turns: Sequence[StoredTurn]) -> Repetition | None:
    if len(turns) < NUDGE_AFTER or not turns[-1].calls:
        return None
    calls = [tuple(sorted((call.name, _canonical(call.arguments)) for call in turn.calls)) for turn in turns]
    for length in range(1, _LONGEST_ROUND + 1):
        span = _span(calls, length)
        round_of_turns = turns[-length:]
        if _matters(span, length) and all(turn.calls for turn in round_of_turns):
            tools = tuple(dict.fromkeys(call.name for turn in round_of_turns for call in turn.calls))
            return Repetition(RepetitionKind.CALLS, span // length, span >= STOP_AFTER * length, tools)
    return None


def _matters(span: int, length: int) -> bool:
    return span == NUDGE_AFTER * length or span >= STOP_AFTER * length


def _span(items: Sequence[Hashable], length: int) -> int:
    """Count how many of the newest items repeat with the period `length`."""
    span = length
    while span < len(items) and items[-1 - span] == items[length - 1 - span]:
        span += 1
    return span


def _canonical(arguments: str) -> str:
    """Return arguments in one layout."""
    try:
        return json.dumps(json.loads(arguments), sort_keys=True)
    except (ValueError, RecursionError):
        return " ".join(arguments.split())


@dataclass(frozen=True, slots=True)
class Loop:
    """The position from which a text repeats itself, and the length of the repeated passage."""

    start: int
    period: int


def find_loop(text: str) -> Loop | None:
    """Return the loop that a text ends in, if it does."""
    period = _looping_period(text)
    if not period:
        return None
    start = len(text) - max(_SHORTEST_LOOP, _LOOP_TIMES * period)
    while start >= period and text[start - period : start] == text[start : start + period]:
        start -= period
    while start > 0 and text[start - 1] == text[start - 1 + period]:
        start -= 1
    return Loop(start, period)


def without_loop(text: str) -> str:
    """Return a text with its loop shown once, followed by a note. The result does not depend on where the loop was cut off."""
    loop = find_loop(text)
    return text if loop is None else f"{text[: loop.start + loop.period].rstrip()}\n\n{LOOP_NOTE}"


def _looping_period(text: str) -> int:
    """Return the length of the passage that the end of a text repeats, 0 if there is none."""
    tail = text[-_TAIL:]
    # Reversed, because only `str.find` is linear for any needle.
    backwards = tail[::-1]
    period = backwards.find(backwards[:_LONGEST_PERIOD], 1, 2 * _LONGEST_PERIOD + 1)
    needed = max(_SHORTEST_LOOP, _LOOP_TIMES * period)
    loops = period > 0 and len(tail) >= needed and tail[-needed:-period] == tail[period - needed :]
    return period if loops else 0


class LoopWatch:
    """Watches a text while it is written."""

    def __init__(self) -> None:
        self._tail = ""
        self._unchecked = 0

    def sees_loop(self, delta: str) -> bool:
        """Take the next piece of text and return whether it has become a loop; checked every few hundred characters."""
        self._tail = (self._tail + delta)[-_TAIL:]
        self._unchecked += len(delta)
        if self._unchecked < _CHECK_EVERY:
            return False
        self._unchecked = 0
        return _looping_period(self._tail) > 0
