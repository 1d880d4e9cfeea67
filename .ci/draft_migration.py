"""Write the next migration from the difference between the migrated schema and `tarsy.db.tables`; a person reviews it."""

import sys
import tempfile
from pathlib import Path

import anyio
from alembic import command
from sqlalchemy import Connection

from tarsy.db import migrate
from tarsy.db.connection import create_engine
from tarsy.db.embedded.server import embedded_postgres


def draft(connection: Connection, message: str) -> None:
    config = migrate.alembic_config()
    config.attributes["connection"] = connection
    command.revision(config, message, autogenerate=True, rev_id=f"{int(migrate.head()) + 1:04}")


async def main(message: str) -> None:
    with tempfile.TemporaryDirectory() as directory:
        async with embedded_postgres(Path(directory)) as url:
            engine = create_engine(url)
            await migrate.upgrade(engine)
            async with engine.connect() as connection:
                await connection.run_sync(draft, message)
            await engine.dispose()


if not sys.argv[1:] or not sys.argv[1].strip():
    sys.exit('Say what changes: make migration MESSAGE="add the colour of a session"')
anyio.run(main, sys.argv[1])
