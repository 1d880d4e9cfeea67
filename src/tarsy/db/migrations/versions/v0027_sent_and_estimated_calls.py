"""Store which reserved model calls were sent, and which calls have estimated tokens.

Revision ID: 0027
"""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    # NULL for existing rows: their requests may have been sent.
    op.add_column("reservations", sa.Column("unsent_under", sa.Uuid(as_uuid=False), nullable=True))
    op.add_column("llm_interactions", sa.Column("usage_estimated", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.add_column("session_spending", sa.Column("estimated_calls", sa.BigInteger(), server_default="0", nullable=False))
