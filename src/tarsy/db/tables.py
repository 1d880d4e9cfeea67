"""Every table, with the constraints that keep its rows true. Migrations are written from here and reviewed."""

from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB, TSVECTOR

from tarsy.domain.conversation import Role
from tarsy.domain.interaction import LLMInteractionKind, MCPInteractionKind
from tarsy.domain.stage import ParallelType, StageType, SuccessPolicy
from tarsy.domain.status import RunStatus, SessionStatus, TimelineStatus
from tarsy.domain.timeline import TimelineEventType

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

Timestamp = sa.DateTime(timezone=True)
Id = sa.Uuid(as_uuid=False)
# Rows that are updated in place many times leave room on their page, so that an update touches no index.
ROOMY = {"fillfactor": 70}


def _one_of(column: str, values: type[StrEnum]) -> sa.CheckConstraint:
    allowed = ", ".join(f"'{value}'" for value in values)
    return sa.CheckConstraint(f"{column} IN ({allowed})", name=column)


def _session_key(*, nullable: bool = False) -> sa.Column[str]:
    return sa.Column("session_id", Id, sa.ForeignKey("alert_sessions.id", ondelete="CASCADE"), nullable=nullable)


def _claim_columns() -> tuple[sa.Column[Any], ...]:
    """What makes a row claimable work: who has it, the token that fences others off, the last sign of life."""
    return (
        sa.Column("pod_id", sa.Text),
        sa.Column("claim_token", Id),
        sa.Column("last_interaction_at", Timestamp),
        sa.Column("recoveries", sa.Integer, nullable=False, server_default="0"),
    )


