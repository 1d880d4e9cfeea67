"""Both transports over the same providers: what one says, the other must say too."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from support.asking import Asking
from support.vendor_server import VendorServer, vendor_server
from support.vendors import VENDORS, Vendor
from tarsy.agent.ports import LLMClient
from tarsy.llm.attempts import RetryPolicy
from tarsy.llm.grpc_client import GrpcLLMClient
from tarsy.llm.in_process import in_process_client
from tarsy.llm.service import start_service

ENV = {"VENDOR_KEY": "sk-secret"}
# The same counts as in production, without the waiting.
POLICY = RetryPolicy(base_delay=0.01, empty_delay=0.01)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """In one process: importing what the vendors offer takes longer than the tests."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("llm"))


@asynccontextmanager
async def open_client(transport: str) -> AsyncGenerator[LLMClient]:
    client = in_process_client(env=ENV, policy=POLICY)
    if transport == "in-process":
        yield client
        await client.aclose()
        return
    service = await start_service(client, host="127.0.0.1", port=0)
    remote = GrpcLLMClient(f"127.0.0.1:{service.port}", env={})
    yield remote
    await remote.aclose()
    await service.stop(grace=0)


# Shared by a module's tests, since making SDK clients is what takes time.
@pytest.fixture(params=["in-process", "grpc"], scope="module")
async def client(request: pytest.FixtureRequest) -> AsyncGenerator[LLMClient]:
    async with open_client(request.param) as opened:
        yield opened


@pytest.fixture(scope="module")
async def shared_server() -> AsyncGenerator[VendorServer]:
    async with vendor_server() as running:
        yield running


@pytest.fixture
def server(shared_server: VendorServer) -> VendorServer:
    shared_server.reset()
    return shared_server


@pytest.fixture(params=VENDORS, ids=lambda vendor: vendor.name)
def vendor(request: pytest.FixtureRequest) -> Vendor:
    return request.param


@pytest.fixture
def asking(client: LLMClient, server: VendorServer, vendor: Vendor) -> Asking:
    return Asking(client, server, vendor)
