"""One model call: streamed to the timeline while it runs, returned whole, with the record of what went over the wire."""

from collections.abc import Iterable
from contextlib import aclosing
from dataclasses import asdict, dataclass, field
from typing import Any, assert_never
from uuid import uuid4

import anyio

from tarsy.agent.answer_text import ChunkMasker, TextRouter
from tarsy.agent.execution import ExecutionContext
from tarsy.agent.recorder import Recorder
from tarsy.agent.repetition import LOOP_NOTE, LoopWatch, find_loop, without_loop
from tarsy.domain.conversation import ToolCall
from tarsy.domain.interaction import LLMInteraction, LLMInteractionKind
from tarsy.domain.llm import (
    Chunk,
    CodeExecutionChunk,
    ErrorChunk,
    ErrorCode,
    FinishChunk,
    FinishReason,
    GenerateInput,
    GroundingChunk,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
)
from tarsy.domain.recording import chunks_to_recorded
from tarsy.domain.replay import request_hash
from tarsy.domain.timeline import TimelineEvent, TimelineEventType
from tarsy.domain.usage import TokenUsage
from tarsy.kit.clock import milliseconds_since
from tarsy.kit.text import storable

# Thinking that comes as text is a ReAct thought; a model's own has chunks of its own.
REACT = "react"
NATIVE = "native"


@dataclass(slots=True)
class ModelAnswer:
    """What has come back so far; complete when the call has ended."""

    text: str = ""
    thinking: str = ""
    # The text before masking, for the tools it calls: it is neither stored nor shown.
    unmasked: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    native_events: tuple[TimelineEvent, ...] = ()
    usage: TokenUsage = field(default_factory=TokenUsage)
    error: ErrorChunk | None = None
    # Why the answer is not whole; None: it is.
    finish: FinishReason | None = None
    # The call was ended, or ended, in a passage that goes on and on.
    looping: bool = False

    @property
    def told(self) -> str:
        """The text as it may be shown and said again: a loop is told once."""
        if not self.looping:
            return self.text
        cut = without_loop(self.text)
        return cut if cut.endswith(LOOP_NOTE) else f"{cut}\n\n{LOOP_NOTE}".lstrip()


@dataclass(frozen=True, slots=True)
class OpenEvent:
    """An event that a call streams into; `source` tells a model's own thinking from a thought in its text."""

    id: str
    event_type: TimelineEventType
    source: str | None = None


@dataclass(frozen=True, slots=True)
class CompletedCall:
    """An ended call, not yet stored: the caller puts its record into the step it leads to."""

    answer: ModelAnswer
    interaction: LLMInteraction
    # The event that was still streaming when the model stopped, and every kind of event its text was shown as.
    open_event: OpenEvent | None
    shown: frozenset[TimelineEventType]


