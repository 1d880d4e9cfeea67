"""Mark notifications that a person has sent again, which no quiet hours hold back.

Revision ID: 0036
"""

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"


def upgrade() -> None:
    op.add_column("notifications", sa.Column("is_sent_again", sa.Boolean(), nullable=False, server_default=sa.false()))
