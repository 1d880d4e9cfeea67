"""What a recorded model says in follow-up chat: it cannot listen, so it says which question it answers, and when it has no more answers. Pure."""

from collections.abc import Sequence

from tarsy.domain.recording import RecordedCall, RecordedChunk, track_of
from tarsy.domain.usage import TokenUsage

# More than anybody asks a model that has told them twice that it is a recording.
FURTHER_QUESTIONS = 10

NO_MORE_ANSWERS = """\
I am a recording and have answers to the suggested questions only.

Give TARSy a model, by an API key in its environment or the address of a local one, and run this sample again: the same cluster is then
investigated by that model, and follow-up questions are answered with the same tools."""


def is_chat(call: RecordedCall) -> bool:
    return call.track.endswith(".chat/1.ChatAgent")


def with_chat(calls: Sequence[RecordedCall], questions: Sequence[str]) -> tuple[RecordedCall, ...]:
    """Put its question before each recorded answer, and an answer behind them for whatever else may be asked."""
    first = min(int(call.track.partition(".")[0]) for call in calls if is_chat(call))
    asked = {_track(first + position): question for position, question in enumerate(questions)}
    last = {call.track: call.turn for call in calls}
    told = [_naming(call, asked[call.track]) if is_chat(call) and call.turn == last[call.track] else call for call in calls]
    beyond = first + len(questions)
    return (*told, *(_no_more(_track(index)) for index in range(beyond, beyond + FURTHER_QUESTIONS)))


def _track(stage_index: int) -> str:
    return track_of(stage_index, "chat", 1, "ChatAgent")


def _naming(call: RecordedCall, question: str) -> RecordedCall:
    position, answer = next((position, chunk) for position, chunk in enumerate(call.chunks) if chunk.text is not None)
    named = answer.model_copy(update={"text": f"> Recorded answer to: *{question}*\n\n{answer.text}"})
    return call.model_copy(update={"chunks": (*call.chunks[:position], named, *call.chunks[position + 1 :])})


def _no_more(track: str) -> RecordedCall:
    return RecordedCall(track=track, turn=0, chunks=(RecordedChunk(after=0.6, text=NO_MORE_ANSWERS), RecordedChunk(usage=TokenUsage())))
