"""ChatAnthropic with a connection pool of its own, so that closing one model closes nobody else's connections."""

from functools import cached_property

import anthropic
from langchain_anthropic import ChatAnthropic


class PooledChatAnthropic(ChatAnthropic):
    """LangChain shares one pool among all models of an address for the life of the process; this one does not."""

    @cached_property
    def _async_client(self) -> anthropic.AsyncClient:
        return anthropic.AsyncClient(**self._client_params)

    async def close(self) -> None:
        await self._async_client.close()
