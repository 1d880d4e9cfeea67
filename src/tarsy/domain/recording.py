"""Recordings: every model and tool call of a session, and every other input of it, in a form that can be replayed.

Sample incidents, exported sessions and regression tests use the same format, as JSON or YAML. Version 1 has no inputs, and versions 2 to 4 were made by other prompts and
rules of evidence; all can still be read and replayed.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypeVar, assert_never

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, field_validator, model_validator

from tarsy.domain.conversation import ToolCall
from tarsy.domain.llm import (
    Chunk,
    CodeExecutionChunk,
    ErrorChunk,
    ErrorCode,
    FinishChunk,
    FinishReason,
    GroundingChunk,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
)
from tarsy.domain.run_input import AnyInput, InputKind, PlacedInput, input_fields, input_of, place_of
from tarsy.domain.tool import ToolDefinition, ToolResult
from tarsy.domain.tool_arguments import canonical_arguments
from tarsy.domain.usage import TokenUsage

_GROUNDING_CHUNK = TypeAdapter(GroundingChunk)

# The first version that names today's prompts and rules of evidence.
RULES_SINCE = 5
_NEWEST = 5


def track_of(stage_index: int, stage_name: str, agent_index: int, agent_name: str) -> str:
    """Name an agent's conversation within its session, the same in every run: `0.analysis/1.KubernetesAgent`."""
    return f"{stage_index}.{stage_name}/{agent_index}.{agent_name}"


def sub_track_of(parent: str, call_number: int, agent_name: str) -> str:
    """Name the conversation of a sub-agent by the call that dispatched it: `0.analysis/1.Lead/4.LogAgent`."""
    return f"{parent}/{call_number}.{agent_name}"


