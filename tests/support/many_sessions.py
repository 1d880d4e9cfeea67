"""A server with more sessions than a test could submit: copies of one that has ended, written straight into its database."""

import sqlalchemy as sa

from support.server_database import execute
from support.tarsy_process import Served
from tarsy.db.tables import alert_sessions


def copy_session(server: Served, session_id: str, number: int) -> None:
    """Make `number` copies of a session, each a minute older than the one before."""
    execute(server, sa.text(_COPY), {"id": session_id, "number": number})


_KEPT = [column.name for column in alert_sessions.c if column.computed is None and column.name not in {"id", "created_at", "alert_data"}]
_COPY = f"""
    INSERT INTO alert_sessions (id, created_at, alert_data, {", ".join(_KEPT)})
    SELECT gen_random_uuid(), s.created_at - make_interval(mins => n), 'Row ' || n || ' of many', {", ".join(f"s.{name}" for name in _KEPT)}
    FROM alert_sessions s, generate_series(1, :number) n WHERE s.id = :id
    """  # noqa: S608 - our own words
