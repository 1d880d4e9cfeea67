"""Pure module: noticing that a model goes round in circles, from turn to turn or within one answer."""

import json
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import StrEnum

# Asking the same question twice can be polling; three times deserves a word, five times an end.
NUDGE_AFTER = 3
STOP_AFTER = 5
# A model that was cut off in a loop gets one more chance; one that loops again is lost.
STOP_AFTER_LOOPS = 2
# Two or three steps over and over are a circle as well.
_LONGEST_CIRCLE = 3
# How many of the newest turns can matter.
TURNS_THAT_MATTER = STOP_AFTER * _LONGEST_CIRCLE + 1
# Beside different calls, a short phrase is a habit ("Let me check the next one."); a whole paragraph again is not.
_TELLING_WORDS = 200

# A loop within an answer: many times the same, and much of it. No rule across a page and no quoted log is this long without any change.
_LOOP_TIMES = 6
_SHORTEST_LOOP = 3_000
_LONGEST_PERIOD = 2_000
_LOOK_BACK = _LOOP_TIMES * _LONGEST_PERIOD
_LOOK_EVERY = 500

LOOP_NOTE = "[The same passage followed over and over, until this message was cut off.]"


@dataclass(frozen=True, slots=True)
class Said:
    """What a turn comes to: its words, and the tools it asks for with their arguments."""

    words: str
    calls: tuple[tuple[str, str], ...] = ()

    @property
    def was_cut_off(self) -> bool:
        return self.words.endswith(LOOP_NOTE)


class CircleKind(StrEnum):
    CALLS = "calls"
    WORDS = "words"
    LOOP = "loop"


@dataclass(frozen=True, slots=True)
class Circle:
    """How the newest turns repeat each other; `stop` when a word to the model would not help any more."""

    kind: CircleKind
    times: int
    stop: bool
    tools: tuple[str, ...] = ()


def find_circle(turns: Sequence[Said]) -> Circle | None:
    """Judge the newest turn by those before it. The same turns always get the same judgement; a word is due once per circle."""
    if not turns:
        return None
    newest = turns[-TURNS_THAT_MATTER:]
    if newest[-1].was_cut_off:
        cut_off = _span([turn.was_cut_off for turn in newest], 1)
        return Circle(CircleKind.LOOP, cut_off, stop=cut_off >= STOP_AFTER_LOOPS)
    return _circle_of_calls(newest) or _circle_of_words(newest)


def _circle_of_calls(turns: Sequence[Said]) -> Circle | None:
    if len(turns) < NUDGE_AFTER or not turns[-1].calls:
        return None
    essences = [_essence(turn.calls) for turn in turns]
    for length in range(1, _LONGEST_CIRCLE + 1):
        span = _span(essences, length)
        round_of_turns = turns[-length:]
        if _matters(span, length) and all(turn.calls for turn in round_of_turns):
            tools = tuple(dict.fromkeys(name for turn in round_of_turns for name, _ in turn.calls))
            return Circle(CircleKind.CALLS, span // length, span >= STOP_AFTER * length, tools)
    return None


def _circle_of_words(turns: Sequence[Said]) -> Circle | None:
    words = [" ".join(turn.words.split()) for turn in turns]
    if turns[-1].calls and len(words[-1]) < _TELLING_WORDS:
        return None
    times = _span(words, 1)
    return Circle(CircleKind.WORDS, times, stop=times >= STOP_AFTER) if _matters(times, 1) else None


def _matters(span: int, length: int) -> bool:
    return span == NUDGE_AFTER * length or span >= STOP_AFTER * length


def _span(items: Sequence[Hashable], length: int) -> int:
    """How many of the newest items go round in a circle of `length`."""
    span = length
    while span < len(items) and items[-1 - span] == items[length - 1 - span]:
        span += 1
    return span


def _essence(calls: tuple[tuple[str, str], ...]) -> Hashable:
    return tuple(sorted((name, _canonical(arguments)) for name, arguments in calls))


def _canonical(arguments: str) -> str:
    """Arguments without the freedom of writing them differently."""
    try:
        return json.dumps(json.loads(arguments), sort_keys=True)
    except (ValueError, RecursionError):
        return " ".join(arguments.split())


@dataclass(frozen=True, slots=True)
class Loop:
    """Where the end of a text begins to repeat, and after how many characters."""

    start: int
    period: int


def find_loop(text: str) -> Loop | None:
    """The loop a text ends in, as models write that have lost the thread."""
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
    """A text with its loop told once; the rest gives way to a note. Where the loop was cut off makes no difference."""
    loop = find_loop(text)
    return text if loop is None else f"{text[: loop.start + loop.period].rstrip()}\n\n{LOOP_NOTE}"


def _looping_period(text: str) -> int:
    """How long the passage is that the end of a text repeats, 0 if it does not."""
    tail = text[-_LOOK_BACK:]
    # Backwards, because only `str.find` is linear whatever it looks for.
    backwards = tail[::-1]
    period = backwards.find(backwards[:_LONGEST_PERIOD], 1, 2 * _LONGEST_PERIOD + 1)
    needed = max(_SHORTEST_LOOP, _LOOP_TIMES * period)
    loops = period > 0 and len(tail) >= needed and tail[-needed:-period] == tail[period - needed :]
    return period if loops else 0


class LoopWatch:
    """Follows a text while it is being written."""

    def __init__(self) -> None:
        self._tail = ""
        self._unseen = 0

    def sees_loop(self, delta: str) -> bool:
        """Take what was written and say whether it has become a loop; looks now and then, not at every word."""
        self._tail = (self._tail + delta)[-_LOOK_BACK:]
        self._unseen += len(delta)
        if self._unseen < _LOOK_EVERY:
            return False
        self._unseen = 0
        return _looping_period(self._tail) > 0
