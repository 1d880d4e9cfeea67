"""Two processes on one real database."""

from collections.abc import AsyncGenerator

import pytest

from support.live_node import LiveNode, live_node


@pytest.fixture
async def here(database_url: str) -> AsyncGenerator[LiveNode]:
    async with live_node(database_url) as node:
        yield node


@pytest.fixture
async def there(database_url: str) -> AsyncGenerator[LiveNode]:
    async with live_node(database_url) as node:
        yield node
