"""Sessions that were forked from others say from where.

Revision ID: 0017
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.add_column("alert_sessions", sa.Column("fork", JSONB()))
