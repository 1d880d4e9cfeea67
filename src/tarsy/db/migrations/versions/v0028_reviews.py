"""Store reviews of sessions, the triage of sessions and incidents, and where the actions in the audit log came from.

Revision ID: 0028
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.schema import SchemaItem

revision = "0028"
down_revision = "0027"


def upgrade() -> None:
    op.create_table(
        "session_reviews",
        sa.Column("session_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("useful", sa.Boolean(), nullable=False),
        sa.Column("accuracy", sa.Text(), nullable=True),
        sa.Column("actual_cause", sa.Text(), server_default="", nullable=False),
        sa.Column("action_taken", sa.Text(), server_default="", nullable=False),
        sa.Column("reviewer", sa.Text(), nullable=False),
        sa.Column("reviewed_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("accuracy IN ('accurate', 'partly', 'wrong')", name=op.f("ck_session_reviews_accuracy")),
        sa.ForeignKeyConstraint(["session_id"], ["alert_sessions.id"], name=op.f("fk_session_reviews_session_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("session_id", name=op.f("pk_session_reviews")),
    )
    op.create_table(
        "triage",
        *_subject("triage"),
        sa.Column("acknowledged_by", sa.Text(), nullable=True),
        sa.Column("acknowledged_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("assignee", sa.Text(), nullable=True),
        sa.UniqueConstraint("session_id", name=op.f("uq_triage_session_id")),
        sa.UniqueConstraint("incident_id", name=op.f("uq_triage_incident_id")),
    )
    op.create_table(
        "comments",
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        *_subject("comments"),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_comments")),
    )
    op.create_index(op.f("ix_comments_session_id"), "comments", ["session_id"])
    op.create_index(op.f("ix_comments_incident_id"), "comments", ["incident_id"])
    op.add_column("audit_log", sa.Column("origin", sa.Text(), nullable=True))
    op.create_index(op.f("ix_audit_log_at"), "audit_log", ["at"])


def _subject(table: str) -> tuple[SchemaItem, ...]:
    return (
        sa.Column("session_id", sa.Uuid(as_uuid=False), nullable=True),
        sa.Column("incident_id", sa.Uuid(as_uuid=False), nullable=True),
        sa.CheckConstraint("(session_id IS NULL) <> (incident_id IS NULL)", name=op.f(f"ck_{table}_subject")),
        sa.ForeignKeyConstraint(["session_id"], ["alert_sessions.id"], name=op.f(f"fk_{table}_session_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["incident_id"], ["incidents.id"], name=op.f(f"fk_{table}_incident_id"), ondelete="CASCADE"),
    )
