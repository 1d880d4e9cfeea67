"""ChatAnthropic with a connection pool of its own, so that closing one model leaves other models' connections open. Imported on first use."""

from functools import cached_property
from typing import Any

import anthropic
from anthropic.lib.vertex import AsyncAnthropicVertex
from langchain_anthropic import ChatAnthropic
from langchain_anthropic.chat_models import _create_usage_metadata  # pyright: ignore[reportPrivateUsage, reportUnknownVariableType] - the sum of input and cache is the vendor's business
from langchain_core.messages import AIMessageChunk

from tarsy.llm.failures import HOOKS
from tarsy.llm.providers.langchain import USAGE_AT_START


class PooledChatAnthropic(ChatAnthropic):
    """LangChain shares one pool among all models of an address for the life of the process; this one does not."""

    @cached_property
    def _async_client(self) -> anthropic.AsyncClient:
        return anthropic.AsyncClient(**self._client_params, http_client=_http())

    def _make_message_chunk_from_anthropic_event(self, event: Any, **options: Any) -> tuple[AIMessageChunk | None, Any]:
        """LangChain leaves the input's size to the last event, and servers that speak like Claude tell it only in the first."""
        chunk, block_start = super()._make_message_chunk_from_anthropic_event(event, **options)
        if chunk is not None and event.type == "message_start":
            chunk.response_metadata[USAGE_AT_START] = _create_usage_metadata(event.message.usage)
        return chunk, block_start

    def prepare(self) -> None:
        """Make the client now: its certificates and late imports take long enough to stop an event loop."""
        _ = self._async_client.messages

    async def close(self) -> None:
        await self._async_client.close()


class VertexChatAnthropic(PooledChatAnthropic):
    """The same models behind Google's door. LangChain's own package for it takes seconds to import and knows less of Claude."""

    project: str
    location: str
    credentials: Any = None
    # None lets the SDK find the region's address.
    endpoint: str | None = None

    @cached_property
    def _async_client(self) -> Any:
        return AsyncAnthropicVertex(
            project_id=self.project,
            region=self.location,
            credentials=self.credentials,
            base_url=self.endpoint,
            max_retries=self.max_retries,
            timeout=self.default_request_timeout,
            http_client=_http(),
        )


def _http() -> anthropic.DefaultAsyncHttpxClient:
    return anthropic.DefaultAsyncHttpxClient(timeout=None, event_hooks=HOOKS)
