"""Large tool results, shortened by a model before the agent reads them. If that fails, the agent gets the beginning and a notice."""

from dataclasses import dataclass

from tarsy.agent.context_window import BYTES_PER_TOKEN, window_of
from tarsy.agent.failure_log import failed_closes
from tarsy.agent.model_call import ModelCall, WholeText
from tarsy.agent.prompt.builder import READ_RESULT_TOOL
from tarsy.agent.run import Run
from tarsy.config.resolve.resolved import ResolvedSummarization
from tarsy.domain.interaction import LLMInteraction, LLMInteractionKind
from tarsy.domain.llm import GenerateInput
from tarsy.domain.timeline import TimelineClose, TimelineEventType
from tarsy.domain.tool import ToolName, ToolResult
from tarsy.kit.text import clip_bytes, estimate_tokens

# What a summarising model is given of a huge result at most: half of a common window, and of its own.
_SUMMARY_INPUT_TOKENS = 60_000


@dataclass(frozen=True, slots=True)
class Shown:
    """What the model is shown of a result, and what else belongs into the step that stores it."""

    text: str
    closed: tuple[TimelineClose, ...] = ()
    interactions: tuple[LLMInteraction, ...] = ()


class Summarizer:
    """Decides what of a result the model that the run speaks to is shown."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._context = run.context
        self._recorder = run.recorder

    async def shown(self, result: ToolResult, question: str) -> Shown:
        """The result itself, its summary, or its beginning: whatever the model can carry."""
        settings = self._settings(result)
        if settings:
            return await self._summarize(result, settings, question)
        limit = self._limit()
        return Shown(self._clipped(result, limit) if estimate_tokens(result.content) > limit else result.content)

    def needed(self, result: ToolResult) -> bool:
        """Whether showing the result takes a model call."""
        return self._settings(result) is not None

    def _settings(self, result: ToolResult) -> ResolvedSummarization | None:
        """The server's wish to have a result of this size summarised."""
        name = ToolName.parse(result.call.name)
        server = self._context.servers.get(name.server) if name else None
        if server is None or not server.summarization.enabled or result.is_error:
            return None
        return server.summarization if estimate_tokens(result.content) > server.summarization.size_threshold_tokens else None

    def _limit(self) -> int:
        """The most tokens one result may bring into the conversation: as configured, and never more than a quarter of the window."""
        share = self._run.window // 4
        return min(self._run.provider.max_tool_result_tokens or share, share)

    def _whole(self, result: ToolResult) -> str:
        if not self._run.can_read_back:
            return ""
        return f'Read any part of the whole with {READ_RESULT_TOOL}, call_id "{result.call.id}".'

    def _clipped(self, result: ToolResult, limit_tokens: int) -> str:
        return _beginning(result.content, limit_tokens) + (f"\n[{whole}]" if (whole := self._whole(result)) else "")

    async def _summarize(self, result: ToolResult, settings: ResolvedSummarization, question: str) -> Shown:
        provider = settings.provider or self._run.provider
        server, _, tool = result.call.name.strip().partition(".")
        text = _beginning(result.content, min(_SUMMARY_INPUT_TOKENS, window_of(provider) // 2))
        messages = self._context.prompts.build_mcp_summarization_messages(server, tool, question, text, settings.summary_max_token_limit)
        request = GenerateInput(
            session_id=self._context.session_id,
            execution_id=self._context.execution_id,
            messages=messages,
            provider=provider,
            backend=settings.backend or self._run.backend,
            track=f"{self._context.track}/summary/{result.call.id}",
        )
        router = WholeText(TimelineEventType.MCP_TOOL_SUMMARY)
        call = await ModelCall(self._context, self._recorder, router).run(
            request, LLMInteractionKind.SUMMARIZATION, within=self._context.config.llm_call_timeout, own_messages=True
        )
        if call.answer.error or not call.answer.text.strip():
            clipped = self._clipped(result, min(settings.size_threshold_tokens, self._limit()))
            return Shown(clipped, failed_closes(call, self._recorder), (call.interaction,))
        closed = (self._recorder.close(call.open_event.id, metadata={"call_id": result.call.id}),) if call.open_event else ()
        summary = _beginning(call.answer.told, self._limit())
        note = f"[Summary of a result of {len(result.content)} characters. {self._whole(result)}".rstrip() + "]"
        return Shown(f"{summary}\n\n{note}", closed, (call.interaction,))


def _beginning(text: str, tokens: int) -> str:
    return clip_bytes(text, tokens * BYTES_PER_TOKEN)
