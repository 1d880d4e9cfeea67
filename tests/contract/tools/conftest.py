"""Every test of tool servers looks at its own processes only."""

import pytest

from support.own_processes import note_earlier


@pytest.fixture(autouse=True)
def _own_processes_only() -> None:
    note_earlier()
