import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarsy.domain.llm import (
    Chunk,
    CodeExecutionChunk,
    ErrorChunk,
    ErrorCode,
    FinishChunk,
    FinishReason,
    GroundingChunk,
    GroundingSource,
    GroundingSupport,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
)
from tarsy.domain.recording import (
    RecordedChunk,
    RecordedError,
    RecordedToolCallChunk,
    UnplayableChunkError,
    chunks_to_recorded,
    merge_text,
    recorded_to_chunk,
)
from tarsy.domain.usage import TokenUsage

NUMBERS = st.integers(min_value=0, max_value=2**31 - 1)
CHUNKS: st.SearchStrategy[Chunk] = st.one_of(
    st.builds(TextChunk, st.text()),
    st.builds(ThinkingChunk, st.text()),
    st.builds(ToolCallChunk, st.text(), st.text(), st.text()),
    st.builds(CodeExecutionChunk, st.text(), st.text()),
    st.builds(TokenUsage, NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS),
    st.builds(FinishChunk, st.sampled_from(FinishReason)),
    st.builds(ErrorChunk, st.text(), st.sampled_from(ErrorCode), st.booleans()),
    st.builds(
        GroundingChunk,
        st.tuples(st.text()),
        st.tuples(st.builds(GroundingSource, st.text(), st.text())),
        st.tuples(st.builds(GroundingSupport, NUMBERS, NUMBERS, st.text(), st.tuples(NUMBERS))),
        st.text(),
    ),
)


@given(st.lists(CHUNKS, max_size=8))
def test_what_is_replayed_is_what_was_recorded(chunks: list[Chunk]) -> None:
    stored = [RecordedChunk.model_validate_json(chunk.model_dump_json()) for chunk in chunks_to_recorded(chunks)]
    assert tuple(map(recorded_to_chunk, stored)) == tuple(merge_text(chunks))


def test_text_that_came_in_pieces_is_one_piece() -> None:
    chunks: list[Chunk] = [ThinkingChunk("a"), ThinkingChunk("b"), TextChunk("c"), TextChunk("d"), ThinkingChunk("e")]
    assert list(merge_text(chunks)) == [ThinkingChunk("ab"), TextChunk("cd"), ThinkingChunk("e")]


def test_arguments_written_by_hand_may_be_an_object() -> None:
    call = RecordedToolCallChunk(id="1", name="s.t", arguments={"ns": "ä"})
    assert recorded_to_chunk(RecordedChunk(tool_call=call)) == ToolCallChunk("1", "s.t", '{"ns": "ä"}')


@pytest.mark.parametrize(
    "chunk",
    [
        RecordedChunk(error=RecordedError(message="", code="tired")),
        RecordedChunk(grounding={"sources": [{"url": "x"}]}),
        RecordedChunk(finish="bored"),
    ],
)
def test_a_chunk_no_model_could_have_sent_is_refused(chunk: RecordedChunk) -> None:
    with pytest.raises(UnplayableChunkError):
        recorded_to_chunk(chunk)
