"""A model's answer as it may be stored and shown: chunk by chunk, without the secrets it says. Pure, apart from the mask it is given.

A secret that is split over several chunks does not pass: text is held back until it is certain. What is recorded is what comes out here, so a
replay, which masks it once more, says the same.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import assert_never

from tarsy.agent.ports import Mask
from tarsy.domain.llm import Chunk, CodeExecutionChunk, ErrorChunk, FinishChunk, GroundingChunk, TextChunk, ThinkingChunk, ToolCallChunk
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
