"""`tarsy` for tests that run many commands: a process that is warm already."""

from collections.abc import Iterator
from functools import partial

import pytest

from support.tarsy_process import Tarsy
from support.tarsy_process import tarsy as cold_tarsy
from support.warm_tarsy import warm_tarsy


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, ...]]:
    """The command that stands for `tarsy`."""
    with warm_tarsy(tmp_path_factory.mktemp("warm")) as command:
        yield command


@pytest.fixture
def tarsy(warm: tuple[str, ...]) -> Tarsy:
    """Runs a command to its end."""
    return partial(cold_tarsy, command=warm)