alert_sessions = sa.Table(
    "alert_sessions",
    metadata,
    sa.Column("id", Id, primary_key=True),
    sa.Column("alert_data", sa.Text, nullable=False),
    sa.Column("alert_type", sa.Text, nullable=False),
    sa.Column("chain_id", sa.Text, nullable=False),
    sa.Column("chain_snapshot", JSONB, nullable=False),
    sa.Column("mcp_selection", JSONB),
    sa.Column("author", sa.Text, nullable=False),
    sa.Column("nonce", sa.Text, nullable=False),
    sa.Column("runbook_url", sa.Text),
    # The text its agents were given, once it was fetched: the same again for those that come later.
    sa.Column("runbook", sa.Text),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("final_analysis", sa.Text),
    sa.Column("analysis_is_partial", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("executive_summary", sa.Text),
    sa.Column("executive_summary_error", sa.Text),
    sa.Column("error_message", sa.Text),
    *_claim_columns(),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.Column("started_at", Timestamp),
    sa.Column("completed_at", Timestamp),
    sa.Column("deleted_at", Timestamp),
    # A tsvector holds at most 1 MB: the beginning of a long text is what people search by.
    sa.Column(
        "search",
        TSVECTOR,
        sa.Computed(
            "to_tsvector('simple', left(alert_type, 200) || ' ' || left(alert_data, 60000) || ' ' "
            "|| left(coalesce(final_analysis, ''), 60000) || ' ' || left(coalesce(executive_summary, ''), 10000))",
            persisted=True,
        ),
    ),
    _one_of("status", SessionStatus),
    sa.CheckConstraint("(status IN ('in_progress', 'cancelling')) = (claim_token IS NOT NULL)", name="claimed_while_running"),
    sa.CheckConstraint(
        "(status IN ('completed', 'failed', 'timed_out', 'cancelled')) = (completed_at IS NOT NULL)", name="completed_at_when_final"
    ),
    sa.Index("ix_alert_sessions_recent", sa.text("created_at DESC"), sa.text("id DESC"), postgresql_where=sa.text("deleted_at IS NULL")),
    sa.Index(
        "ix_alert_sessions_by_status",
        "status",
        sa.text("created_at DESC"),
        sa.text("id DESC"),
        postgresql_where=sa.text("deleted_at IS NULL"),
    ),
    sa.Index(
        "ix_alert_sessions_by_type",
        "alert_type",
        sa.text("created_at DESC"),
        sa.text("id DESC"),
        postgresql_where=sa.text("deleted_at IS NULL"),
    ),
    sa.Index("ix_alert_sessions_queue", "created_at", "id", postgresql_where=sa.text("status = 'pending' AND deleted_at IS NULL")),
    sa.Index("ix_alert_sessions_running", "id", postgresql_where=sa.text("status IN ('in_progress', 'cancelling')")),
    sa.Index("ix_alert_sessions_search", "search", postgresql_using="gin"),
    sa.Index("ix_alert_sessions_ended", "completed_at"),
    postgresql_with=ROOMY,
)

stages = sa.Table(
    "stages",
    metadata,
    sa.Column("id", Id, primary_key=True),
    _session_key(),
    sa.Column("stage_name", sa.Text, nullable=False),
    sa.Column("stage_index", sa.Integer, nullable=False),
    sa.Column("stage_type", sa.Text, nullable=False),
    sa.Column("expected_agent_count", sa.Integer, nullable=False),
    sa.Column("parallel_type", sa.Text),
    sa.Column("success_policy", sa.Text),
    sa.Column("referenced_stage_id", Id, sa.ForeignKey("stages.id", ondelete="CASCADE")),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("error_message", sa.Text),
    sa.Column("started_at", Timestamp),
    sa.Column("completed_at", Timestamp),
    sa.UniqueConstraint("session_id", "stage_index"),
    _one_of("stage_type", StageType),
    _one_of("status", RunStatus),
    _one_of("parallel_type", ParallelType),
    _one_of("success_policy", SuccessPolicy),
    sa.CheckConstraint("expected_agent_count > 0", name="has_agents"),
    sa.Index(None, "referenced_stage_id"),
)

agent_executions = sa.Table(
    "agent_executions",
    metadata,
    sa.Column("id", Id, primary_key=True),
    _session_key(),
    sa.Column("stage_id", Id, sa.ForeignKey("stages.id", ondelete="CASCADE"), nullable=False),
    sa.Column("agent_name", sa.Text, nullable=False),
    sa.Column("agent_index", sa.Integer, nullable=False),
    sa.Column("llm_backend", sa.Text, nullable=False),
    sa.Column("llm_provider", sa.Text, nullable=False),
    sa.Column("model_name", sa.Text, nullable=False),
    sa.Column("tool_calling", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("cancel_requested", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("error_message", sa.Text),
    sa.Column("started_at", Timestamp),
    sa.Column("completed_at", Timestamp),
    sa.UniqueConstraint("stage_id", "agent_index"),
    _one_of("status", RunStatus),
    sa.Index(None, "session_id"),
)

timeline_events = sa.Table(
    "timeline_events",
    metadata,
    sa.Column("id", Id, primary_key=True),
    _session_key(),
    sa.Column("stage_id", Id, sa.ForeignKey("stages.id", ondelete="CASCADE")),
    sa.Column("execution_id", Id, sa.ForeignKey("agent_executions.id", ondelete="CASCADE")),
    sa.Column("sequence_number", sa.Integer, nullable=False),
    # The id of the live event that announced it: the order of the whole session, as everybody saw it.
    sa.Column("position", sa.BigInteger, nullable=False),
    sa.Column("event_type", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("metadata", JSONB, nullable=False, server_default="{}"),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.Column("completed_at", Timestamp),
    sa.UniqueConstraint("session_id", "position"),
    sa.UniqueConstraint("execution_id", "sequence_number"),
    _one_of("event_type", TimelineEventType),
    _one_of("status", TimelineStatus),
    sa.CheckConstraint("(status = 'streaming') = (completed_at IS NULL)", name="open_while_streaming"),
    sa.Index("ix_timeline_events_open", "session_id", postgresql_where=sa.text("status = 'streaming'")),
    sa.Index(None, "stage_id"),
    postgresql_with=ROOMY,
)

messages = sa.Table(
    "messages",
    metadata,
    sa.Column("id", Id, primary_key=True),
    _session_key(),
    sa.Column("execution_id", Id, sa.ForeignKey("agent_executions.id", ondelete="CASCADE"), nullable=False),
    sa.Column("sequence_number", sa.Integer, nullable=False),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("content", sa.Text, nullable=False),
    # What the message said before the conversation was compacted to fit the model's window.
    sa.Column("original_content", sa.Text),
    # The first model call of the execution that was sent the short form.
    sa.Column("compacted_before_turn", sa.Integer),
    sa.Column("tool_calls", JSONB),
    sa.Column("tool_call_id", sa.Text),
    sa.Column("tool_name", sa.Text),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.UniqueConstraint("execution_id", "sequence_number"),
    _one_of("role", Role),
    sa.CheckConstraint("(role = 'tool') = (tool_call_id IS NOT NULL)", name="tool_results_name_their_call"),
    sa.Index(None, "session_id"),
)

llm_interactions = sa.Table(
    "llm_interactions",
    metadata,
    sa.Column("id", Id, primary_key=True),
    _session_key(),
    sa.Column("stage_id", Id, sa.ForeignKey("stages.id", ondelete="CASCADE")),
    sa.Column("execution_id", Id, sa.ForeignKey("agent_executions.id", ondelete="CASCADE"), nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("track", sa.Text, nullable=False),
    sa.Column("turn", sa.Integer, nullable=False),
    sa.Column("provider", sa.Text, nullable=False),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("request_hash", sa.Text, nullable=False),
    sa.Column("message_count", sa.Integer, nullable=False),
    sa.Column("request", JSONB, nullable=False),
    sa.Column("response", JSONB),
    sa.Column("input_tokens", sa.Integer, nullable=False, server_default="0"),
    sa.Column("output_tokens", sa.Integer, nullable=False, server_default="0"),
    sa.Column("total_tokens", sa.Integer, nullable=False, server_default="0"),
    sa.Column("thinking_tokens", sa.Integer, nullable=False, server_default="0"),
    sa.Column("cached_tokens", sa.Integer, nullable=False, server_default="0"),
    sa.Column("error_code", sa.Text),
    sa.Column("error_message", sa.Text),
    sa.Column("started_at", Timestamp, nullable=False),
    sa.Column("duration_ms", sa.Integer, nullable=False),
    sa.Column("first_chunk_ms", sa.Integer),
    sa.UniqueConstraint("execution_id", "track", "turn"),
    _one_of("kind", LLMInteractionKind),
    sa.Index("ix_llm_interactions_session", "session_id", "started_at"),
    sa.Index(None, "stage_id"),
)

mcp_interactions = sa.Table(
    "mcp_interactions",
    metadata,
    sa.Column("id", Id, primary_key=True),
    _session_key(),
    sa.Column("stage_id", Id, sa.ForeignKey("stages.id", ondelete="CASCADE")),
    sa.Column("execution_id", Id, sa.ForeignKey("agent_executions.id", ondelete="CASCADE"), nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("server", sa.Text, nullable=False),
    sa.Column("tool", sa.Text),
    sa.Column("call_id", sa.Text),
    sa.Column("arguments", sa.Text),
    sa.Column("result", JSONB),
    sa.Column("is_error", sa.Boolean, nullable=False),
    sa.Column("error_message", sa.Text),
    sa.Column("started_at", Timestamp, nullable=False),
    sa.Column("duration_ms", sa.Integer, nullable=False),
    _one_of("kind", MCPInteractionKind),
    sa.Index("ix_mcp_interactions_session", "session_id", "started_at"),
    sa.Index(None, "execution_id"),
    sa.Index(None, "stage_id"),
)

# One row per channel. Its row lock, held to the end of the writer's transaction, makes a channel's ids gap-free and in commit order.
event_channels = sa.Table(
    "event_channels",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("last_id", sa.BigInteger, nullable=False),
    postgresql_with=ROOMY,
)

events = sa.Table(
    "events",
    metadata,
    sa.Column("channel", sa.Text, nullable=False),
    sa.Column("id", sa.BigInteger, nullable=False),
    _session_key(nullable=True),
    sa.Column("payload", JSONB, nullable=False),
    sa.Column("created_at", Timestamp, nullable=False, server_default=sa.func.now()),
    sa.PrimaryKeyConstraint("channel", "id"),
    sa.Index(None, "created_at"),
    sa.Index(None, "session_id"),
)

chats = sa.Table(
    "chats",
    metadata,
    sa.Column("id", Id, primary_key=True),
    _session_key(),
    sa.Column("created_by", sa.Text, nullable=False),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.UniqueConstraint("session_id"),
)

chat_user_messages = sa.Table(
    "chat_user_messages",
    metadata,
    sa.Column("id", Id, primary_key=True),
    sa.Column("chat_id", Id, sa.ForeignKey("chats.id", ondelete="CASCADE"), nullable=False),
    _session_key(),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("author", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("stage_id", Id, sa.ForeignKey("stages.id", ondelete="SET NULL")),
    sa.Column("cancel_requested", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("error_message", sa.Text),
    *_claim_columns(),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.Column("completed_at", Timestamp),
    _one_of("status", RunStatus),
    sa.CheckConstraint("(status = 'active') = (claim_token IS NOT NULL)", name="claimed_while_running"),
    # One answer at a time per session: the database itself refuses a second open question.
    sa.Index("uq_chat_user_messages_open", "session_id", unique=True, postgresql_where=sa.text("status IN ('pending', 'active')")),
    sa.Index(None, "chat_id", "created_at"),
    sa.Index(None, "stage_id"),
    postgresql_with=ROOMY,
)

session_scores = sa.Table(
    "session_scores",
    metadata,
    sa.Column("id", Id, primary_key=True),
    _session_key(),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("requested_by", sa.Text, nullable=False),
    sa.Column("stage_id", Id, sa.ForeignKey("stages.id", ondelete="SET NULL")),
    sa.Column("total_score", sa.Integer),
    sa.Column("analysis", sa.Text),
    sa.Column("missing_tools", sa.Text),
    sa.Column("cancel_requested", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("error_message", sa.Text),
    *_claim_columns(),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.Column("completed_at", Timestamp),
    _one_of("status", RunStatus),
    sa.CheckConstraint("total_score BETWEEN 0 AND 100", name="score_range"),
    sa.CheckConstraint("(status = 'active') = (claim_token IS NOT NULL)", name="claimed_while_running"),
    sa.Index("uq_session_scores_open", "session_id", unique=True, postgresql_where=sa.text("status IN ('pending', 'active')")),
    sa.Index(None, "session_id", "created_at"),
    sa.Index(None, "stage_id"),
    postgresql_with=ROOMY,
)

audit_log = sa.Table(
    "audit_log",
    metadata,
    sa.Column("id", sa.BigInteger, sa.Identity(always=True), primary_key=True),
    sa.Column("at", Timestamp, nullable=False, server_default=sa.func.now()),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("action", sa.Text, nullable=False),
    # Kept after the session itself is gone, hence no foreign key.
    sa.Column("session_id", Id),
    sa.Column("details", JSONB, nullable=False, server_default="{}"),
    sa.Index(None, "at"),
    sa.Index(None, "session_id"),
)
