"""Indexes by which a session that is erased finds what belongs to it, however many others there are.

Revision ID: 0016
"""

from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.create_index(op.f("ix_agent_executions_stage_id"), "agent_executions", ["stage_id"])
    op.create_index(op.f("ix_reservations_execution_id"), "reservations", ["execution_id"])
    op.create_index(op.f("ix_chat_user_messages_session_id"), "chat_user_messages", ["session_id"])
