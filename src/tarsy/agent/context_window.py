"""Keeps a conversation within the context window of its model. A tool result that is removed leaves a pointer that says how to read it again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from tarsy.config.resolve.resolved import UNKNOWN_MODEL
from tarsy.domain.conversation import ConversationMessage, Message, Role
from tarsy.domain.llm import ResolvedProvider
from tarsy.domain.tool import ToolDefinition
from tarsy.kit.text import cut_middle, estimate_tokens

# Room for the answer and for the error of the estimate.
USABLE_SHARE = 0.75
# Compacting goes below the limit at once, so that not every following turn compacts again.
TARGET_SHARE = 0.5
# The most bytes of earlier work in a prompt.
_MOST_CONTEXT = 300_000
# As tokens are estimated.
BYTES_PER_TOKEN = 4
# A shorter result is not worth a pointer.
_WORTH_COMPACTING = 400
# Tokens of the notice in a text that was cut.
_CUT_NOTICE = 24
# Every message costs a few tokens beyond its text.
_OVERHEAD = 8

_LEFT_OUT = (
    "[Your {count} oldest turns were left out here to make room. What you concluded from them is in your later messages; "
    "do not repeat their calls unless you need the details again.]"
)

Pointer = Callable[[Message], str | None]


@dataclass(frozen=True, slots=True)
class Compaction:
    """The conversation as it may be sent, and the (id, new content) of the stored messages that changed."""

    messages: tuple[Message, ...]
    replaced: tuple[tuple[str, str], ...]


def window_of(provider: ResolvedProvider) -> int:
    return provider.context_window or UNKNOWN_MODEL


def context_limit(provider: ResolvedProvider) -> int:
    """Return how many bytes of earlier work a prompt may hold: a quarter of the window, within a fixed maximum."""
    return min(window_of(provider) // 4 * BYTES_PER_TOKEN, _MOST_CONTEXT)


def side_limit(provider: ResolvedProvider) -> int:
    """Return how many bytes of supporting text a prompt may hold: a runbook, the conversation so far."""
    return context_limit(provider) // 2


def tokens_of(message: ConversationMessage) -> int:
    calls = sum(estimate_tokens(call.arguments) + estimate_tokens(call.name) for call in message.tool_calls)
    return estimate_tokens(message.content) + calls + _OVERHEAD


def tokens_of_tools(tools: tuple[ToolDefinition, ...]) -> int:
    return sum(estimate_tokens(f"{tool.name}{tool.description}{tool.parameters_schema}") for tool in tools)


class TokenCounter:
    """Counts the tokens of each message of a conversation once, and remembers which messages cannot get any shorter."""

    def __init__(self) -> None:
        self._tokens: dict[str, int] = {}
        self._final: set[str] = set()

    def count(self, message: Message) -> int:
        if message.id not in self._tokens:
            self._tokens[message.id] = tokens_of(message.body)
        return self._tokens[message.id]

    def is_final(self, message: Message) -> bool:
        return message.id in self._final

    def finalize(self, message: Message) -> None:
        """Count a message that has its last form now, and was longer before."""
        self._final.add(message.id)
        self._tokens[message.id] = tokens_of(message.body)


def fit(messages: Sequence[Message], counter: TokenCounter, *, window: int, tool_tokens: int, pointer: Pointer) -> Compaction:
    """Replace the oldest tool results by pointers until the conversation fits.

    `pointer` returns the text that replaces a message, or None if it is no tool result or already a pointer. The newest turn's
    results are replaced last, and only as many as necessary: the model has not read them yet.
    """
    used = sum(map(counter.count, messages)) + tool_tokens
    if used <= window * USABLE_SHARE:
        return Compaction(tuple(messages), ())
    fitted = list(messages)
    replaced: list[tuple[str, str]] = []
    newest = max((index for index, message in enumerate(messages) if message.body.role is Role.ASSISTANT), default=0)
    for index, message in enumerate(messages):
        if used <= window * (TARGET_SHARE if index < newest else USABLE_SHARE):
            break
        if counter.is_final(message):
            continue
        stand_in = pointer(message) if len(message.body.content) > _WORTH_COMPACTING else None
        if stand_in is not None and len(stand_in) < len(message.body.content):
            fitted[index] = replace(message, body=replace(message.body, content=stand_in))
            replaced.append((message.id, stand_in))
        used -= counter.count(message)
        counter.finalize(fitted[index])
        used += counter.count(fitted[index])
    return Compaction(tuple(fitted), tuple(replaced))


def cut_to(messages: Sequence[ConversationMessage], limit: int) -> tuple[ConversationMessage, ...]:
    """Cut the longest messages between the opening and the last one until the conversation has at most `limit` tokens, if that can be reached."""
    opening = next((index for index, message in enumerate(messages) if message.role is Role.ASSISTANT), len(messages))
    over = sum(map(tokens_of, messages)) - limit
    between = messages[opening:-1]
    if over <= 0 or not between:
        return tuple(messages)
    lengths = sorted((estimate_tokens(message.content) for message in between), reverse=True)
    # The length to which so many of the longest are cut for the others to stay as they are.
    each = next(
        (
            cut
            for count, length in enumerate(lengths, start=1)
            if (cut := (sum(lengths[:count]) - over) // count) >= (lengths[count] if count < len(lengths) else 0) and cut < length
        ),
        0,
    )
    size = max(each - _CUT_NOTICE, 0) * BYTES_PER_TOKEN
    cut = (replace(one, content=cut_middle(one.content, size).text) if estimate_tokens(one.content) > each else one for one in between)
    return (*messages[:opening], *cut, messages[-1])


def without_oldest_turns(
    messages: Sequence[ConversationMessage], tokens: Sequence[int], *, window: int, tool_tokens: int
) -> tuple[ConversationMessage, ...]:
    """Leave out the oldest turns of a conversation that is too long even with every result compacted.

    `tokens` are those of the messages. A turn is an answer with everything up to the next answer, so calls and results stay together. The opening and the
    newest turn always stay.
    """
    used = sum(tokens) + tool_tokens
    starts = [index for index, message in enumerate(messages) if message.role is Role.ASSISTANT]
    if used <= window * USABLE_SHARE or not starts:
        return tuple(messages)
    keep_from = starts[0]
    for index, following in pairwise(starts):
        if used <= window * TARGET_SHARE:
            break
        used -= sum(tokens[index:following])
        keep_from = following
    left_out = sum(start < keep_from for start in starts)
    note = (ConversationMessage(Role.USER, _LEFT_OUT.format(count=left_out)),) if left_out else ()
    return (*messages[: starts[0]], *note, *messages[keep_from:])
