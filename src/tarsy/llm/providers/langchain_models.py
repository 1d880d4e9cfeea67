"""LangChain's chat models, one per vendor, with retries, time limits and connections of our own. The package for xAI is an extra."""

import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, assert_never

from langchain_core.language_models import BaseChatModel
from langchain_openai import ChatOpenAI
from openai import DefaultAsyncHttpxClient
from pydantic import SecretStr

from tarsy.domain.llm import ProviderType
from tarsy.llm.failures import HOOKS
from tarsy.llm.providers.provider import NO_KEY, ModelKey, ProviderNotInstalledError

# Models that think, and report it only through the Responses API.
_RESPONSES = re.compile(r"(?:o\d|gpt-(?:[5-9]|\d\d)|codex)(?!.*chat)")

# The type of the content block in which a delta's reasoning passes through LangChain.
REASONING = "reasoning_content"


@dataclass(frozen=True, slots=True)
class ChatModel:
    """A chat model, whether it is called through the Responses API instead of Chat Completions, and how to close its connections."""

    chat: BaseChatModel
    uses_responses: bool
    aclose: Callable[[], Awaitable[None]]


def make_model(key: ModelKey) -> ChatModel:
    """Make the chat model for `key`.

    Raises:
        ProviderNotInstalledError: the vendor's package is missing.
    """
    match key.access.type:
        case ProviderType.OPENAI:
            return _openai(key)
        case ProviderType.XAI:
            return _xai(key)
        case ProviderType.GOOGLE | ProviderType.VERTEXAI | ProviderType.ANTHROPIC | ProviderType.REPLAY:
            raise ValueError(f"providers of type {key.access.type} do not use LangChain")
        case _:
            assert_never(key.access.type)


def _openai(key: ModelKey) -> ChatModel:
    responses = _RESPONSES.match(key.model) is not None
    extra: dict[str, Any] = (
        # Nothing is stored at the vendor: its reasoning comes to us encrypted, and is sent back with the next turn.
        {"output_version": "responses/v1", "store": False, "include": ["reasoning.encrypted_content"]} if responses else {}
    )
    chat = ChatOpenAI(
        model=key.model,
        api_key=SecretStr(key.access.api_key or NO_KEY),
        base_url=key.access.base_url,
        use_responses_api=responses,
        stream_usage=True,
        max_retries=0,
        timeout=None,
        stream_chunk_timeout=None,
        http_async_client=DefaultAsyncHttpxClient(timeout=None, event_hooks=HOOKS),
        **extra,
    )
    chat.async_client = ReasoningCompletions(chat.async_client)
    return ChatModel(chat, responses, chat.root_async_client.close)


def _xai(key: ModelKey) -> ChatModel:
    try:
        from langchain_xai import ChatXAI  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ProviderNotInstalledError("xAI needs a package that is not installed: pip install 'tarsy[xai]'") from error

    address: dict[str, Any] = {"base_url": key.access.base_url} if key.access.base_url else {}
    http = DefaultAsyncHttpxClient(timeout=None, event_hooks=HOOKS)
    chat = ChatXAI(
        model=key.model,
        api_key=SecretStr(key.access.api_key or NO_KEY),
        max_retries=0,
        timeout=None,
        stream_chunk_timeout=None,
        http_async_client=http,
        **address,
    )
    chat.async_client = ReasoningCompletions(chat.async_client)
    return ChatModel(chat, uses_responses=False, aclose=http.aclose)


class ReasoningCompletions:
    """The SDK's chat completions, with each delta's reasoning moved into its content.

    OpenAI-compatible servers (vLLM, llama.cpp, Ollama, DeepSeek) stream reasoning in a field beside the text, and LangChain drops it there.
    """

    def __init__(self, completions: Any) -> None:
        self._completions = completions

    async def create(self, **payload: Any) -> Any:
        return _open(await self._completions.create(**payload))


@asynccontextmanager
async def _open(stream: Any) -> AsyncGenerator[AsyncGenerator[dict[str, Any]]]:
    async def chunks() -> AsyncGenerator[dict[str, Any]]:
        async for chunk in stream:
            fields: dict[str, Any] = chunk.model_dump()
            for choice in fields.get("choices") or ():
                delta: dict[str, Any] = choice.get("delta") or {}
                given = [delta.pop(name, None) for name in (REASONING, "reasoning")]
                reasoning = next((text for text in given if isinstance(text, str) and text), None)
                if reasoning is not None:
                    text = [{"type": "text", "text": delta["content"]}] if delta.get("content") else []
                    delta["content"] = [{"type": REASONING, "text": reasoning}, *text]
            yield fields

    async with stream:
        yield chunks()
