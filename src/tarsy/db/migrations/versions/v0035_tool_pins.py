"""Store the tools of tool servers as administrators accepted them.

Revision ID: 0035
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0035"
down_revision = "0034"


def upgrade() -> None:
    op.create_table(
        "tool_pins",
        sa.Column("server", sa.Text(), nullable=False),
        sa.Column("tools", JSONB(), nullable=False),
        sa.Column("accepted_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("accepted_by", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("server", name=op.f("pk_tool_pins")),
    )
