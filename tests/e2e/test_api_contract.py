"""The OpenAPI document against the running server: whatever is sent, the answer is one that the document allows, and never a 5xx."""

# The decorators of schemathesis are typed in part only.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUntypedFunctionDecorator=false, reportUnknownArgumentType=false

import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import anyio
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.generation.meta import CoveragePhaseData
from schemathesis.schemas import BaseSchema
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from support.api_world import world
from tarsy.api.app import openapi_document

# Where operations have parameters in common.
SHARED = ("query", "header")
LONGEST_QUERY = 60_000
# Whether this is a run of all tests; `make chaos` tries more, for most of an hour.
STEADY = settings.get_current_profile_name() == "steady"

# A fixture, since making the requests takes seconds: the one process that runs the test makes them, not each that collects it.
# Server-sent events have no end: a tester that reads to it would wait for ever.
schema = schemathesis.pytest.from_fixture("openapi").exclude(path_regex="/events$")


@pytest.fixture(scope="module")
def openapi() -> BaseSchema:
    return schemathesis.openapi.from_dict(openapi_document())


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


@pytest.fixture(scope="module")
def session() -> Iterator[requests.Session]:
    """One connection for thousands of requests, which need not ask the environment for a proxy."""
    with requests.Session() as session:
        session.trust_env = False
        yield session


@pytest.fixture(scope="module")
def tried() -> set[tuple[object, ...]]:
    """The kinds of values that were sent already, with the parameter of each, and the operation where parameters are its own."""
    return set()


@pytest.mark.timeout(600 if STEADY else 5400)
@schema.parametrize()
@settings(
    # For each operation, beside those of its parameters; with the profile of `make chaos` a hundred times as many, and new ones each time.
    max_examples=settings().max_examples // 20,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
def test_whatever_is_sent_the_answer_keeps_the_contract(
    case: schemathesis.Case[Any], served: str, session: requests.Session, tried: set[tuple[object, ...]]
) -> None:
    # Of several values of the same kind for the same parameter, the first, and operations share their query parameters and headers;
    # `make chaos` sends all.
    made = case.meta.phase.data if case.meta and STEADY else None
    if isinstance(made, CoveragePhaseData):
        operation = None if made.parameter_location in SHARED else case.operation.label
        kind = operation, made.scenario, made.parameter_location, made.parameter, made.location
        if kind in tried:
            return
        tried.add(kind)
    # The HTTP parser itself refuses longer addresses, in plain text.
    if len(urlencode(case.query or {}, doseq=True)) > LONGEST_QUERY:
        return
    # Of a parameter that is repeated though it is no list, the last value counts: what came before it is not looked at.
    lists = {parameter.name for parameter in case.operation.query if "array" in str(parameter.definition["schema"])}
    repeated = any(isinstance(value, list) for name, value in (case.query or {}).items() if name not in lists)
    ignored = [negative_data_rejection] if repeated else []
    # Not every well-formed request can be met: sessions and alert types are made up here. Some are about all of the thousands of sessions
    # that others have made.
    case.call_and_validate(base_url=served, session=session, excluded_checks=[positive_data_acceptance, *ignored], timeout=60)
