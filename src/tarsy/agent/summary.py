"""Large tool results, made to fit: repetitions are folded in code, a model shortens what is still too large, and what no model could shorten is cut.

Folding and cutting say exactly what is not shown. The whole result is stored before, and stays within reach of `read_result`.
"""

from dataclasses import dataclass

from tarsy.agent.ceilings.ceilings import CeilingMetError
from tarsy.agent.context_window import BYTES_PER_TOKEN, window_of
from tarsy.agent.emptiness import emptiness
from tarsy.agent.failure_log import failed_closes
from tarsy.agent.folding import fold
from tarsy.agent.model_call import CompletedCall, ModelCall, WholeText
from tarsy.agent.prompt.inputs import SeenResult
from tarsy.agent.prompt.result_line import reading_back
from tarsy.agent.run import Run
from tarsy.config.resolve.resolved import ResolvedSummarization
from tarsy.domain.interaction import LLMInteraction, LLMInteractionKind
from tarsy.domain.llm import GenerateInput
from tarsy.domain.timeline import TimelineClose, TimelineEventType
from tarsy.domain.tool import ToolName, ToolResult
from tarsy.kit.text import CutText, cut_middle, estimate_tokens, in_thread_if_long

# What a summarising model is given of a huge result at most: half of a common window, and of its own.
_SUMMARY_INPUT_TOKENS = 60_000


@dataclass(frozen=True, slots=True)
class Sized:
    """A result as large as code alone can leave it, and what is still to be done."""

    text: str
    # Lines of the result that its folded form does not show.
    folded_lines: int = 0
    is_folded: bool = False
    # The server's wish to have a model shorten it.
    settings: ResolvedSummarization | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """What the model is shown of a result, what it is told about that, and what else belongs into the step that stores it."""

    text: str
    note: str = ""
    closed: tuple[TimelineClose, ...] = ()
    interactions: tuple[LLMInteraction, ...] = ()


class Summarizer:
    """Decides what of a result the model that the run speaks to is shown."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._context = run.context
        self._recorder = run.recorder

    async def sized(self, result: ToolResult) -> Sized:
        """The result itself or, if it is too large, with its repetitions folded."""
        settings = self._settings(result, result.content)
        if settings is None and estimate_tokens(result.content) <= self._limit():
            return Sized(result.content)
        folded = await in_thread_if_long(fold, result.content)
        return Sized(folded.text, folded.lines, folded.is_folded, self._settings(result, folded.text))

    async def shown(self, seen: SeenResult, sized: Sized, purpose: str) -> Shown:
        """What the model can carry of a result; `purpose` is what it was after when it made the call."""
        if sized.settings:
            return await self._summarize(seen, sized, sized.settings, purpose)
        if estimate_tokens(sized.text) > self._limit():
            return self._cut(seen, sized, self._limit())
        if sized.is_folded:
            return Shown(sized.text, f"{_folded(sized)}{self._whole(seen)}")
        return Shown(sized.text, "" if seen.result.is_error else emptiness(seen.result.call, sized.text))

    def _settings(self, result: ToolResult, text: str) -> ResolvedSummarization | None:
        """The server's wish to have a result of this size summarised."""
        name = ToolName.parse(result.call.name)
        server = self._context.servers.get(name.server) if name else None
        if server is None or not server.summarization.enabled or result.is_error:
            return None
        return server.summarization if estimate_tokens(text) > server.summarization.size_threshold_tokens else None

    def _limit(self) -> int:
        """The most tokens one result may bring into the conversation: as configured, and never more than a quarter of the window."""
        share = self._run.window // 4
        return min(self._run.provider.max_tool_result_tokens or share, share)

    def _whole(self, seen: SeenResult) -> str:
        return reading_back(self._run.read_back, seen.evidence_id)

    def _rest(self, seen: SeenResult, sized: Sized, cut: CutText) -> str:
        """How to read what a cut leaves out; places in a folded text are not places in the result."""
        return reading_back(self._run.read_back, seen.evidence_id, cut.head if cut.left_out and not sized.is_folded else None)

    def _cut(self, seen: SeenResult, sized: Sized, limit_tokens: int) -> Shown:
        cut = cut_middle(sized.text, limit_tokens * BYTES_PER_TOKEN)
        note = f"Cut: you see {_extent(cut)} of {len(sized.text)}{_of_folded(sized)}; what lies between was shown to no one."
        return Shown(cut.text, f"{note}{self._rest(seen, sized, cut)}")

    async def _summarize(self, seen: SeenResult, sized: Sized, settings: ResolvedSummarization, purpose: str) -> Shown:
        provider = settings.provider or self._run.provider
        given = cut_middle(sized.text, min(_SUMMARY_INPUT_TOKENS, window_of(provider) // 2) * BYTES_PER_TOKEN)
        request = GenerateInput(
            session_id=self._context.session_id,
            execution_id=self._context.execution_id,
            messages=self._context.prompts.build_mcp_summarization_messages(seen, purpose, given.text, settings.summary_max_token_limit),
            provider=provider,
            backend=settings.backend or self._run.backend,
            track=f"{self._context.track}/summary/{seen.result.call.id}",
        )
        router, kind = WholeText(TimelineEventType.MCP_TOOL_SUMMARY), LLMInteractionKind.SUMMARIZATION

        async def make(admitted: GenerateInput, within: float) -> CompletedCall:
            return await ModelCall(self._context, self._recorder, router).run(admitted, kind, within=within, own_messages=True)

        try:
            call = await self._context.ceilings.metered(request, kind, self._context.config.llm_call_timeout, make)
        except CeilingMetError as error:
            self._context.ceilings.note(error.met)
            return self._cut(seen, sized, min(settings.size_threshold_tokens, self._limit()))
        if call.answer.error or not call.answer.text.strip():
            cut = self._cut(seen, sized, min(settings.size_threshold_tokens, self._limit()))
            return Shown(cut.text, cut.note, failed_closes(call, self._recorder), (call.interaction,))
        metadata = {"call_id": seen.result.call.id, "evidence_id": seen.evidence_id}
        closed = (self._recorder.close(call.open_event.id, metadata=metadata),) if call.open_event else ()
        summary = cut_middle(call.answer.told, self._limit() * BYTES_PER_TOKEN).text
        return Shown(summary, self._summary_note(seen, sized, given), closed, (call.interaction,))

    def _summary_note(self, seen: SeenResult, sized: Sized, given: CutText) -> str:
        read = "read all of it" if not given.left_out else f"read {_extent(given)}, not what lies between"
        note = f"Summary of a result of {len(seen.result.content)} characters, made by a model that {read}{_of_folded(sized)}."
        return f"{note} Quote the result, not the summary.{self._rest(seen, sized, given)}"


def _folded(sized: Sized) -> str:
    return f"Folded: what repeats is shown once with its count, which leaves out {sized.folded_lines} lines of this result."


def _of_folded(sized: Sized) -> str:
    return " (repetitions folded)" if sized.is_folded else ""


def _extent(cut: CutText) -> str:
    return f"the first {cut.head} and the last {cut.tail} characters"