class Recorded(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RecordedToolCallChunk(Recorded):
    id: str
    name: str
    arguments: str | Mapping[str, Any] = "{}"


class RecordedError(Recorded):
    message: str
    code: str
    retryable: bool = False


class RecordedCode(Recorded):
    code: str = ""
    result: str = ""


class RecordedChunk(Recorded):
    """One chunk of a model's answer: exactly one of the kinds, and the seconds before it.

    A long `text` or `thinking` is one entry; a replay with pacing splits it into words.
    """

    after: float = 0.0
    text: str | None = None
    thinking: str | None = None
    tool_call: RecordedToolCallChunk | None = None
    code_execution: RecordedCode | None = None
    grounding: Mapping[str, Any] | None = None
    usage: TokenUsage | None = None
    # Why an incomplete answer ended: `length`.
    finish: str | None = None
    error: RecordedError | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> "RecordedChunk":
        kinds = (self.text, self.thinking, self.tool_call, self.code_execution, self.grounding, self.usage, self.finish, self.error)
        if sum(kind is not None for kind in kinds) != 1:
            raise ValueError("a chunk is exactly one of text, thinking, tool_call, code_execution, grounding, usage, finish, error")
        return self


class RecordedCall(Recorded):
    """A model call, found by its track and turn. The hash shows whether the request is still the same."""

    track: str
    turn: int
    # The only follow-up question that the call answers; None: any.
    question: str | None = None
    request_hash: str | None = None
    chunks: tuple[RecordedChunk, ...]


class RecordedTool(Recorded):
    """A tool call and its masked result, see `RecordedResults`."""

    track: str
    call_id: str
    name: str
    arguments: str
    content: str
    is_error: bool = False
    is_timeout: bool = False
    duration_ms: int = 0

    def as_result(self, call: ToolCall, started_at: datetime) -> ToolResult:
        """Return the recorded result as that of `call`."""
        return ToolResult(
            call=call,
            content=self.content,
            is_error=self.is_error,
            is_timeout=self.is_timeout,
            started_at=started_at,
            duration_ms=self.duration_ms,
        )


class RecordedResults:
    """Finds the recorded result of a tool call."""

    def __init__(self, tools: Sequence[RecordedTool]) -> None:
        # Reversed, so that the first of several equal ones wins.
        tools = tools[::-1]
        self._exact = {(tool.track, tool.call_id, tool.name, canonical_arguments(tool.arguments)): tool for tool in tools}
        self._by_id = {(tool.track, tool.call_id, tool.name): tool for tool in tools}
        self._by_arguments = {(tool.name, canonical_arguments(tool.arguments)): tool for tool in tools}

    def find(self, track: str, call: ToolCall) -> RecordedTool | None:
        """Return the same call, or else one of the same tool with equal arguments, from any track."""
        return self.exact(track, call) or self._by_arguments.get((call.name, canonical_arguments(call.arguments)))

    def exact(self, track: str, call: ToolCall) -> RecordedTool | None:
        """Return the same call: its id, tool and arguments. By its id alone, it may be another call of another model."""
        return self._exact.get((track, call.id, call.name, canonical_arguments(call.arguments)))

    def with_id(self, track: str, call: ToolCall) -> RecordedTool | None:
        """Return the call of the same tool with the same id, whatever its arguments."""
        return self._by_id.get((track, call.id, call.name))


class RecordedInput(Recorded):
    """An input of a conversation, see `run_input`."""

    track: str
    turn: int
    kind: InputKind
    # Distinguishes inputs of one kind in the same turn.
    name: str = ""
    fields: Mapping[str, Any]

    @model_validator(mode="after")
    def _readable(self) -> "RecordedInput":
        self.placed()
        return self

    @classmethod
    def of(cls, given: AnyInput) -> "RecordedInput":
        turn, kind, name = place_of(given.turn, given.value)
        return cls(track=given.track, turn=turn, kind=kind, name=name, fields=input_fields(given.value))

    def placed(self) -> AnyInput:
        return PlacedInput(self.track, self.turn, input_of(self.kind, self.name, self.fields))


class RecordedCatalog(Recorded):
    track: str
    tools: tuple[ToolDefinition, ...] = ()
    warnings: tuple[str, ...] = ()


class RecordedAlert(Recorded):
    alert_type: str
    data: str
    runbook_url: str | None = None
    runbook: str | None = None
    author: str = "recording"
    nonce: str | None = None
    created_at: str | None = None


class RecordedOutcome(Recorded):
    """The outcome of the recorded run, with which a replay is compared."""

    status: str
    final_analysis: str | None = None
    executive_summary: str | None = None
    # With the confidence to show and its reason; `final_analysis` does not contain it. None in version 1.
    verdict: Mapping[str, Any] | None = None
    # {cited, verified, id_only, failed, uncited}. None in version 1.
    citations: Mapping[str, int] | None = None
    # track → messages as {role, content, tool_calls?, tool_call_id?, tool_name?}
    conversations: Mapping[str, tuple[Mapping[str, Any], ...]] = {}
    # In session order, without ids and times: {track, event_type, status, content, metadata}
    timeline: tuple[Mapping[str, Any], ...] = ()


class Recording(Recorded):
    # Files of version 1 may leave it out.
    tarsy_recording: Literal[1, 2, 3, 4, 5] = 1
    title: str = ""
    alert: RecordedAlert | None = None
    # The ResolvedChain that is stored with the session.
    chain: Mapping[str, Any] | None = None
    calls: tuple[RecordedCall, ...] = ()
    catalogs: tuple[RecordedCatalog, ...] = ()
    tools: tuple[RecordedTool, ...] = ()
    # Empty in version 1.
    inputs: tuple[RecordedInput, ...] = ()
    # Texts of the chain's skills by hash.
    skills: Mapping[str, str] = {}
    # Chat questions, in order.
    questions: tuple[str, ...] = ()
    outcome: RecordedOutcome | None = None

    @field_validator("tarsy_recording", mode="before")
    @classmethod
    def _known_version(cls, version: object) -> object:
        if isinstance(version, int) and version > _NEWEST:
            raise ValueError(
                f"the recording is of version {version}, and this TARSy reads versions 1 to {_NEWEST}: replay it with a newer one"
            )
        return version


def reaches_fork(given: RecordedInput, played: Sequence[RecordedCall]) -> bool:
    """Return whether an input belongs to a run that replays these first calls of a recording and then continues on its own.

    Such a run cuts an agent short only if the agent's parent had continued without it within these calls.
    """
    if given.kind is not InputKind.CUT_SHORT:
        return True
    tracks = [call.track for call in played]
    last = max((place for place, track in enumerate(tracks) if track == given.track), default=0)
    return given.track.rpartition("/")[0] in tracks[last + 1 :]


def recording_text(recording: Recording) -> str:
    """Render a recording as it is written to a file."""
    return recording.model_dump_json(indent=1, exclude_defaults=True) + "\n"


Known = TypeVar("Known", ErrorCode, FinishReason)


class UnplayableChunkError(ValueError):
    """A recorded chunk has an unknown code or shape; its author can correct the recording."""


def chunks_to_recorded(chunks: Iterable[Chunk]) -> tuple[RecordedChunk, ...]:
    """Return a model's answer as it is recorded."""

    def recorded(chunk: Chunk) -> RecordedChunk:
        match chunk:
            case TextChunk(content):
                found = RecordedChunk(text=content)
            case ThinkingChunk(content):
                found = RecordedChunk(thinking=content)
            case ToolCallChunk(call_id, name, arguments):
                found = RecordedChunk(tool_call=RecordedToolCallChunk(id=call_id, name=name, arguments=arguments))
            case CodeExecutionChunk(code, result):
                found = RecordedChunk(code_execution=RecordedCode(code=code, result=result))
            case GroundingChunk():
                found = RecordedChunk(grounding=_GROUNDING_CHUNK.dump_python(chunk, mode="json"))
            case TokenUsage():
                found = RecordedChunk(usage=chunk)
            case FinishChunk(reason):
                found = RecordedChunk(finish=reason.value)
            case ErrorChunk(message, code, retryable):
                found = RecordedChunk(error=RecordedError(message=message, code=code.value, retryable=retryable))
            case _:
                assert_never(chunk)
        return found

    return tuple(recorded(chunk) for chunk in merge_text(chunks))


def merge_text(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """Join neighbouring text chunks, and neighbouring thinking chunks, into one each."""
    kind: type[TextChunk | ThinkingChunk] | None = None
    pieces: list[str] = []
    for chunk in chunks:
        if kind is not None and not isinstance(chunk, kind):
            yield kind("".join(pieces))
            kind, pieces = None, []
        if isinstance(chunk, TextChunk | ThinkingChunk):
            kind = type(chunk)
            pieces.append(chunk.content)
        else:
            yield chunk
    if kind is not None:
        yield kind("".join(pieces))


def recorded_to_chunk(chunk: RecordedChunk) -> Chunk:
    """Return the chunk that was recorded.

    Raises:
        UnplayableChunkError: its error code, finish reason or grounding is unknown.
    """
    match chunk:
        case RecordedChunk(text=str(text)):
            played: Chunk = TextChunk(text)
        case RecordedChunk(thinking=str(text)):
            played = ThinkingChunk(text)
        case RecordedChunk(tool_call=RecordedToolCallChunk() as call):
            arguments = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments, ensure_ascii=False)
            played = ToolCallChunk(call.id, call.name, arguments)
        case RecordedChunk(code_execution=RecordedCode(code=code, result=result)):
            played = CodeExecutionChunk(code, result)
        case RecordedChunk(usage=TokenUsage() as usage):
            played = usage
        case RecordedChunk(finish=str(reason)):
            played = FinishChunk(_known(FinishReason, reason, "a recorded answer has the finish reason"))
        case RecordedChunk(error=RecordedError(message=message, code=code, retryable=retryable)):
            played = ErrorChunk(message, _known(ErrorCode, code, "a recorded error has the code"), retryable)
        case _:
            try:
                played = _GROUNDING_CHUNK.validate_python(chunk.grounding)
            except ValidationError as error:
                raise UnplayableChunkError(f"a recorded grounding cannot be read: {error}") from error
    return played


def _known(kind: type[Known], value: str, where: str) -> Known:
    try:
        return kind(value)
    except ValueError:
        raise UnplayableChunkError(f"{where} {value!r}; known are {', '.join(kind)}") from None
