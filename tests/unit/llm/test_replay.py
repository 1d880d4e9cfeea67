from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from tarsy.config.resolve.resolved import ResolvedProvider
from tarsy.domain.conversation import ConversationMessage, Role, ToolCall
from tarsy.domain.llm import Chunk, ErrorChunk, ErrorCode, GenerateInput, LLMBackend, ProviderType, TextChunk, ToolCallChunk
from tarsy.domain.recording import Recording
from tarsy.domain.replay import request_hash
from tarsy.domain.tool import ToolDefinition
from tarsy.domain.usage import TokenUsage
from tarsy.llm.in_process import InProcessLLMClient, in_process_client

REQUEST = GenerateInput(
    session_id="s",
    execution_id="e",
    messages=(ConversationMessage(Role.USER, "Why?"),),
    provider=ResolvedProvider(name="tape", type=ProviderType.REPLAY, model="tape", recording="sample:one"),
    backend=LLMBackend.NATIVE_GEMINI,
    track="0.analysis/0.Agent",
    turn=0,
)


def tape(request_hash: str | None = None) -> Recording:
    return Recording.model_validate(
        {
            "calls": [
                {
                    "track": "0.analysis/0.Agent",
                    "turn": 0,
                    "request_hash": request_hash,
                    "chunks": [
                        {"after": 0.5, "text": "Because it is so."},
                        {"tool_call": {"id": "1", "name": "s.t"}},
                        {"usage": {"input_tokens": 3}},
                    ],
                }
            ]
        }
    )


async def receive(client: InProcessLLMClient, request: GenerateInput = REQUEST) -> list[Chunk]:
    return [chunk async for chunk in client.generate(request)]


async def test_a_recorded_call_is_played_whole_and_at_once() -> None:
    client = in_process_client(recordings=lambda _: tape())
    assert await receive(client) == [TextChunk("Because it is so."), ToolCallChunk("1", "s.t", "{}"), TokenUsage(input_tokens=3)]


async def test_with_pacing_text_comes_word_by_word_and_says_the_same() -> None:
    client = in_process_client(recordings=lambda _: tape(), replay_speed=1000)
    chunks = await receive(client)
    assert chunks[:4] == [TextChunk("Because "), TextChunk("it "), TextChunk("is "), TextChunk("so.")]


async def test_a_call_that_was_not_recorded_says_what_was_asked_and_what_there_is() -> None:
    client = in_process_client(recordings=lambda _: tape())
    assert await receive(client, replace(REQUEST, turn=4)) == [
        ErrorChunk(
            "the recording sample:one has no call for track '0.analysis/0.Agent' turn 4; it has 0.analysis/0.Agent turns 0",
            ErrorCode.INVALID_REQUEST,
        )
    ]


async def test_a_changed_question_is_played_all_the_same() -> None:
    assert len(await receive(in_process_client(recordings=lambda _: tape("other")))) == 3


@pytest.mark.parametrize("suffix", ["json", "yaml"])
async def test_a_recording_is_read_from_a_file_and_again_when_it_changes(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"tape.{suffix}"
    path.write_text(tape().model_dump_json())
    request = replace(REQUEST, provider=REQUEST.provider.model_copy(update={"recording": str(path)}))
    client = in_process_client()
    assert len(await receive(client, request)) == 3

    path.write_text("calls: [{track: 0.analysis/0.Agent, turn: 0, chunks: [{text: New.}]}]")

    assert await receive(client, request) == [TextChunk("New.")]


@pytest.mark.parametrize("text", ["calls: [{track: x}]", "[", "calls: {"])
async def test_a_file_that_is_no_recording_is_refused_by_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text(text)
    request = replace(REQUEST, provider=REQUEST.provider.model_copy(update={"recording": str(path)}))

    [chunk] = await receive(in_process_client(), request)

    assert isinstance(chunk, ErrorChunk)
    assert chunk.code is ErrorCode.INVALID_REQUEST
    assert str(path) in chunk.message


def test_the_hash_knows_neither_ids_nor_runs() -> None:
    def conversation(call_id: str) -> tuple[ConversationMessage, ...]:
        call = ToolCall(call_id, "s.t", "{}")
        return ConversationMessage(Role.ASSISTANT, "", (call,)), ConversationMessage(Role.TOOL, "x", (), call_id, "s.t")

    one = replace(REQUEST, messages=conversation("a"), session_id="1", execution_id="2", track="x", turn=7)
    other = replace(REQUEST, messages=conversation("b"))
    assert request_hash(one) == request_hash(other)


@pytest.mark.parametrize(
    "changed",
    [
        replace(REQUEST, messages=(ConversationMessage(Role.USER, "Why not?"),)),
        replace(REQUEST, tools=(ToolDefinition("s.t", ""),)),
        replace(REQUEST, provider=REQUEST.provider.model_copy(update={"model": "other"})),
    ],
)
def test_the_hash_knows_words_tools_and_model(changed: GenerateInput) -> None:
    assert request_hash(changed) != request_hash(REQUEST)


def chat_tape() -> Recording:
    """Two questions and their answers."""
    answers = (("2.chat/1.ChatAgent", "Who?", "The config map."), ("3.chat/1.ChatAgent", "Since when?", "Since nine."))
    calls = [{"track": track, "turn": 0, "question": question, "chunks": [{"text": text}]} for track, question, text in answers]
    return Recording.model_validate({"calls": calls})


def asked(question: str, track: str = "2.chat/1.ChatAgent") -> GenerateInput:
    return replace(REQUEST, track=track, messages=(ConversationMessage(Role.USER, f"# Alert\nA pod.\n\n# Question\n{question}"),))


@pytest.mark.parametrize("track", ["2.chat/1.ChatAgent", "3.chat/1.ChatAgent", "7.chat/1.ChatAgent"])
async def test_a_recorded_question_gets_its_own_answer_wherever_it_is_asked(track: str) -> None:
    client = in_process_client(recordings=lambda _: chat_tape())
    assert await receive(client, asked("Who?", track)) == [TextChunk("The config map.")]
    assert await receive(client, asked("Since when?", track)) == [TextChunk("Since nine.")]


@pytest.mark.parametrize("question", ["Is it raining?", "Who? And why?", "Says Who?"])
async def test_a_question_that_was_not_recorded_is_refused_with_what_to_set(question: str) -> None:
    client = in_process_client(recordings=lambda _: chat_tape())
    [refusal] = await receive(client, asked(question))
    assert isinstance(refusal, ErrorChunk)
    assert (refusal.code, refusal.retryable) == (ErrorCode.INVALID_REQUEST, False)
    for part in ('"Who?", "Since when?"', "GOOGLE_API_KEY", "tarsy init local-model"):
        assert part in refusal.message


async def test_a_session_is_played_at_its_own_pace_whichever_process_plays_it() -> None:
    # At this process's pace the first word would come after some days.
    client = in_process_client(recordings=lambda _: tape(), replay_speed=1e-6)
    fast = replace(REQUEST, provider=REQUEST.provider.model_copy(update={"replay_speed": 0.0}))
    with anyio.fail_after(30):
        assert len(await receive(client, fast)) == 3
