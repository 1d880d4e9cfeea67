"""One model call: admitted under the ceilings, streamed to the timeline while it runs, and returned whole with the record of what was sent and received."""

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
    FinishChunk,
    FinishReason,
    GenerateInput,
    GroundingChunk,
    ProviderType,
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

# Thinking that is part of the text is a ReAct thought; a model's own thinking comes in chunks of its own.
REACT = "react"
NATIVE = "native"


@dataclass(slots=True)
class ModelAnswer:
    """The answer received so far; complete when the call has ended."""

    text: str = ""
    thinking: str = ""
    # The text before masking, for the arguments of tool calls in it: neither stored nor shown.
    unmasked: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    # Results of the vendor's own tools.
    native_events: tuple[TimelineEvent, ...] = ()
    usage: TokenUsage = field(default_factory=TokenUsage)
    error: ErrorChunk | None = None
    # Why the answer is incomplete; None if it is not.
    finish: FinishReason | None = None
    # Whether the answer ends in a passage that is repeated over and over.
    looping: bool = False

    @property
    def text_without_loop(self) -> str:
        """The text with a repeated passage shown once, as it is shown and sent back to the model."""
        if not self.looping:
            return self.text
        cut = without_loop(self.text)
        return cut if cut.endswith(LOOP_NOTE) else f"{cut}\n\n{LOOP_NOTE}".lstrip()


@dataclass(frozen=True, slots=True)
class CompletedCall:
    """A call that has ended and is not stored yet: the caller puts its record into the step it leads to."""

    answer: ModelAnswer
    interaction: LLMInteraction
    # The event that was streaming when the model stopped.
    open_event: TimelineEvent | None
    # All types of events that its text was shown as.
    shown: frozenset[TimelineEventType]


