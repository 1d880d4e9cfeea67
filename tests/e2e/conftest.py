"""`tarsy` for tests that run many commands: a process that is warm already."""

from functools import partial

import pytest

from support.tarsy_process import Tarsy
from support.tarsy_process import tarsy as cold_tarsy
from support.warm_tarsy import warm_command


@pytest.fixture(scope="session")
def warm() -> tuple[str, ...]:
    """The command that stands for `tarsy`."""
    return warm_command()


@pytest.fixture
def tarsy(warm: tuple[str, ...]) -> Tarsy:
    """Runs a command to its end."""
    return partial(cold_tarsy, command=warm)
