"""What reaches a running investigation from outside.

Revision ID: 0014
"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"

_KINDS = "ck_timeline_events_event_type"
_BEFORE = (
    "'llm_thinking', 'llm_response', 'llm_tool_call', 'tool_result', 'mcp_tool_summary', 'final_analysis', 'executive_summary', "
    "'error', 'warning', 'user_question', 'code_execution', 'google_search_result', 'url_context_result', 'provider_fallback'"
)


def upgrade() -> None:
    op.create_table(
        "notes",
        sa.Column("session_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("kind IN ('hint', 'alerts', 'resolved')", name=op.f("ck_notes_kind")),
        sa.ForeignKeyConstraint(["session_id"], ["alert_sessions.id"], name=op.f("fk_notes_session_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("session_id", "number", name=op.f("pk_notes")),
    )
    _allow(f"{_BEFORE}, 'note'")


def _allow(kinds: str) -> None:
    op.drop_constraint(op.f(_KINDS), "timeline_events", type_="check")
    op.create_check_constraint(op.f(_KINDS), "timeline_events", f"event_type IN ({kinds})")
