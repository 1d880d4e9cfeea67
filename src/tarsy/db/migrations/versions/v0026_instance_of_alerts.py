"""Store which installation of a monitoring system an alert comes from.

Revision ID: 0026
"""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    op.add_column("alerts", sa.Column("instance", sa.Text(), server_default="", nullable=False))
