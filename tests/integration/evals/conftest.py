"""Runs of cases on the tests' own server: a database for each costs a tenth of a second, a server for each costs three.

That `tarsy eval run` starts one of its own is shown by the tests that run the command.
"""

from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tarsy.evals import run


@pytest.fixture(scope="module")
def shared_database(module_database_url: str) -> Iterator[None]:
    """For the one run that many tests look at."""
    yield from _instead_of_a_server(module_database_url)


@pytest.fixture
def own_database(database_url: str) -> Iterator[None]:
    yield from _instead_of_a_server(database_url)


def _instead_of_a_server(url: str) -> Iterator[None]:
    @asynccontextmanager
    async def opened() -> AsyncGenerator[tuple[Path, str]]:
        with TemporaryDirectory() as directory:
            yield Path(directory), url

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(run, "temporary_postgres", opened)
        yield
