"""The text of a model's answer while it is written: masked, routed to timeline events, without its verdict, continued where it was cut."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, assert_never

from tarsy.agent.evidence.verdict import VerdictFilter
from tarsy.agent.ports import Mask
from tarsy.domain.conversation import Message, Role
from tarsy.domain.llm import (
    Chunk,
    CodeExecutionChunk,
    ErrorChunk,
    FinishChunk,
    GroundingChunk,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
)
from tarsy.domain.timeline import TimelineEventType
from tarsy.domain.usage import TokenUsage


class ChunkMasker:
    """Masks the chunks of one answer. Use once."""

    def __init__(self, mask: Mask) -> None:
        self._mask = mask
        self._text, self._thinking = mask.stream(), mask.stream()

    def feed(self, chunk: Chunk) -> Iterator[Chunk]:
        """Take the next chunk; get those that can be shown by now, in the order in which they were said."""
        mask = self._mask
        match chunk:
            case TextChunk(content):
                yield from _words(ThinkingChunk, self._thinking.finish())
                yield from _words(TextChunk, self._text.feed(content))
            case ThinkingChunk(content):
                yield from _words(TextChunk, self._text.finish())
                yield from _words(ThinkingChunk, self._thinking.feed(content))
            case ToolCallChunk(call_id, name, arguments):
                yield from self.finish()
                yield ToolCallChunk(call_id, mask(name), mask(arguments))
            case ErrorChunk(message, code, retryable):
                yield from self.finish()
                yield ErrorChunk(mask(message), code, retryable)
            case CodeExecutionChunk(code, result):
                yield CodeExecutionChunk(mask(code), mask(result))
            case GroundingChunk():
                yield _grounding(chunk, mask)
            case TokenUsage() | FinishChunk():
                # Some vendors send usage along with every piece of text, so it ends nothing.
                yield chunk
            case _:
                assert_never(chunk)

    def finish(self) -> Iterator[Chunk]:
        """What was held back and has nothing more to wait for."""
        yield from _words(ThinkingChunk, self._thinking.finish())
        yield from _words(TextChunk, self._text.finish())


def _words(kind: type[TextChunk | ThinkingChunk], content: str) -> Iterator[Chunk]:
    if content:
        yield kind(content)


def _grounding(chunk: GroundingChunk, mask: Mask) -> GroundingChunk:
    return replace(
        chunk,
        web_search_queries=tuple(map(mask, chunk.web_search_queries)),
        sources=tuple(replace(source, uri=mask(source.uri), title=mask(source.title)) for source in chunk.sources),
        supports=tuple(replace(support, text=mask(support.text)) for support in chunk.supports),
        search_entry_point_html=mask(chunk.search_entry_point_html),
    )


class TextRouter(Protocol):
    """Decides, delta by delta, as which kind of event a person sees the model's text; what it holds back is not shown."""

    def route(self, delta: str) -> Iterable[tuple[TimelineEventType, str]]: ...

    def finish(self) -> Iterable[tuple[TimelineEventType, str]]:
        """What was held back and has nothing more to wait for."""
        ...


@dataclass(frozen=True, slots=True)
class WholeText:
    """Shows all text as one kind of event."""

    event_type: TimelineEventType

    def route(self, delta: str) -> Iterable[tuple[TimelineEventType, str]]:
        return ((self.event_type, delta),)

    def finish(self) -> Iterable[tuple[TimelineEventType, str]]:
        return ()


# A model that has not come to an end in three answers at its limit would not in a fourth.
MAX_CONTINUATIONS = 2
# Shorter repetitions at a seam can be chance.
_SHORTEST_OVERLAP = 12
_LONGEST_OVERLAP = 400

CONTINUE = (
    "Your last message was cut off at the limit of its length. Continue it exactly where it ends: no introduction, no repetition, "
    "not from the beginning. Be brief, so that it comes to its end."
)


def pieces_so_far(messages: Sequence[Message]) -> tuple[str, ...]:
    """The pieces of the answer that the model has been asked to continue, oldest first; nothing when it was not."""
    pieces: list[str] = []
    newest = len(messages) - 1
    while newest > 0 and _is_continued(messages[newest - 1], messages[newest]):
        pieces.append(messages[newest - 1].body.content)
        newest -= 2
    return tuple(reversed(pieces))


def _is_continued(said: Message, asked: Message) -> bool:
    return asked.body.role is Role.USER and asked.body.content == CONTINUE and said.body.role is Role.ASSISTANT


def joined(pieces: Sequence[str]) -> str:
    """The pieces as one text; what a model says again at a seam is said once."""
    text = ""
    for piece in pieces:
        text += piece[_overlap(text, piece) :]
    return text


def _overlap(text: str, piece: str) -> int:
    longest = min(len(text), len(piece), _LONGEST_OVERLAP)
    return next((size for size in range(longest, _SHORTEST_OVERLAP - 1, -1) if text.endswith(piece[:size])), 0)


class WithoutVerdict:
    """Holds the verdict back from whatever another router shows.

    `before` are the pieces of the answer that the model goes on with: what they began, a block or a section, goes on. `shown_as` is the kind of the event
    that the rest of the answer belongs to, where its beginning is still open.
    """

    def __init__(self, inner: TextRouter, before: Sequence[str] = (), shown_as: TimelineEventType | None = None) -> None:
        self._inner = inner
        self._filters: dict[TimelineEventType, VerdictFilter] = {}
        self._newest: TimelineEventType | None = None
        if before:
            # Shown already.
            deque(self.route(joined(before)), maxlen=0)
        if shown_as:
            self._inner = WholeText(shown_as)

    def route(self, delta: str) -> Iterator[tuple[TimelineEventType, str]]:
        return self._filtered(self._inner.route(delta))

    def finish(self) -> Iterator[tuple[TimelineEventType, str]]:
        yield from self._filtered(self._inner.finish())
        yield from self._rest()

    def _filtered(self, pieces: Iterable[tuple[TimelineEventType, str]]) -> Iterator[tuple[TimelineEventType, str]]:
        for kind, text in pieces:
            if kind is not self._newest:
                yield from self._rest()
                self._newest = kind
            yield kind, self._filter(kind).feed(text)

    def _rest(self) -> Iterator[tuple[TimelineEventType, str]]:
        if self._newest and (rest := self._filter(self._newest).finish()):
            yield self._newest, rest

    def _filter(self, kind: TimelineEventType) -> VerdictFilter:
        if kind not in self._filters:
            self._filters[kind] = VerdictFilter()
        return self._filters[kind]
