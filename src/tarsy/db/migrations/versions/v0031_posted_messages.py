"""Store the message that a notification posted, so that later ones update it and reply to it.

Revision ID: 0031
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0031"
down_revision = "0030"


def upgrade() -> None:
    op.add_column("notifications", sa.Column("posted", postgresql.JSONB(astext_type=sa.Text()), nullable=True))
