"""Pure module: keeping a conversation within its model's window.

What is taken out is only moved out of sight: the pointer left behind says how to read it again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from tarsy.config.resolved import ResolvedProvider
from tarsy.domain.conversation import ConversationMessage, Message, Role
from tarsy.kit.text import estimate_tokens

# What a model of unknown size is taken to have.
DEFAULT_WINDOW = 128_000
# Room for the answer and for the error of the estimate.
USABLE_SHARE = 0.75
# Compacting goes below the limit at once, so that not every following turn compacts again.
TARGET_SHARE = 0.5
# What a model is told of earlier work at the most, in characters.
_MOST_CONTEXT = 300_000
_CHARACTERS_PER_TOKEN = 4
# A shorter result is not worth a pointer.
_WORTH_COMPACTING = 400
# Every message costs a few tokens beyond its text.
_OVERHEAD = 8

_LEFT_OUT = (
    "[Your {count} oldest turns were left out here to make room. What you concluded from them is in your later messages; "
    "do not repeat their calls unless you need the details again.]"
)

Pointer = Callable[[Message], str | None]


@dataclass(frozen=True, slots=True)
class Compaction:
    """The conversation as it may be sent, and which stored messages changed."""

    messages: tuple[Message, ...]
    replaced: tuple[tuple[str, str], ...]


def context_limit(provider: ResolvedProvider) -> int:
    """How many characters of earlier work fit a model: a quarter of its window, and never more than anybody would read."""
    return min((provider.context_window or DEFAULT_WINDOW) // 4 * _CHARACTERS_PER_TOKEN, _MOST_CONTEXT)


def tokens_of(message: ConversationMessage) -> int:
    calls = sum(estimate_tokens(call.arguments) + estimate_tokens(call.name) for call in message.tool_calls)
    return estimate_tokens(message.content) + calls + _OVERHEAD


def fit(messages: Sequence[Message], *, window: int, tool_tokens: int, pointer: Pointer) -> Compaction:
    """Replace the oldest tool results by pointers until the conversation fits.

    `pointer` says what stands in for a message, or None when it is no tool result (or already a pointer). The newest turn's
    results are touched last: the model has not read them yet.
    """
    used = sum(tokens_of(message.body) for message in messages) + tool_tokens
    if used <= window * USABLE_SHARE:
        return Compaction(tuple(messages), ())
    fitted = list(messages)
    replaced: list[tuple[str, str]] = []
    for index, message in enumerate(messages):
        if used <= window * TARGET_SHARE:
            break
        stand_in = pointer(message) if len(message.body.content) > _WORTH_COMPACTING else None
        if stand_in is None or len(stand_in) >= len(message.body.content):
            continue
        used -= estimate_tokens(message.body.content) - estimate_tokens(stand_in)
        fitted[index] = replace(message, body=replace(message.body, content=stand_in))
        replaced.append((message.id, stand_in))
    return Compaction(tuple(fitted), tuple(replaced))


def without_oldest_turns(messages: Sequence[ConversationMessage], *, window: int, tool_tokens: int) -> tuple[ConversationMessage, ...]:
    """Leave out the oldest turns of a conversation that is too long even with every result compacted.

    A turn is an answer with everything up to the next answer, so calls and results stay together. The opening and the
    newest turn always stay.
    """
    used = sum(tokens_of(message) for message in messages) + tool_tokens
    starts = [index for index, message in enumerate(messages) if message.role is Role.ASSISTANT]
    if used <= window * USABLE_SHARE or not starts:
        return tuple(messages)
    keep_from = starts[0]
    for index, following in pairwise(starts):
        if used <= window * TARGET_SHARE:
            break
        used -= sum(tokens_of(message) for message in messages[index:following])
        keep_from = following
    left_out = sum(start < keep_from for start in starts)
    note = (ConversationMessage(Role.USER, _LEFT_OUT.format(count=left_out)),) if left_out else ()
    return (*messages[: starts[0]], *note, *messages[keep_from:])
