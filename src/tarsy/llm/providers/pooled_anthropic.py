"""ChatAnthropic with a connection pool of its own, so that closing one model leaves other models' connections open. Imported on first use."""

from functools import cached_property
from typing import Any

import anthropic
from anthropic.lib.vertex import AsyncAnthropicVertex
from langchain_anthropic import ChatAnthropic


class PooledChatAnthropic(ChatAnthropic):
    """LangChain shares one pool among all models of an address for the life of the process; this one does not."""

    @cached_property
    def _async_client(self) -> anthropic.AsyncClient:
        return anthropic.AsyncClient(**self._client_params)

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
        )
