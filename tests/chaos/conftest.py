from pathlib import Path

import pytest

from support.queue_ground import Ground


@pytest.fixture
def ground(database_url: str, tmp_path: Path) -> Ground:
    return Ground(database_url, tmp_path)