class ModelCall:
    """Makes one call for an execution. `continued` is the open event of the cut answer that this call continues."""

    def __init__(
        self,
        context: ExecutionContext,
        recorder: Recorder,
        router: TextRouter,
        continued: TimelineEvent | None = None,
    ) -> None:
        self._context = context
        self._mask = context.services.mask
        self._recorder = recorder
        self._router = router
        self._id = str(uuid4())
        self._chunks: list[Chunk] = []
        self._masker = ChunkMasker(self._mask)
        self._unmasked: list[str] = []
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._answer = ModelAnswer()
        self._current = continued
        self._shown: set[TimelineEventType] = set()
        self._text_loop, self._thinking_loop = LoopWatch(), LoopWatch()
        # Whether the newest chunk of text or thinking was text.
        self._in_text = False

    async def run(
        self, request: GenerateInput, kind: LLMInteractionKind, *, within: float, iteration: int = 0, own_messages: bool = False
    ) -> CompletedCall:
        """Call the model and read its answer to the end, an error, the time limit (`within` seconds), or until it only repeats itself.

        `iteration` is the number stored with the call; 0 for calls that are none. With `own_messages`, the messages of the request are stored with the
        call, because they are not those of the stored conversation.

        Raises:
            CeilingMetError: the call does not fit under a ceiling, and was not made.
            ClaimLostError: the work belongs to another worker now, and the call was not made.
        """
        answer, services, place = self._answer, self._context.services, self._context.place
        clock = services.clock
        with await self._context.ceilings.admit(request, kind) as admission:
            await admission.mark_sent()
            request, within = admission.request, admission.time_limit(within)
            started_at, started = clock.now(), clock.monotonic()
            first_chunk_ms: int | None = None
            sees_loop = False
            try:
                with anyio.move_on_after(within) as scope:
                    async with aclosing(services.llm.generate(request)) as stream:
                        async for chunk in stream:
                            if first_chunk_ms is None:
                                first_chunk_ms = milliseconds_since(started, clock)
                            await self._receive(chunk)
                            sees_loop = self._sees_loop(chunk)
                            if answer.error or sees_loop:
                                break
            except anyio.get_cancelled_exc_class():
                self._flush_cancelled()
                raise
            if scope.cancelled_caught:
                await self._receive(admission.timed_out(within))
            await self._complete_answer()
            is_cut = scope.cancelled_caught or sees_loop
            # The vendor reports the usage at the end, which a call that is cut off here never reaches; a recording costs nothing.
            is_estimated = is_cut and answer.usage == TokenUsage() and request.provider.type is not ProviderType.REPLAY
            if is_estimated:
                written = "".join((answer.text, answer.thinking, *(call.arguments for call in answer.tool_calls)))
                answer.usage = self._context.ceilings.estimate.usage(request, written)
            price = await services.prices.price(request.provider, started_at, answer.usage.input_tokens)
            # The parts of the request that the stored conversation lacks; all messages if it was another conversation.
            record: dict[str, Any] = {
                "iteration": iteration,
                "backend": request.backend.value,
                "tools": [tool.name for tool in request.tools],
            }
            if own_messages:
                record["messages"] = [asdict(message) for message in request.messages]
            interaction = LLMInteraction(
                id=self._id,
                session_id=place.session_id,
                stage_id=place.stage_id,
                execution_id=place.execution_id,
                kind=kind,
                track=request.track,
                turn=request.turn,
                provider=request.provider.name,
                model=request.provider.model,
                request_hash=request_hash(request),
                message_count=len(request.messages),
                request=record,
                response={"chunks": [chunk.model_dump(mode="json", exclude_none=True) for chunk in chunks_to_recorded(self._chunks)]},
                usage=answer.usage,
                usage_estimated=is_estimated,
                error_code=answer.error.code.value if answer.error else None,
                error_message=answer.error.message if answer.error else None,
                started_at=started_at,
                duration_ms=milliseconds_since(started, clock),
                first_chunk_ms=first_chunk_ms,
                price=price,
                settles=admission.charge(
                    answer.usage, answer.error.code if answer.error else None, answered=first_chunk_ms is not None, is_cut=is_cut
                ),
            )
        return CompletedCall(answer, interaction, self._current, frozenset(self._shown))

    async def _complete_answer(self) -> None:
        """Show what masking held back, and put the whole answer together."""
        answer = self._answer
        for chunk in self._masker.finish():
            await self._keep(chunk)
        await self._show_text(self._router.finish())
        # As it is stored, so that a worker that continues from there reads the same.
        answer.text, answer.thinking = storable("".join(self._texts)), storable("".join(self._thoughts))
        answer.unmasked = storable("".join(self._unmasked))
        # Judged by the whole text: in however many chunks an answer comes, it is the same answer.
        ends_in_thought = not answer.text.strip() or (bool(self._chunks) and isinstance(self._chunks[-1], ThinkingChunk))
        stuck_in_thought = ends_in_thought and not answer.tool_calls and find_loop(answer.thinking) is not None
        answer.looping = answer.error is None and (stuck_in_thought or find_loop(answer.text) is not None)

    async def _receive(self, chunk: Chunk) -> None:
        """Take a chunk as the model sent it, then show what masking lets through."""
        match chunk:
            case TextChunk(content):
                self._unmasked.append(content)
            case ToolCallChunk(call_id, name, arguments):
                call = ToolCall(storable(call_id), self._mask(storable(name)), storable(arguments))
                self._answer.tool_calls += (call,)
            case _:
                pass
        for masked in self._masker.feed(chunk):
            await self._keep(masked)
        # The event is opened at once, though the masker may still hold its first words back.
        match chunk:
            case ThinkingChunk(content) if content:
                self._in_text = False
                await self._open(TimelineEventType.LLM_THINKING, NATIVE)
            case TextChunk(content) if content and not self._in_text:
                self._in_text = True
                await self._show_text(self._router.route(""))
            case _:
                pass

    def _sees_loop(self, chunk: Chunk) -> bool:
        match chunk:
            case TextChunk(content):
                return self._text_loop.sees_loop(content)
            case ThinkingChunk(content):
                return self._thinking_loop.sees_loop(content)
            case _:
                return False

    async def _keep(self, chunk: Chunk) -> None:
        """Record a masked chunk, and show it."""
        self._chunks.append(chunk)
        match chunk:
            case TextChunk(content):
                self._texts.append(content)
                await self._show_text(self._router.route(content))
            case ThinkingChunk(content):
                self._thoughts.append(content)
                self._recorder.append(await self._open(TimelineEventType.LLM_THINKING, NATIVE), content)
            case ToolCallChunk():
                pass
            case CodeExecutionChunk(code, result):
                event = self._recorder.event(TimelineEventType.CODE_EXECUTION, result, metadata={"code": code})
                self._answer.native_events += (event,)
            case GroundingChunk():
                sources = [{"uri": source.uri, "title": source.title} for source in chunk.sources]
                queries = chunk.web_search_queries
                event_type = TimelineEventType.GOOGLE_SEARCH_RESULT if queries else TimelineEventType.URL_CONTEXT_RESULT
                lines = [*(f"Searched: {query}" for query in queries), *(f"{s['title']} {s['uri']}".strip() for s in sources)]
                event = self._recorder.event(event_type, "\n".join(lines), metadata={"queries": list(queries), "sources": sources})
                self._answer.native_events += (event,)
            case TokenUsage():
                self._answer.usage = chunk
            case FinishChunk(reason):
                self._answer.finish = reason
            case ErrorChunk():
                self._answer.error = chunk
            case _:
                assert_never(chunk)

    async def _show_text(self, pieces: Iterable[tuple[TimelineEventType, str]]) -> None:
        for event_type, delta in pieces:
            source = REACT if event_type is TimelineEventType.LLM_THINKING else None
            self._recorder.append(await self._open(event_type, source), delta)
            self._shown.add(event_type)

    async def _open(self, event_type: TimelineEventType, source: str | None) -> str:
        """Return the id of the open event of this type; the first of a new type ends the one before."""
        current = self._current
        if current is None or (current.event_type, current.metadata.get("source")) != (event_type, source):
            if current:
                # In the step that stores the call: if the call must be made again, the text so far was not final.
                self._recorder.close_with(self._id, current.id)
                self._current = None
            self._current = current = await self._recorder.open_stored(event_type, {"source": source} if source else None)
        return current.id

    def _flush_cancelled(self) -> None:
        """Append the text that the masker held back to the event that was streaming when the call was cancelled."""
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
