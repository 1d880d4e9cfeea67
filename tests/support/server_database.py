"""The database of a running server, for rows that no request could make in a test's time."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine

from support.tarsy_process import Served
from tarsy.cli.db import with_upgraded_engine


def execute(server: Served, statement: sa.Executable, parameters: Mapping[str, Any] | None = None) -> None:
    async def run(engine: AsyncEngine) -> None:
        async with engine.begin() as connection:
            await connection.execute(statement, parameters)

    # In a thread of its own: the browser's driver keeps an event loop running in this one.
    with ThreadPoolExecutor(1) as threads:
        threads.submit(with_upgraded_engine, run, None, Path(server.env["TARSY_DATA_DIR"])).result()
