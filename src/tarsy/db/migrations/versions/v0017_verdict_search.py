"""Only sessions with a verdict in the index of their words: a search went through all that have none as well.

Revision ID: 0017
"""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"

_INDEX = "ix_alert_sessions_verdict_search"


def upgrade() -> None:
    op.drop_index(_INDEX, table_name="alert_sessions")
    having = sa.text("verdict_search IS NOT NULL")
    op.create_index(_INDEX, "alert_sessions", ["verdict_search"], postgresql_using="gin", postgresql_where=having)
