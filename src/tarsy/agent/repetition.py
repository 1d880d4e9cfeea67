"""Pure module: noticing that a model goes round in circles."""

from collections.abc import Sequence
from enum import StrEnum

from tarsy.domain.conversation import ConversationMessage, Role

# Asking the same question twice can be polling; three times deserves a word, five times an end.
NUDGE_AFTER = 3
STOP_AFTER = 5

# A loop inside one answer: the same short passage over and over.
_LOOP_TAIL = 4_000
_LOOP_PERIOD = 200


class Repetition(StrEnum):
    NONE = "none"
    NUDGE = "nudge"
    STOP = "stop"


def streak(messages: Sequence[ConversationMessage]) -> int:
    """How many of the newest turns say exactly the same: the same calls, or the same text when there are none."""
    turns = [_essence(message) for message in messages if message.role is Role.ASSISTANT]
    count = 0
    for turn in reversed(turns):
        if turn != turns[-1]:
            break
        count += 1
    return count


def judge(messages: Sequence[ConversationMessage]) -> Repetition:
    """Decide whether the newest turn repeats the ones before it too often."""
    count = streak(messages[-STOP_AFTER * 12 :])
    if count >= STOP_AFTER:
        return Repetition.STOP
    return Repetition.NUDGE if count == NUDGE_AFTER else Repetition.NONE


def loops_within(text: str) -> bool:
    """Whether a text ends in the same passage repeated, as models do that have lost the thread."""
    tail = text[-_LOOP_TAIL:]
    if len(tail) < _LOOP_TAIL:
        return False
    passage = tail[-_LOOP_PERIOD:]
    period = tail.rfind(passage, 0, len(tail) - 1)
    distance = len(tail) - _LOOP_PERIOD - period
    return period >= 0 and distance <= _LOOP_PERIOD and tail[:-distance] == tail[distance:]


def _essence(message: ConversationMessage) -> tuple[object, ...]:
    if message.tool_calls:
        return tuple(sorted((call.name, call.arguments) for call in message.tool_calls))
    return (message.content.strip(),)
