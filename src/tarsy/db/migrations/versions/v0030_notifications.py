"""Store notifications until they are delivered, and how far live events have been read for them.

Revision ID: 0030
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0030"
down_revision = "0029"


def upgrade() -> None:
    op.create_table(
        "notification_cursors",
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("last_id", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("channel", name=op.f("pk_notification_cursors")),
    )
    op.create_table(
        "notifications",
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("session_id", sa.Uuid(as_uuid=False), nullable=True),
        sa.Column("incident_id", sa.Uuid(as_uuid=False), nullable=True),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("event", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("attempts", sa.SmallInteger(), server_default="0", nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("delivered_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("status IN ('pending', 'delivered', 'dead_letter', 'expired')", name=op.f("ck_notifications_status")),
        sa.ForeignKeyConstraint(["incident_id"], ["incidents.id"], name=op.f("fk_notifications_incident_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["session_id"], ["alert_sessions.id"], name=op.f("fk_notifications_session_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notifications")),
        postgresql_with={"fillfactor": 70},
    )
    op.create_index("ix_notifications_recent", "notifications", [sa.literal_column("created_at DESC"), sa.literal_column("id DESC")])
    op.create_index(op.f("ix_notifications_session_id"), "notifications", ["session_id"])
    op.create_index(op.f("ix_notifications_incident_id"), "notifications", ["incident_id"])
    op.create_index(
        "ix_notifications_undelivered", "notifications", ["target", "status"], postgresql_where=sa.text("status <> 'delivered'")
    )
