"""Every other model, through LangChain: OpenAI and whatever speaks like it, Anthropic, Gemini, Vertex AI, xAI."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import structlog

from tarsy.domain.llm import Chunk, GenerateInput
from tarsy.llm.access import Access
from tarsy.llm.attempts import RetryPolicy, Signal, TimeLimits, answer
from tarsy.llm.client_cache import ClientCache
from tarsy.llm.providers import langchain_request
from tarsy.llm.providers.langchain_answer import LangChainAnswer
from tarsy.llm.providers.langchain_models import ChatModel, Dialect, ModelKey, make_model
from tarsy.llm.providers.langchain_request import Remembered
from tarsy.llm.tool_dialect import ToolNames
from tarsy.llm.turn_memory import TurnMemory
from tarsy.llm.vendor_stream import vendor_stream

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Question:
    """One call, ready to be sent as often as it takes."""

    key: ModelKey
    dialect: Dialect
    execution_id: str
    names: ToolNames
    send: Callable[[], AsyncGenerator[Any]]


class LangChainProvider:
    """Speaks to a model of any vendor."""

    def __init__(self, *, policy: RetryPolicy, memory: TurnMemory[Remembered] | None = None) -> None:
        self._policy = policy
        self._memory = memory or TurnMemory[Remembered]()
        self._models = ClientCache[ModelKey, ChatModel](make_model)
        # Models whose vendor shows their thoughts only to organizations it has verified.
        self._without_summaries: set[ModelKey] = set()

    async def generate(self, request: GenerateInput, access: Access) -> AsyncGenerator[Chunk]:
        if request.clear_cache:
            self._memory.forget(request.execution_id)
        key = ModelKey(access, request.provider.model)
        question = self._question(key, await self._models.get(key), request)
        limits = TimeLimits.of(request.provider)
        chunks = answer(lambda: self._attempt(question), limits=limits, policy=self._policy, censor=access.censor)
        async with aclosing(chunks):
            async for chunk in chunks:
                yield chunk

    async def aclose(self) -> None:
        await self._models.aclose()

    def _question(self, key: ModelKey, model: ChatModel, request: GenerateInput) -> Question:
        """Put the call together, so that each attempt only has to send it."""
        built = langchain_request.messages(request, model.dialect, self._memory)
        chat: Any = model.chat
        if tools := langchain_request.tools(request.tools):
            chat = chat.bind_tools(tools)
        elif model.dialect is Dialect.ANTHROPIC and (used := langchain_request.used_tools(request.messages)):
            # Refuses a conversation with calls in it that offers no tools at all, and a last word is asked for without any.
            chat = chat.bind_tools(used, tool_choice={"type": "none"})

        def send() -> AsyncGenerator[Any]:
            summaries = key not in self._without_summaries
            return chat.astream(built, **langchain_request.options(request, model.dialect, model.chat, self._memory, summaries=summaries))

        return Question(key, model.dialect, request.execution_id, ToolNames(tool.name for tool in request.tools), send)

    async def _attempt(self, question: Question) -> AsyncGenerator[Signal]:
        try:
            async with aclosing(self._listen(question)) as signals:
                async for signal in signals:
                    yield signal
        except Exception as error:
            if question.key in self._without_summaries or not refuses_summaries(error):
                raise
            self._without_summaries.add(question.key)
            log.warning("llm.reasoning_summary.refused", model=question.key.model, reason=question.key.access.censor(str(error)))
        else:
            return
        async with aclosing(self._listen(question)) as signals:
            async for signal in signals:
                yield signal

    async def _listen(self, question: Question) -> AsyncGenerator[Signal]:
        heard = LangChainAnswer(question.names, question.dialect)
        async with vendor_stream(question.send()) as stream:
            async for chunk in stream:
                for signal in heard.signals(chunk):
                    yield signal
        for signal in heard.ending():
            yield signal
        turn = heard.turn()
        if turn is not None:
            self._memory.keep(question.execution_id, *turn)


def refuses_summaries(error: Exception) -> bool:
    """Whether the vendor will not show this organization what the model thinks."""
    return "reasoning summar" in str(error).lower() or "reasoning.summary" in str(error)
