"""Large tool results, shortened by a model before the agent reads them. If that fails, the agent gets the beginning and a notice."""

from tarsy.agent.budget import DEFAULT_WINDOW
from tarsy.agent.execution import ExecutionContext
from tarsy.agent.model_call import ModelCall, WholeText, failed_closes
from tarsy.agent.prompt.builder import READ_RESULT_TOOL
from tarsy.agent.scribe import Scribe
from tarsy.config.resolved import ResolvedSummarization
from tarsy.domain.interaction import LLMInteractionKind
from tarsy.domain.timeline import TimelineEventType
from tarsy.domain.tool import ToolName, ToolResult
from tarsy.kit.text import clip, estimate_tokens
from tarsy.llm.client import GenerateInput

_CHARACTERS_PER_TOKEN = 4
# What a summarising model is given of a huge result at most: half of a common window.
_SUMMARY_INPUT_TOKENS = 60_000


class Summarizer:
    """Decides what of a result the model is shown."""

    def __init__(self, context: ExecutionContext, scribe: Scribe) -> None:
        self._context = context
        self._scribe = scribe

    async def shown(self, result: ToolResult, question: str) -> str:
        """The result itself, its summary, or its beginning: whatever the model can carry."""
        settings = self._settings(result)
        if settings:
            summary = await self._summarize(result, settings, question)
            if summary:
                return f"{summary}\n\n[Summary of a result of {len(result.content)} characters. {_whole(result)}]"
            return self._clipped(result, settings.size_threshold_tokens)
        limit = self._limit()
        return self._clipped(result, limit) if estimate_tokens(result.content) > limit else result.content

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
        provider = self._context.config.provider
        share = (provider.context_window or DEFAULT_WINDOW) // 4
        return min(provider.max_tool_result_tokens or share, share)

    def _clipped(self, result: ToolResult, limit_tokens: int) -> str:
        return clip(result.content, limit_tokens * _CHARACTERS_PER_TOKEN) + f"\n[{_whole(result)}]"

    async def _summarize(self, result: ToolResult, settings: ResolvedSummarization, question: str) -> str | None:
        config = self._context.config
        name = ToolName.parse(result.call.name)
        if name is None:
            return None
        text = clip(result.content, _SUMMARY_INPUT_TOKENS * _CHARACTERS_PER_TOKEN)
        messages = self._context.prompts.build_mcp_summarization_messages(
            name.server, name.tool, question, text, settings.summary_max_token_limit
        )
        request = GenerateInput(
            session_id=self._context.session_id,
            execution_id=self._context.execution_id,
            messages=messages,
            provider=settings.provider or config.provider,
            backend=settings.backend or config.llm_backend,
            track=f"{self._context.track}/summary/{result.call.id}",
        )
        router = WholeText(TimelineEventType.MCP_TOOL_SUMMARY)
        call = await ModelCall(self._context, self._scribe, router).run(
            request, LLMInteractionKind.SUMMARIZATION, within=config.llm_call_timeout, own_messages=True
        )
        if call.answer.error or not call.answer.text.strip():
            await self._scribe.commit(closed=failed_closes(call, self._scribe), llm_interactions=(call.interaction,))
            return None
        closed = (self._scribe.close(call.open_event[0], metadata={"call_id": result.call.id}),) if call.open_event else ()
        await self._scribe.commit(closed=closed, llm_interactions=(call.interaction,))
        return call.answer.text


def _whole(result: ToolResult) -> str:
    return f'Read any part of the whole with {READ_RESULT_TOOL}, call_id "{result.call.id}".'
