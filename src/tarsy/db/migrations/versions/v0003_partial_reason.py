"""Why an analysis is partial, in words.

Revision ID: 0003
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("alert_sessions", sa.Column("analysis_partial_reason", sa.Text(), nullable=True))
