"""The text of a model's answer while it arrives: masked chunk by chunk, routed to timeline events without its verdict, and joined where it was cut."""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, assert_never

from tarsy.agent.evidence.verdict import VerdictFilter
from tarsy.agent.ports import Mask
from tarsy.domain.conversation import Message, Role
from tarsy.domain.llm import Chunk, CodeExecutionChunk, ErrorChunk, FinishChunk, GroundingChunk, TextChunk, ThinkingChunk, ToolCallChunk
from tarsy.domain.timeline import TimelineEventType
from tarsy.domain.usage import TokenUsage

# A model that has not finished in three answers at its output limit would not in a fourth.
MAX_CONTINUATIONS = 2
# A shorter repetition where two pieces meet can be chance.
_SHORTEST_OVERLAP = 12
_LONGEST_OVERLAP = 400

CONTINUE = (
    "Your last message was cut off at the limit of its length. Continue it exactly where it ends: no introduction, no repetition, "
    "not from the beginning. Be brief, so that it comes to its end."
)

TextPiece = tuple[TimelineEventType, str]


class ChunkMasker:
    """Masks the chunks of one answer.

    A secret that is split over several chunks is masked too: text is held back until no later chunk can make it part of one. Recorded is what
    comes out here, so a replay, which masks it again, produces the same.
    """

    def __init__(self, mask: Mask) -> None:
        self._mask = mask
        self._text, self._thinking = mask.stream(), mask.stream()

    def feed(self, chunk: Chunk) -> Iterator[Chunk]:
        """Take the next chunk; yield those that can be shown by now, in the order in which they came."""
        mask = self._mask
        match chunk:
            case TextChunk(content):
                yield from _chunks(ThinkingChunk, self._thinking.finish())
                yield from _chunks(TextChunk, self._text.feed(content))
            case ThinkingChunk(content):
                yield from _chunks(TextChunk, self._text.finish())
                yield from _chunks(ThinkingChunk, self._thinking.feed(content))
            case ToolCallChunk(call_id, name, arguments):
                yield from self.finish()
                yield ToolCallChunk(call_id, mask(name), mask(arguments))
            case ErrorChunk(message, code, retryable):
                yield from self.finish()
                yield ErrorChunk(mask(message), code, retryable)
            case CodeExecutionChunk(code, result):
                yield CodeExecutionChunk(mask(code), mask(result))
            case GroundingChunk():
                yield replace(
                    chunk,
                    web_search_queries=tuple(map(mask, chunk.web_search_queries)),
                    sources=tuple(replace(source, uri=mask(source.uri), title=mask(source.title)) for source in chunk.sources),
                    supports=tuple(replace(support, text=mask(support.text)) for support in chunk.supports),
                    search_entry_point_html=mask(chunk.search_entry_point_html),
                )
            case TokenUsage() | FinishChunk():
                # Some vendors send usage with every piece of text, so it does not end the text.
                yield chunk
            case _:
                assert_never(chunk)

    def finish(self) -> Iterator[Chunk]:
        """Yield the text that was held back."""
        yield from _chunks(ThinkingChunk, self._thinking.finish())
        yield from _chunks(TextChunk, self._text.finish())


def _chunks(kind: type[TextChunk | ThinkingChunk], content: str) -> Iterator[Chunk]:
    if content:
        yield kind(content)


class TextRouter(Protocol):
    """Decides, delta by delta, as which type of event the model's text is shown; it may hold text back."""

    def route(self, delta: str) -> Iterable[TextPiece]: ...

    def finish(self) -> Iterable[TextPiece]:
        """Return the text that was held back."""
        ...


@dataclass(frozen=True, slots=True)
class WholeText:
    """Shows all text as one type of event."""

    event_type: TimelineEventType

    def route(self, delta: str) -> Iterable[TextPiece]:
        return ((self.event_type, delta),)

    def finish(self) -> Iterable[TextPiece]:
        return ()


@dataclass(frozen=True, slots=True)
class ThoughtsOnly:
    """A router that shows the thoughts of another one, and leaves out the rest of its text."""

    inner: TextRouter

    def route(self, delta: str) -> Iterable[TextPiece]:
        return (piece for piece in self.inner.route(delta) if piece[0] is TimelineEventType.LLM_THINKING)

    def finish(self) -> Iterable[TextPiece]:
        return (piece for piece in self.inner.finish() if piece[0] is TimelineEventType.LLM_THINKING)


class WithoutVerdict:
    """A router that removes the verdict block from the text that another router shows.

    `before` are the earlier pieces of an answer that was cut: a block or section that they began goes on. If the event that
    shows the earlier pieces is still open, `shown_as` is its type: the rest is shown there, and `inner` only reads the earlier pieces.
    """

    def __init__(self, inner: TextRouter, before: Sequence[str] = (), shown_as: TimelineEventType | None = None) -> None:
        self._inner = inner
        self._filters: defaultdict[TimelineEventType, VerdictFilter] = defaultdict(VerdictFilter)
        self._newest: TimelineEventType | None = None
        if before:
            # To bring the filters up to date; the text itself is shown already.
            deque(self.route(joined(before)), maxlen=0)
        if shown_as:
            self._inner = WholeText(shown_as)

    def route(self, delta: str) -> Iterator[TextPiece]:
        return self._filtered(self._inner.route(delta))

    def finish(self) -> Iterator[TextPiece]:
        yield from self._filtered(self._inner.finish())
        yield from self._rest()

    def _filtered(self, pieces: Iterable[TextPiece]) -> Iterator[TextPiece]:
        for kind, text in pieces:
            if kind is not self._newest:
                yield from self._rest()
                self._newest = kind
            yield kind, self._filters[kind].feed(text)

    def _rest(self) -> Iterator[TextPiece]:
        if self._newest and (rest := self._filters[self._newest].finish()):
            yield self._newest, rest


def pieces_so_far(messages: Sequence[Message]) -> tuple[str, ...]:
    """Return the pieces of the answer that the model was asked to continue, oldest first; none if it was not."""
    pieces: list[str] = []
    newest = len(messages) - 1
    while newest > 0:
        piece, request = messages[newest - 1].body, messages[newest].body
        if request.role is not Role.USER or request.content != CONTINUE or piece.role is not Role.ASSISTANT:
            break
        pieces.append(piece.content)
        newest -= 2
    return tuple(reversed(pieces))


def joined(pieces: Sequence[str]) -> str:
    """Return the pieces of an answer as one text, without what the model repeats where two of them meet."""
    text = ""
    for piece in pieces:
        longest = min(len(text), len(piece), _LONGEST_OVERLAP)
        overlap = next((size for size in range(longest, _SHORTEST_OVERLAP - 1, -1) if text.endswith(piece[:size])), 0)
        text += piece[overlap:]
    return text
