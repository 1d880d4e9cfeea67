"""Verdicts and checked citations; the turn in which an answer is corrected.

Revision ID: 0008
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0008"
down_revision = "0007"

_KINDS = "ck_llm_interactions_kind"
_BEFORE = "kind IN ('iteration', 'forced_conclusion', 'single_shot', 'summarization')"
_NOW = "kind IN ('iteration', 'forced_conclusion', 'correction', 'single_shot', 'summarization')"
_LIVE = "deleted_at IS NULL AND verdict_outcome IS NOT NULL"


def upgrade() -> None:
    op.drop_constraint(op.f(_KINDS), "llm_interactions", type_="check")
    op.create_check_constraint(op.f(_KINDS), "llm_interactions", _NOW)
    for name, kind in (("verdict", postgresql.JSONB()), ("verdict_outcome", sa.Text()), ("verdict_confidence", sa.Text())):
        op.add_column("alert_sessions", sa.Column(name, kind, nullable=True))
    op.add_column("alert_sessions", sa.Column("verdict_object", sa.Text(), nullable=True))
    op.add_column("alert_sessions", sa.Column("verdict_search", postgresql.TSVECTOR(), nullable=True))
    op.add_column("alert_sessions", sa.Column("citations", postgresql.JSONB(), nullable=True))
    outcomes, confidences = "'fault', 'no_fault', 'inconclusive'", "'high', 'medium', 'low'"
    op.create_check_constraint(op.f("ck_alert_sessions_verdict_outcome"), "alert_sessions", f"verdict_outcome IN ({outcomes})")
    op.create_check_constraint(op.f("ck_alert_sessions_verdict_confidence"), "alert_sessions", f"verdict_confidence IN ({confidences})")
    op.create_index(
        "ix_alert_sessions_by_outcome",
        "alert_sessions",
        ["verdict_outcome", sa.text("created_at DESC"), sa.text("id DESC")],
        postgresql_where=sa.text(_LIVE),
    )
    op.create_index("ix_alert_sessions_verdict_search", "alert_sessions", ["verdict_search"], postgresql_using="gin")
    op.create_table(
        "citations",
        sa.Column("session_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("execution_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("start", sa.Integer(), nullable=False),
        sa.Column("end", sa.Integer(), nullable=False),
        sa.Column("evidence_id", sa.Text(), nullable=False),
        sa.Column("quotation", sa.Text(), nullable=True),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("nearest", sa.Text(), nullable=False),
        sa.Column("found_start", sa.Integer(), nullable=True),
        sa.Column("found_end", sa.Integer(), nullable=True),
        sa.CheckConstraint("status IN ('quote_found', 'id_only', 'failed')", name=op.f("ck_citations_status")),
        sa.ForeignKeyConstraint(["execution_id"], ["agent_executions.id"], name=op.f("fk_citations_execution_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["session_id"], ["alert_sessions.id"], name=op.f("fk_citations_session_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("execution_id", "number", name=op.f("pk_citations")),
    )
    op.create_index(op.f("ix_citations_session_id"), "citations", ["session_id"])
