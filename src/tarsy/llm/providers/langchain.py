"""Every other model, through LangChain: OpenAI and whatever speaks like it, Anthropic, Gemini, Vertex AI, xAI."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

from tarsy.llm.access import Access
from tarsy.llm.attempts import RetryPolicy, Signal, TimeLimits, answer
from tarsy.llm.client import Chunk, GenerateInput
from tarsy.llm.client_cache import ClientCache
from tarsy.llm.memory import TurnMemory
from tarsy.llm.providers import langchain_request
from tarsy.llm.providers.langchain_answer import LangChainAnswer
from tarsy.llm.providers.langchain_models import ChatModel, ModelKey, close_model, make_model
from tarsy.llm.providers.langchain_request import Remembered
from tarsy.llm.tool_names import ToolNames
from tarsy.llm.vendor_stream import vendor_stream


class LangChainProvider:
    """Speaks to a model of any vendor."""

    def __init__(self, *, policy: RetryPolicy, memory: TurnMemory[Remembered] | None = None) -> None:
        self._policy = policy
        self._memory = memory or TurnMemory[Remembered]()
        self._models = ClientCache[ModelKey, ChatModel](make_model, close_model)

    async def generate(self, request: GenerateInput, access: Access) -> AsyncGenerator[Chunk]:
        if request.clear_cache:
            self._memory.forget(request.execution_id)
        model = await self._models.get(ModelKey(access, request.provider.model))
        names = ToolNames(tool.name for tool in request.tools)
        ask = self._question(model, request)
        limits = TimeLimits(first_chunk=request.provider.first_chunk_timeout, stall=request.provider.stall_timeout)

        async def attempt() -> AsyncGenerator[Signal]:
            heard = LangChainAnswer(names, model.dialect)
            async with vendor_stream(ask()) as stream:
                async for chunk in stream:
                    for signal in heard.signals(chunk):
                        yield signal
            for signal in heard.ending():
                yield signal
            turn = heard.turn()
            if turn is not None:
                self._memory.keep(request.execution_id, *turn)

        async with aclosing(answer(attempt, limits=limits, policy=self._policy, censor=access.censor)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def aclose(self) -> None:
        await self._models.aclose()

    def _question(self, model: ChatModel, request: GenerateInput) -> Callable[[], AsyncGenerator[Any]]:
        """Put the whole call together, so that each attempt only has to send it."""
        built = langchain_request.messages(request, model.dialect, self._memory)
        options = langchain_request.options(request, model.dialect, model.chat, self._memory)
        tools = langchain_request.tools(request.tools)
        chat: Any = model.chat.bind_tools(tools) if tools else model.chat  # pyright: ignore[reportUnknownMemberType] - untyped in the library
        return lambda: chat.astream(built, **options)
