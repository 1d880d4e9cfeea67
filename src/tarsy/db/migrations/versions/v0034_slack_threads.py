"""Store where in Slack a session was asked for or belongs, and where a question was asked.

Revision ID: 0034
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0034"
down_revision = "0033"


def upgrade() -> None:
    thread = postgresql.JSONB(astext_type=sa.Text())
    op.add_column("alert_sessions", sa.Column("slack_message_fingerprint", sa.Text(), nullable=True))
    op.add_column("alert_sessions", sa.Column("slack_thread", thread, nullable=True))
    op.add_column("chat_user_messages", sa.Column("slack_thread", thread, nullable=True))
    op.create_index(
        "ix_alert_sessions_slack_thread", "alert_sessions", ["slack_thread"], postgresql_where=sa.text("slack_thread IS NOT NULL")
    )
    op.create_index(
        "ix_notifications_slack_thread",
        "notifications",
        [sa.text("(posted ->> 'channel')"), sa.text("coalesce(posted ->> 'parent', posted ->> 'ts')")],
        postgresql_where=sa.text("posted IS NOT NULL"),
    )
