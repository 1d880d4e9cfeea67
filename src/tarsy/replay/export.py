"""Exports a session as a recording."""

from uuid import UUID

from tarsy.db.connection import create_engine
from tarsy.db.embedded.server import open_database
from tarsy.db.migrate import upgrade
from tarsy.db.session.recordings import RecordingSource
from tarsy.domain.recording import Recording
from tarsy.settings import Settings


async def read_session(settings: Settings, session_id: str) -> Recording | None:
    """Return the recording of a session in the installation's database; None if there is no such session."""
    try:
        UUID(session_id)
    except ValueError:
        return None
    async with open_database(settings.database_url, settings.data_dir) as url:
        engine = create_engine(url)
        try:
            await upgrade(engine)
            return await RecordingSource(engine).read(session_id)
        finally:
            await engine.dispose()
