"""What the database shows of the installation's health, and when old data was last cleared away."""

from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy.db.driver import Statement, borrowed
from tarsy.db.processes import ALIVE
from tarsy.db.rows import read
from tarsy.db.tables import sql_list
from tarsy.domain.claim import INVESTIGATION
from tarsy.domain.diagnosis import ModelRecord, VitalSigns
from tarsy.domain.work import WorkState

CLEAN_UP = "clean-up"
BACKUP = "backup"

_SIGNS = Statement(
    f"""
    SELECT now() AS now,
        (SELECT count(*) FROM processes WHERE seen_at > now() - CAST(:alive AS interval)) AS processes,
        (SELECT coalesce(sum(workers), 0) FROM processes WHERE seen_at > now() - CAST(:alive AS interval)) AS workers,
        (SELECT min(started_at) FROM processes) AS first_process_at,
        (SELECT count(*) FROM work WHERE kind = '{INVESTIGATION}' AND state = {sql_list([WorkState.READY])}) AS waiting,
        (SELECT count(*) FROM alert_sessions WHERE deleted_at IS NULL AND created_at > now() - interval '30 minutes') AS submitted_lately,
        (SELECT count(*) FROM alert_sessions WHERE completed_at > now() - interval '30 minutes') AS ended_lately,
        (SELECT done_at FROM upkeep WHERE name = '{CLEAN_UP}') AS cleaned_up_at,
        (SELECT done_at FROM upkeep WHERE name = '{BACKUP}') AS backed_up_at
    """  # noqa: S608 - our own words
)
# By way of the newest sessions, which are indexed by time, to their calls, which are indexed by session.
_MODELS = Statement(
    """
    SELECT i.provider, i.model, count(*) AS calls, count(i.error_code) AS failed,
        (array_agg(i.error_code ORDER BY i.started_at DESC) FILTER (WHERE i.error_code IS NOT NULL))[1] AS last_error
    FROM alert_sessions s JOIN llm_interactions i ON i.session_id = s.id AND i.started_at > now() - interval '15 minutes'
    WHERE s.deleted_at IS NULL AND s.created_at > now() - interval '2 hours'
    GROUP BY 1, 2 ORDER BY 1, 2
    """
)
_DONE = Statement("INSERT INTO upkeep (name) VALUES (:name) ON CONFLICT (name) DO UPDATE SET done_at = now()")


class VitalSignsReader:
    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def read(self) -> VitalSigns:
        async with borrowed(self._engine) as connection:
            (signs,) = await _SIGNS.rows(connection, {"alive": ALIVE})
            models = await _MODELS.rows(connection)
        return read(VitalSigns, signs, models=tuple(read(ModelRecord, row) for row in models))

    async def note_clean_up(self) -> None:
        """Old data was looked for, whether there was any or not."""
        await self._note(CLEAN_UP)

    async def note_backup(self) -> None:
        """A backup of the database was made, by whatever makes them."""
        await self._note(BACKUP)

    async def _note(self, name: str) -> None:
        async with borrowed(self._engine) as connection:
            await _DONE.rows(connection, {"name": name})
