"""What each model call cost, and the price that was used.

Revision ID: 0006
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.add_column("llm_interactions", sa.Column("cost_usd", sa.Numeric(), nullable=True))
    op.add_column("llm_interactions", sa.Column("price", postgresql.JSONB(), nullable=True))
