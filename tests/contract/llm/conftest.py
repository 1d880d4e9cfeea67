"""Clients of scripted vendors: every vendor in process, and a sample through a gRPC service with the same providers."""

from collections.abc import AsyncGenerator, Mapping

import pytest

from support.asking import Asking, Route, Transport, routes
from support.vendor_server import VendorServer, vendor_server
from support.vendors import VENDORS, ChatCompletions, Gemini
from tarsy.agent.ports import LLMClient
from tarsy.llm.attempts import CallRetryPolicy
from tarsy.llm.grpc_client import GrpcLLMClient
from tarsy.llm.in_process import in_process_client
from tarsy.llm.service import start_service

ENV = {"VENDOR_KEY": "sk-secret"}
# The same counts as in production, without the waiting.
POLICY = CallRetryPolicy(base_delay=0.01, empty_delay=0.01)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Run all of these in one process: importing what the vendors offer takes longer than the tests."""
    item.add_marker(pytest.mark.xdist_group("llm"))


@pytest.fixture(scope="module", autouse=True)
async def one_event_loop() -> AsyncGenerator[None]:
    """Keep one event loop for the tests of a module: gRPC may report the end of a call after its test, and fails if the loop is closed then."""
    yield  # noqa: PT022 - the loop is kept while a generator waits


# Shared by a module's tests, since making SDK clients is what takes time.
@pytest.fixture(scope="module")
async def clients() -> AsyncGenerator[Mapping[Transport, LLMClient]]:
    in_process = in_process_client(env=ENV, policy=POLICY)
    service = await start_service(in_process, host="127.0.0.1", port=0)
    over_grpc = GrpcLLMClient(f"127.0.0.1:{service.port}", env={})
    yield {"in-process": in_process, "grpc": over_grpc}
    await over_grpc.aclose()
    # Closes the client in process, too.
    await service.stop(grace=0)


@pytest.fixture
def client(request: pytest.FixtureRequest, clients: Mapping[Transport, LLMClient]) -> LLMClient:
    """In process, unless a test is parametrized with transports."""
    transport: Transport = getattr(request, "param", "in-process")
    return clients[transport]


@pytest.fixture(scope="module")
async def shared_server() -> AsyncGenerator[VendorServer]:
    async with vendor_server() as running:
        yield running


@pytest.fixture
def server(shared_server: VendorServer) -> VendorServer:
    shared_server.reset()
    return shared_server


# Over gRPC, a vendor behind its own SDK and one behind LangChain: what travels there does not depend on the vendor.
@pytest.fixture(params=routes(VENDORS, over_grpc=(Gemini(), ChatCompletions())), ids=str)
def route(request: pytest.FixtureRequest) -> Route:
    return request.param


@pytest.fixture
def asking(clients: Mapping[Transport, LLMClient], server: VendorServer, route: Route) -> Asking:
    return Asking(clients[route.transport], server, route.vendor)
