"""Inputs of runs, and the ids by which agents cite tool results.

Revision ID: 0007
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.add_column("mcp_interactions", sa.Column("evidence_id", sa.Text(), nullable=True))
    op.create_table(
        "run_inputs",
        sa.Column("session_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("execution_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("track", sa.Text(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("fields", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.ForeignKeyConstraint(["execution_id"], ["agent_executions.id"], name=op.f("fk_run_inputs_execution_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["session_id"], ["alert_sessions.id"], name=op.f("fk_run_inputs_session_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("execution_id", "turn", "kind", "name", name=op.f("pk_run_inputs")),
    )
    op.create_index(op.f("ix_run_inputs_session_id"), "run_inputs", ["session_id"])
