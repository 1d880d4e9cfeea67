"""Sessions that were forked from others say from where.

Revision ID: 0020
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    op.add_column("alert_sessions", sa.Column("fork", JSONB()))
