"""Incidents and the alerts they are made of, changes, mutes, and the requests that were taken.

Revision ID: 0005
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    _make_incidents()
    _make_alerts()
    _make_activity()
    _make_changes()
    _make_mutes()
    _make_deliveries()
    _link_sessions()


def _make_incidents() -> None:
    op.create_table(
        "incidents",
        sa.Column("id", sa.Uuid(as_uuid=False), primary_key=True),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("route", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("severity", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("alert_type", sa.Text(), nullable=False),
        sa.Column("opened_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("heard_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("resolved_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("firing", sa.Integer(), nullable=False),
        sa.Column("alerts", sa.Integer(), nullable=False),
        sa.Column("deliveries", sa.BigInteger(), nullable=False),
        sa.Column("looked_again", sa.SmallInteger(), server_default="0", nullable=False),
        sa.Column("session_id", sa.Uuid(as_uuid=False), nullable=True),
        sa.Column("merged_into", sa.Uuid(as_uuid=False), sa.ForeignKey("incidents.id", ondelete="CASCADE"), nullable=True),
        sa.CheckConstraint("severity IN ('critical', 'high', 'warning', 'unknown', 'info')", name=op.f("ck_incidents_severity")),
        postgresql_with={"fillfactor": 70},
    )
    op.create_index("ix_incidents_key", "incidents", ["key", sa.literal_column("opened_at DESC")])
    op.create_index(op.f("ix_incidents_merged_into"), "incidents", ["merged_into"])
    op.create_index(
        "ix_incidents_open",
        "incidents",
        [sa.literal_column("opened_at DESC"), sa.literal_column("id DESC")],
        postgresql_where=sa.text("resolved_at IS NULL"),
    )
    op.create_index("ix_incidents_recent", "incidents", [sa.literal_column("opened_at DESC"), sa.literal_column("id DESC")])
    op.create_index("ix_incidents_resolved", "incidents", ["resolved_at"])


def _make_alerts() -> None:
    op.create_table(
        "alerts",
        sa.Column("id", sa.Uuid(as_uuid=False), primary_key=True),
        sa.Column("incident_id", sa.Uuid(as_uuid=False), sa.ForeignKey("incidents.id", ondelete="CASCADE"), nullable=True),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("is_current", sa.Boolean(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("severity", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("said", sa.Text(), nullable=False),
        sa.Column("said_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("count_in_all", sa.BigInteger(), nullable=False),
        sa.Column("labels", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("annotations", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("links", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("group_key", sa.Text(), nullable=True),
        sa.Column("starts_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ends_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("first_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("heard_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("body", sa.Text(), nullable=False),
        sa.CheckConstraint("said IN ('firing', 'resolved')", name=op.f("ck_alerts_said")),
        sa.CheckConstraint("severity IN ('critical', 'high', 'warning', 'unknown', 'info')", name=op.f("ck_alerts_severity")),
        sa.CheckConstraint("status IN ('firing', 'resolved')", name=op.f("ck_alerts_status")),
        postgresql_with={"fillfactor": 70},
    )
    op.create_index("ix_alerts_firing", "alerts", ["heard_at", "id"], postgresql_where=sa.text("is_current AND status = 'firing'"))
    op.create_index("ix_alerts_incident", "alerts", ["incident_id", "first_at"])
    op.create_index("ix_alerts_labels", "alerts", ["labels"], postgresql_using="gin", postgresql_ops={"labels": "jsonb_path_ops"})
    op.create_index("ix_alerts_recorded", "alerts", ["heard_at"], postgresql_where=sa.text("incident_id IS NULL"))
    op.create_index("uq_alerts_current", "alerts", ["key"], unique=True, postgresql_where=sa.text("is_current"))


def _make_activity() -> None:
    op.create_table(
        "incident_activity",
        sa.Column("incident_id", sa.Uuid(as_uuid=False), sa.ForeignKey("incidents.id", ondelete="CASCADE"), nullable=False),
        sa.Column("minute", sa.DateTime(timezone=True), nullable=False),
        sa.Column("firing", sa.Integer(), nullable=False),
        sa.Column("resolved", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("incident_id", "minute", name=op.f("pk_incident_activity")),
        postgresql_with={"fillfactor": 70},
    )


def _make_changes() -> None:
    op.create_table(
        "changes",
        sa.Column("id", sa.Uuid(as_uuid=False), primary_key=True),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("labels", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("link", sa.Text(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("received_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.CheckConstraint("outcome IN ('started', 'succeeded', 'failed', 'unknown')", name=op.f("ck_changes_outcome")),
        sa.UniqueConstraint("key", name=op.f("uq_changes_key")),
        postgresql_with={"fillfactor": 70},
    )
    op.create_index(op.f("ix_changes_at"), "changes", ["at"])
    op.create_index("ix_changes_labels", "changes", ["labels"], postgresql_using="gin", postgresql_ops={"labels": "jsonb_path_ops"})


def _make_mutes() -> None:
    op.create_table(
        "mutes",
        sa.Column("id", sa.Uuid(as_uuid=False), primary_key=True),
        sa.Column("starts", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ends", sa.DateTime(timezone=True), nullable=False),
        sa.Column("match", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("incident_key", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.CheckConstraint("starts < ends", name=op.f("ck_mutes_has_length")),
    )
    op.create_index(op.f("ix_mutes_ends"), "mutes", ["ends"])


def _make_deliveries() -> None:
    op.create_table(
        "webhook_deliveries",
        sa.Column("key", sa.Text(), primary_key=True),
        sa.Column("received_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("answer", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
    )
    op.create_index(op.f("ix_webhook_deliveries_received_at"), "webhook_deliveries", ["received_at"])


def _link_sessions() -> None:
    op.add_column("alert_sessions", sa.Column("incident_id", sa.Uuid(as_uuid=False), nullable=True))
    op.create_index(
        "ix_alert_sessions_incident",
        "alert_sessions",
        ["incident_id", "created_at"],
        postgresql_where=sa.text("incident_id IS NOT NULL"),
    )
    op.create_foreign_key(
        op.f("fk_alert_sessions_incident_id"), "alert_sessions", "incidents", ["incident_id"], ["id"], ondelete="SET NULL"
    )
