"""Store tool calls that need a person's approval.

Revision ID: 0033
"""

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"


def upgrade() -> None:
    op.create_table(
        "approvals",
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("session_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("execution_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("work_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("call_id", sa.Text(), nullable=False),
        sa.Column("evidence_id", sa.Text(), nullable=False),
        sa.Column("server", sa.Text(), nullable=False),
        sa.Column("tool", sa.Text(), nullable=False),
        sa.Column("arguments", sa.Text(), nullable=False),
        sa.Column("call_hash", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("requested_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("decided_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("decided_by", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), server_default="", nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("was_interrupted", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.CheckConstraint("state IN ('pending', 'approved', 'rejected', 'expired')", name=op.f("ck_approvals_state")),
        sa.ForeignKeyConstraint(["session_id"], ["alert_sessions.id"], name=op.f("fk_approvals_session_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["execution_id"], ["agent_executions.id"], name=op.f("fk_approvals_execution_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_approvals")),
        sa.UniqueConstraint("execution_id", "call_id", name=op.f("uq_approvals_execution_id_call_id")),
    )
    op.create_index(op.f("ix_approvals_session_id"), "approvals", ["session_id"])
    op.create_index(op.f("ix_approvals_requested_at"), "approvals", ["requested_at"])
