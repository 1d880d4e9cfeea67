"""PgBouncer between TARSy and PostgreSQL: session mode works as it is installed, the other modes are refused."""

import anyio
import pytest
from sqlalchemy import text

from support.pgbouncer import PROGRAM, pgbouncer
from tarsy.db.connection import IDLE_IN_TRANSACTION_SECONDS, create_engine, listen_connection
from tarsy.db.embedded.server import open_database
from tarsy.db.errors import DatabaseUnavailableError
from tarsy.db.migrate import upgrade

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="PgBouncer is not installed: apt-get install pgbouncer")


async def test_session_mode_needs_no_setting_of_pgbouncer(empty_database_url: str) -> None:
    with pgbouncer(empty_database_url, "session") as url:
        async with open_database(url, None) as opened:
            engine = create_engine(opened, connections=2)
            await upgrade(engine)
            async with engine.connect() as connection:
                assert await connection.scalar(text("SHOW timezone")) == "UTC"
                assert await connection.scalar(text("SHOW idle_in_transaction_session_timeout")) == f"{IDLE_IN_TRANSACTION_SECONDS}s"
                assert await connection.scalar(text("SHOW random_page_cost")) == "1.1"
            await engine.dispose()


@pytest.mark.parametrize(("mode", "words"), [("transaction", "pool_mode = session"), ("statement", "statement pooling mode")])
async def test_a_mode_without_sessions_is_refused_with_the_reason(database_url: str, mode: str, words: str) -> None:
    with pgbouncer(database_url, mode) as url:
        # Others use the pool too: their connections must not hide the mode.
        async with listen_connection(url) as other, listen_connection(url) as another, anyio.create_task_group() as tasks:
            for connection in (other, another):
                tasks.start_soon(connection.execute, "SELECT pg_sleep(0.3)")
            with pytest.raises(DatabaseUnavailableError, match=words):
                async with open_database(url, None):
                    pass
