"""What is set aside for model calls under way, so that ceilings hold across processes.

Revision ID: 0013
"""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"

_ID = sa.Uuid(as_uuid=False)


def upgrade() -> None:
    op.create_table(
        "reservations",
        sa.Column("id", _ID, nullable=False),
        sa.Column("session_id", _ID, nullable=False),
        sa.Column("stage_id", _ID, nullable=False),
        sa.Column("execution_id", _ID, nullable=False),
        sa.Column("is_kept", sa.Boolean(), nullable=False),
        sa.Column("usd", sa.Numeric(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("model_calls", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["session_id"], ["alert_sessions.id"], name=op.f("fk_reservations_session_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["execution_id"], ["agent_executions.id"], name=op.f("fk_reservations_execution_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_reservations")),
    )
    op.create_index(op.f("ix_reservations_session_id"), "reservations", ["session_id"])
    op.create_index(op.f("ix_reservations_created_at"), "reservations", ["created_at"])
