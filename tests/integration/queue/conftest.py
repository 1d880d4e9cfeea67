from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from support.queue_ground import Ground
from support.queue_scenario import Scenario, scenario, short
from tarsy.db.connection import create_engine


@pytest.fixture
async def engine(database_url: str) -> AsyncGenerator[AsyncEngine]:
    engine = create_engine(database_url)
    yield engine
    await engine.dispose()


@pytest.fixture
def ground(database_url: str, tmp_path: Path) -> Ground:
    return Ground(database_url, tmp_path)


@pytest.fixture
def made(tmp_path: Path) -> Scenario:
    return scenario(short(0.0), tmp_path, scored=True)
