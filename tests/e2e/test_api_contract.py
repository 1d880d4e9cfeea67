"""The OpenAPI document against the running server: whatever is sent, the answer is one that the document allows, and never a 5xx."""

# The decorators of schemathesis are typed in part only.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUntypedFunctionDecorator=false, reportUnknownArgumentType=false

import threading
from collections.abc import Iterator
from typing import Any

import anyio
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

from support.api_world import world
from tarsy.api.app import describe_app, openapi_document

# Server-sent events have no end: a tester that reads to it would wait for ever.
schema = schemathesis.openapi.from_dict(openapi_document(describe_app())).exclude(path_regex="/events$")


@pytest.fixture(scope="module")
def served(module_database_url: str) -> Iterator[str]:
    """The address of a server in a thread of its own."""
    ready, done = threading.Event(), threading.Event()
    ports: list[int] = []

    async def serve() -> None:
        async with world(module_database_url) as api:
            await api.submit()
            ports.append(api.port)
            ready.set()
            await anyio.to_thread.run_sync(done.wait)

    thread = threading.Thread(target=anyio.run, args=(serve,), daemon=True)
    thread.start()
    assert ready.wait(30)
    yield f"http://127.0.0.1:{ports[0]}"
    done.set()
    thread.join(30)


@schema.parametrize()
@settings(
    max_examples=15,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
def test_whatever_is_sent_the_answer_keeps_the_contract(case: schemathesis.Case[Any], served: str) -> None:
    # Not every well-formed request can be met: sessions and alert types are made up here.
    case.call_and_validate(base_url=served, excluded_checks=[positive_data_acceptance])
