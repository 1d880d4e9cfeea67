"""Indexes by which the list of sessions is sorted, and by which it counts the models that took over from another.

Revision ID: 0019
"""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"

_RANK = "strpos('low medium high', verdict_confidence)"


def upgrade() -> None:
    op.create_index(
        "ix_alert_sessions_by_confidence",
        "alert_sessions",
        [sa.text(f"({_RANK})"), sa.text("created_at DESC"), sa.text("id DESC")],
        postgresql_where=sa.text("deleted_at IS NULL AND verdict_confidence IS NOT NULL"),
    )
    op.create_index(
        "ix_alert_sessions_by_duration",
        "alert_sessions",
        [sa.text("(completed_at - started_at)"), "id"],
        postgresql_where=sa.text("deleted_at IS NULL AND started_at IS NOT NULL AND completed_at IS NOT NULL"),
    )
    op.drop_index("ix_session_spending_dearest", "session_spending")
    op.create_index("ix_session_spending_dearest", "session_spending", [sa.text("cost_usd DESC"), sa.text("session_id DESC")])
    op.create_index("ix_session_spending_by_tokens", "session_spending", ["total_tokens", "session_id"])
    op.create_index(
        "ix_timeline_events_fallbacks",
        "timeline_events",
        ["session_id"],
        postgresql_where=sa.text("event_type = 'provider_fallback'"),
    )