class ModelCall:
    """Makes a call for an execution. Use once. `continued` is the open event of the answer that this call goes on with."""

    def __init__(self, context: ExecutionContext, recorder: Recorder, router: TextRouter, continued: OpenEvent | None = None) -> None:
        self._context = context
        self._recorder = recorder
        self._router = router
        self._id = str(uuid4())
        self._chunks: list[Chunk] = []
        self._masker = ChunkMasker(context.mask)
        self._unmasked: list[str] = []
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._answer = ModelAnswer()
        self._current = continued
        self._shown: set[TimelineEventType] = set()
        self._watches = (LoopWatch(), LoopWatch())
        # Whether its newest words are text, and not thinking.
        self._speaks = False
        self._first_chunk_ms: int | None = None

    async def run(
        self, request: GenerateInput, kind: LLMInteractionKind, *, within: float, iteration: int = 0, own_messages: bool = False
    ) -> CompletedCall:
        """Call the model and follow its answer to the end, an error, the time limit, or until it says only the same."""
        clock = self._context.clock
        started_at, started = clock.now(), clock.monotonic()
        try:
            with anyio.move_on_after(within) as scope:
                async with aclosing(self._context.llm.generate(request)) as stream:
                    async for chunk in stream:
                        if self._first_chunk_ms is None:
                            self._first_chunk_ms = milliseconds_since(started, clock)
                        self._take(chunk)
                        if self._answer.error or self._answer.looping:
                            break
        except anyio.get_cancelled_exc_class():
            self._break_off()
            raise
        if scope.cancelled_caught:
            self._take(ErrorChunk(f"the model did not finish within {within:g} s", ErrorCode.TIMEOUT, retryable=True))
        self._keep(self._masker.finish())
        self._show_text(self._router.finish())
        self._settle()
        price = await self._context.prices.price(request.provider, started_at, self._answer.usage.input_tokens)
        interaction = LLMInteraction(
            id=self._id,
            session_id=self._context.session_id,
            stage_id=self._context.stage_id,
            execution_id=self._context.execution_id,
            kind=kind,
            track=request.track,
            turn=request.turn,
            provider=request.provider.name,
            model=request.provider.model,
            request_hash=request_hash(request),
            message_count=len(request.messages),
            request=_request_record(request, iteration, own_messages=own_messages),
            response={"chunks": [chunk.model_dump(mode="json", exclude_none=True) for chunk in chunks_to_recorded(self._chunks)]},
            usage=self._answer.usage,
            error_code=self._answer.error.code.value if self._answer.error else None,
            error_message=self._answer.error.message if self._answer.error else None,
            started_at=started_at,
            duration_ms=milliseconds_since(started, clock),
            first_chunk_ms=self._first_chunk_ms,
            price=price,
        )
        return CompletedCall(self._answer, interaction, self._current, frozenset(self._shown))

    def _settle(self) -> None:
        answer = self._answer
        # As it is stored, so that a worker that continues from there reads the same.
        answer.text, answer.thinking = storable("".join(self._texts)), storable("".join(self._thoughts))
        answer.unmasked = storable("".join(self._unmasked))
        # Judged by the whole, not by the watch: in however many pieces an answer comes, it is the same answer.
        ends_in_thought = not answer.text.strip() or (bool(self._chunks) and isinstance(self._chunks[-1], ThinkingChunk))
        stuck_in_thought = ends_in_thought and not answer.tool_calls and find_loop(answer.thinking) is not None
        answer.looping = answer.error is None and (stuck_in_thought or find_loop(answer.text) is not None)

    def _take(self, chunk: Chunk) -> None:
        self._hear(chunk)
        self._keep(self._masker.feed(chunk))
        # That the model speaks is shown at once, though its first words may still be held back.
        match chunk:
            case ThinkingChunk(content) if content:
                self._speaks = False
                self._open(TimelineEventType.LLM_THINKING, NATIVE)
            case TextChunk(content) if content and not self._speaks:
                self._speaks = True
                self._show_text(self._router.route(""))
            case _:
                pass

    def _break_off(self) -> None:
        """The call is cancelled: what the mask held back belongs to the event that was streaming."""
        for chunk in self._masker.finish():
            match chunk:
                case TextChunk(content):
                    pieces = [*self._router.route(content), *self._router.finish()]
                case ThinkingChunk(content):
                    pieces = [(TimelineEventType.LLM_THINKING, content)]
                case _:
                    pieces = []
            for event_type, text in pieces:
                if self._current and self._current.event_type is event_type:
                    self._recorder.append(self._current.id, text)

    def _hear(self, chunk: Chunk) -> None:
        """What must be known of a chunk as it was said: whether it goes in circles, and what its tools are to get."""
        match chunk:
            case TextChunk(content):
                self._unmasked.append(content)
                self._answer.looping = self._watches[0].sees_loop(content)
            case ThinkingChunk(content):
                self._answer.looping = self._watches[1].sees_loop(content)
            case ToolCallChunk(call_id, name, arguments):
                call = ToolCall(storable(call_id), self._context.mask(storable(name)), storable(arguments))
                self._answer.tool_calls += (call,)
            case _:
                pass

    def _keep(self, chunks: Iterable[Chunk]) -> None:
        for chunk in chunks:
            self._chunks.append(chunk)
            self._tell(chunk)

    def _tell(self, chunk: Chunk) -> None:
        """Show a masked chunk, or note what it says."""
        match chunk:
            case TextChunk(content):
                self._texts.append(content)
                self._show_text(self._router.route(content))
            case ThinkingChunk(content):
                self._thoughts.append(content)
                self._show(TimelineEventType.LLM_THINKING, content, NATIVE)
            case ToolCallChunk():
                pass
            case CodeExecutionChunk(code, result):
                event = self._recorder.event(TimelineEventType.CODE_EXECUTION, result, metadata={"code": code})
                self._answer.native_events += (event,)
            case GroundingChunk():
                self._answer.native_events += (self._grounding(chunk),)
            case TokenUsage():
                self._answer.usage = chunk
            case FinishChunk(reason):
                self._answer.finish = reason
            case ErrorChunk():
                self._answer.error = chunk
            case _:
                assert_never(chunk)

    def _show_text(self, pieces: Iterable[tuple[TimelineEventType, str]]) -> None:
        for event_type, delta in pieces:
            self._show(event_type, delta, REACT if event_type is TimelineEventType.LLM_THINKING else None)
            self._shown.add(event_type)

    def _show(self, event_type: TimelineEventType, delta: str, source: str | None = None) -> None:
        """Stream `delta` to the open event of its kind."""
        self._recorder.append(self._open(event_type, source), delta)

    def _open(self, event_type: TimelineEventType, source: str | None = None) -> str:
        """The open event of a kind; a new kind closes the one before and opens its own."""
        current = self._current
        if current is None or (current.event_type, current.source) != (event_type, source):
            if current:
                # Not before the call is stored: if it must be made again, what it had said so far was not the last word.
                self._recorder.close_with(self._id, current.id)
            event = self._recorder.open(event_type, {"source": source} if source else None)
            self._current = current = OpenEvent(event.id, event_type, source)
            self._recorder.show(event)
        return current.id

    def _grounding(self, chunk: GroundingChunk) -> TimelineEvent:
        sources = [{"uri": source.uri, "title": source.title} for source in chunk.sources]
        searched = bool(chunk.web_search_queries)
        event_type = TimelineEventType.GOOGLE_SEARCH_RESULT if searched else TimelineEventType.URL_CONTEXT_RESULT
        lines = [*(f"Searched: {query}" for query in chunk.web_search_queries), *(f"{s['title']} {s['uri']}".strip() for s in sources)]
        return self._recorder.event(event_type, "\n".join(lines), metadata={"queries": list(chunk.web_search_queries), "sources": sources})


def _request_record(request: GenerateInput, iteration: int, *, own_messages: bool) -> dict[str, Any]:
    """What cannot be told from the stored conversation; all of it when the request was not that conversation."""
    record = {"iteration": iteration, "backend": request.backend.value, "tools": [tool.name for tool in request.tools]}
    return record | {"messages": [asdict(message) for message in request.messages]} if own_messages else record
