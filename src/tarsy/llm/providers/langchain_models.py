"""LangChain's chat models, one per vendor, made so that retries, time limits and connections are ours. Imported on first use.

Each vendor's package is imported only when a provider of its type is first used; vertexai and xai are extras.
"""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, assert_never

from langchain_core.language_models import BaseChatModel
from pydantic import SecretStr

from tarsy.domain.llm import ProviderType
from tarsy.llm.access import Access
from tarsy.llm.failures import HOOKS
from tarsy.llm.providers.provider import ProviderNotInstalledError

# Models that think, and say so only through the Responses API.
_RESPONSES = re.compile(r"(?:o\d|gpt-(?:[5-9]|\d\d)|codex)(?!.*chat)")
_CLAUDE = re.compile(r"claude")
_GEMINI_3 = re.compile(r"gemini-(?:[3-9]|\d\d)")

# What SDKs want to see where a server asks for no key.
NO_KEY = "none"


class Dialect(StrEnum):
    """How a conversation is put to the model: what differs between vendors beyond what LangChain evens out."""

    CHAT_COMPLETIONS = "chat-completions"
    RESPONSES = "responses"
    ANTHROPIC = "anthropic"
    GOOGLE = "google"


@dataclass(frozen=True, slots=True)
class ModelKey:
    access: Access
    model: str


@dataclass(frozen=True, slots=True)
class ChatModel:
    """A model ready to be asked, and how to let go of its connections."""

    chat: BaseChatModel
    dialect: Dialect
    aclose: Callable[[], Awaitable[None]]


def make_model(key: ModelKey) -> ChatModel:
    """Make the chat model for `key`.

    Raises:
        ProviderNotInstalledError: the vendor's package is missing.
        CredentialsMissingError: the credentials file cannot be used.
    """
    match key.access.type:
        case ProviderType.OPENAI:
            made = _openai(key)
        case ProviderType.ANTHROPIC:
            made = _anthropic(key)
        case ProviderType.GOOGLE:
            made = _google(key)
        case ProviderType.VERTEXAI:
            made = _anthropic_on_vertex(key) if _CLAUDE.search(key.model) else _google(key)
        case ProviderType.XAI:
            made = _xai(key)
        case ProviderType.REPLAY:
            raise ValueError("a recording is not played by LangChain")
        case _:
            assert_never(key.access.type)
    return made


def _openai(key: ModelKey) -> ChatModel:
    from openai import DefaultAsyncHttpxClient  # noqa: PLC0415 - heavy, imported on first use

    from tarsy.llm.providers.reasoning_openai import ReasoningChatOpenAI  # noqa: PLC0415 - heavy, imported on first use

    responses = _RESPONSES.match(key.model) is not None
    extra: dict[str, Any] = (
        # Nothing is stored at the vendor: what it thought comes back to us encrypted, and we return it with the next turn.
        {"output_version": "responses/v1", "store": False, "include": ["reasoning.encrypted_content"]} if responses else {}
    )
    chat = ReasoningChatOpenAI(
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
    # The SDK imports these when they are first touched, which takes long enough to stop an event loop.
    _ = chat.root_async_client.responses if responses else chat.root_async_client.chat.completions
    return ChatModel(chat, Dialect.RESPONSES if responses else Dialect.CHAT_COMPLETIONS, chat.root_async_client.close)


def _anthropic(key: ModelKey) -> ChatModel:
    from tarsy.llm.providers.pooled_anthropic import PooledChatAnthropic  # noqa: PLC0415 - heavy, imported on first use

    chat = PooledChatAnthropic(
        model_name=key.model,
        api_key=SecretStr(key.access.api_key or NO_KEY),
        base_url=key.access.base_url,
        max_retries=0,
        timeout=None,
        stop=None,
    )
    chat.prepare()
    return ChatModel(chat, Dialect.ANTHROPIC, chat.close)


def _anthropic_on_vertex(key: ModelKey) -> ChatModel:
    from tarsy.llm.providers.google_client import google_credentials  # noqa: PLC0415 - heavy, imported on first use
    from tarsy.llm.providers.pooled_anthropic import VertexChatAnthropic  # noqa: PLC0415 - heavy, imported on first use

    settings: dict[str, Any] = {
        "project": key.access.project,
        "location": key.access.location,
        "credentials": google_credentials(key.access),
        "endpoint": key.access.base_url,
    }
    chat = VertexChatAnthropic(model_name=key.model, api_key=SecretStr(NO_KEY), max_retries=0, timeout=None, stop=None, **settings)
    chat.prepare()
    return ChatModel(chat, Dialect.ANTHROPIC, chat.close)


def _google(key: ModelKey) -> ChatModel:
    from langchain_google_genai import ChatGoogleGenerativeAI  # noqa: PLC0415 - heavy, imported on first use

    from tarsy.llm.providers.google_client import make_client  # noqa: PLC0415 - heavy, imported on first use

    thinking: dict[str, Any] = {"thinking_level": "high"} if _GEMINI_3.search(key.model) else {}
    # One attempt: retries are counted in one place, ours. The key is not used, for the client is ours too.
    chat = ChatGoogleGenerativeAI(
        model=key.model,
        vertexai=False,
        api_key=SecretStr(NO_KEY),
        temperature=None,
        include_thoughts=True,
        max_retries=1,
        timeout=None,
        **thinking,
    )
    client = make_client(key.access)
    chat.client = client.sdk
    return ChatModel(chat, Dialect.GOOGLE, client.aclose)


def _xai(key: ModelKey) -> ChatModel:
    try:
        from langchain_xai import ChatXAI  # noqa: PLC0415 - an extra, imported on first use
    except ImportError as error:
        raise _missing("xai", "xAI") from error
    from openai import DefaultAsyncHttpxClient  # noqa: PLC0415 - heavy, imported on first use

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
    return ChatModel(chat, Dialect.CHAT_COMPLETIONS, http.aclose)


def _missing(extra: str, what: str) -> ProviderNotInstalledError:
    return ProviderNotInstalledError(f"{what} needs a package that is not installed: pip install 'tarsy[{extra}]'")
