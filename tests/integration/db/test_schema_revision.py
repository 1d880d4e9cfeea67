"""Whether a database can be used as it is, asked before anything heavy is loaded."""

from tarsy.db.connection import create_engine
from tarsy.db.migrate import is_current, upgrade


async def test_a_database_is_current_once_it_was_migrated(empty_database_url: str) -> None:
    assert not await is_current(empty_database_url)
    engine = create_engine(empty_database_url)
    try:
        await upgrade(engine)
    finally:
        await engine.dispose()
    assert await is_current(empty_database_url)
    assert await is_current(empty_database_url.replace("postgresql://", "postgresql+asyncpg://", 1))


async def test_a_database_that_does_not_answer_is_not_current() -> None:
    assert not await is_current("postgresql://nobody@127.0.0.1:1/nothing")
    assert not await is_current("not an address")
