"""The first tables.

Revision ID: 0001
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "alert_sessions",
        sa.Column("id", sa.Uuid(as_uuid=False), primary_key=True),
        sa.Column("alert_data", sa.Text(), nullable=False),
        sa.Column("alert_type", sa.Text(), nullable=False),
        sa.Column("chain_id", sa.Text(), nullable=False),
        sa.Column("chain_snapshot", postgresql.JSONB(), nullable=False),
        sa.Column("mcp_selection", postgresql.JSONB(), nullable=True),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("nonce", sa.Text(), nullable=False),
        sa.Column("runbook_url", sa.Text(), nullable=True),
        sa.Column("runbook", sa.Text(), nullable=True),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("final_analysis", sa.Text(), nullable=True),
        sa.Column("analysis_is_partial", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("executive_summary", sa.Text(), nullable=True),
        sa.Column("executive_summary_error", sa.Text(), nullable=True),
        sa.Column("error_message", sa.Text(), nullable=True),
        sa.Column("pod_id", sa.Text(), nullable=True),
        sa.Column("claim_token", sa.Uuid(as_uuid=False), nullable=True),
        sa.Column("last_interaction_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("recoveries", sa.Integer(), server_default="0", nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("completed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column(
            "search",
            postgresql.TSVECTOR(),
            sa.Computed(
                "to_tsvector('simple', left(alert_type, 200) || ' ' || left(alert_data, 60000) || ' ' || left(coalesce(final_analysis, ''), 60000) || ' ' || left(coalesce(executive_summary, ''), 10000))",
                persisted=True,
            ),
            nullable=True,
        ),
        sa.CheckConstraint(
            "(status IN ('completed', 'failed', 'timed_out', 'cancelled')) = (completed_at IS NOT NULL)",
            name=op.f("ck_alert_sessions_completed_at_when_final"),
        ),
        sa.CheckConstraint(
            "(status IN ('in_progress', 'cancelling')) = (claim_token IS NOT NULL)", name=op.f("ck_alert_sessions_claimed_while_running")
        ),
        sa.CheckConstraint(
            "status IN ('pending', 'in_progress', 'cancelling', 'completed', 'failed', 'timed_out', 'cancelled')",
            name=op.f("ck_alert_sessions_status"),
        ),
        postgresql_with={"fillfactor": 70},
    )
    op.create_index(
        "ix_alert_sessions_by_status",
        "alert_sessions",
        ["status", sa.literal_column("created_at DESC"), sa.literal_column("id DESC")],
        postgresql_where=sa.text("deleted_at IS NULL"),
    )
    op.create_index(
        "ix_alert_sessions_by_type",
        "alert_sessions",
        ["alert_type", sa.literal_column("created_at DESC"), sa.literal_column("id DESC")],
        postgresql_where=sa.text("deleted_at IS NULL"),
    )
    op.create_index("ix_alert_sessions_ended", "alert_sessions", ["completed_at"])
    op.create_index(
        "ix_alert_sessions_queue",
        "alert_sessions",
        ["created_at", "id"],
        postgresql_where=sa.text("status = 'pending' AND deleted_at IS NULL"),
    )
    op.create_index(
        "ix_alert_sessions_recent",
        "alert_sessions",
        [sa.literal_column("created_at DESC"), sa.literal_column("id DESC")],
        postgresql_where=sa.text("deleted_at IS NULL"),
    )
    op.create_index(
        "ix_alert_sessions_running",
        "alert_sessions",
        ["id"],
        postgresql_where=sa.text("status IN ('in_progress', 'cancelling')"),
    )
    op.create_index("ix_alert_sessions_search", "alert_sessions", ["search"], postgresql_using="gin")
    op.create_table(
        "audit_log",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), primary_key=True),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Uuid(as_uuid=False), nullable=True),
        sa.Column("details", postgresql.JSONB(), server_default="{}", nullable=False),
    )
    op.create_index(op.f("ix_audit_log_at"), "audit_log", ["at"])
    op.create_index(op.f("ix_audit_log_session_id"), "audit_log", ["session_id"])
    op.create_table(
        "event_channels",
        sa.Column("name", sa.Text(), primary_key=True),
        sa.Column("last_id", sa.BigInteger(), nullable=False),
        postgresql_with={"fillfactor": 70},
    )
    op.create_table(
        "chats",
        sa.Column("id", sa.Uuid(as_uuid=False), primary_key=True),
        sa.Column("session_id", sa.Uuid(as_uuid=False), sa.ForeignKey("alert_sessions.id", ondelete="CASCADE"), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.UniqueConstraint("session_id", name=op.f("uq_chats_session_id")),
    )
    op.create_table(
        "events",
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("session_id", sa.Uuid(as_uuid=False), sa.ForeignKey("alert_sessions.id", ondelete="CASCADE"), nullable=True),
        sa.Column("payload", postgresql.JSONB(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("channel", "id", name=op.f("pk_events")),
    )
    op.create_index(op.f("ix_events_created_at"), "events", ["created_at"])
    op.create_index(op.f("ix_events_session_id"), "events", ["session_id"])
    op.create_table(
        "stages",
        sa.Column("id", sa.Uuid(as_uuid=False), primary_key=True),
        sa.Column("session_id", sa.Uuid(as_uuid=False), sa.ForeignKey("alert_sessions.id", ondelete="CASCADE"), nullable=False),
        sa.Column("stage_name", sa.Text(), nullable=False),
        sa.Column("stage_index", sa.Integer(), nullable=False),
        sa.Column("stage_type", sa.Text(), nullable=False),
        sa.Column("expected_agent_count", sa.Integer(), nullable=False),
        sa.Column("parallel_type", sa.Text(), nullable=True),
        sa.Column("success_policy", sa.Text(), nullable=True),
        sa.Column("referenced_stage_id", sa.Uuid(as_uuid=False), sa.ForeignKey("stages.id", ondelete="CASCADE"), nullable=True),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("error_message", sa.Text(), nullable=True),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("completed_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("parallel_type IN ('multi_agent', 'replica')", name=op.f("ck_stages_parallel_type")),
        sa.CheckConstraint(
            "stage_type IN ('investigation', 'synthesis', 'exec_summary', 'chat', 'scoring', 'action')", name=op.f("ck_stages_stage_type")
        ),
        sa.CheckConstraint(
            "status IN ('pending', 'active', 'completed', 'failed', 'timed_out', 'cancelled')", name=op.f("ck_stages_status")
        ),
        sa.CheckConstraint("success_policy IN ('all', 'any')", name=op.f("ck_stages_success_policy")),
        sa.CheckConstraint("expected_agent_count > 0", name=op.f("ck_stages_has_agents")),
        sa.UniqueConstraint("session_id", "stage_index", name=op.f("uq_stages_session_id_stage_index")),
    )
    op.create_index(op.f("ix_stages_referenced_stage_id"), "stages", ["referenced_stage_id"])
    op.create_table(
        "agent_executions",
        sa.Column("id", sa.Uuid(as_uuid=False), primary_key=True),
        sa.Column("session_id", sa.Uuid(as_uuid=False), sa.ForeignKey("alert_sessions.id", ondelete="CASCADE"), nullable=False),
        sa.Column("stage_id", sa.Uuid(as_uuid=False), sa.ForeignKey("stages.id", ondelete="CASCADE"), nullable=False),
        sa.Column("agent_name", sa.Text(), nullable=False),
        sa.Column("agent_index", sa.Integer(), nullable=False),
        sa.Column("llm_backend", sa.Text(), nullable=False),
        sa.Column("llm_provider", sa.Text(), nullable=False),
        sa.Column("model_name", sa.Text(), nullable=False),
        sa.Column("tool_calling", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("cancel_requested", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("error_message", sa.Text(), nullable=True),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("completed_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "status IN ('pending', 'active', 'completed', 'failed', 'timed_out', 'cancelled')", name=op.f("ck_agent_executions_status")
        ),
        sa.UniqueConstraint("stage_id", "agent_index", name=op.f("uq_agent_executions_stage_id_agent_index")),
    )
    op.create_index(op.f("ix_agent_executions_session_id"), "agent_executions", ["session_id"])
    op.create_table(
        "chat_user_messages",
        sa.Column("id", sa.Uuid(as_uuid=False), primary_key=True),
        sa.Column("chat_id", sa.Uuid(as_uuid=False), sa.ForeignKey("chats.id", ondelete="CASCADE"), nullable=False),
        sa.Column("session_id", sa.Uuid(as_uuid=False), sa.ForeignKey("alert_sessions.id", ondelete="CASCADE"), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("stage_id", sa.Uuid(as_uuid=False), sa.ForeignKey("stages.id", ondelete="SET NULL"), nullable=True),
        sa.Column("cancel_requested", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("error_message", sa.Text(), nullable=True),
        sa.Column("pod_id", sa.Text(), nullable=True),
        sa.Column("claim_token", sa.Uuid(as_uuid=False), nullable=True),
        sa.Column("last_interaction_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("recoveries", sa.Integer(), server_default="0", nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("completed_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("(status = 'active') = (claim_token IS NOT NULL)", name=op.f("ck_chat_user_messages_claimed_while_running")),
        sa.CheckConstraint(
            "status IN ('pending', 'active', 'completed', 'failed', 'timed_out', 'cancelled')", name=op.f("ck_chat_user_messages_status")
        ),
        postgresql_with={"fillfactor": 70},
    )
    op.create_index(op.f("ix_chat_user_messages_chat_id_created_at"), "chat_user_messages", ["chat_id", "created_at"])
    op.create_index(op.f("ix_chat_user_messages_stage_id"), "chat_user_messages", ["stage_id"])
    op.create_index(
        "uq_chat_user_messages_open",
        "chat_user_messages",
        ["session_id"],
        unique=True,
        postgresql_where=sa.text("status IN ('pending', 'active')"),
    )
    op.create_table(
        "session_scores",
        sa.Column("id", sa.Uuid(as_uuid=False), primary_key=True),
        sa.Column("session_id", sa.Uuid(as_uuid=False), sa.ForeignKey("alert_sessions.id", ondelete="CASCADE"), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("requested_by", sa.Text(), nullable=False),
        sa.Column("stage_id", sa.Uuid(as_uuid=False), sa.ForeignKey("stages.id", ondelete="SET NULL"), nullable=True),
        sa.Column("total_score", sa.Integer(), nullable=True),
        sa.Column("analysis", sa.Text(), nullable=True),
        sa.Column("missing_tools", sa.Text(), nullable=True),
        sa.Column("cancel_requested", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("error_message", sa.Text(), nullable=True),
        sa.Column("pod_id", sa.Text(), nullable=True),
        sa.Column("claim_token", sa.Uuid(as_uuid=False), nullable=True),
        sa.Column("last_interaction_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("recoveries", sa.Integer(), server_default="0", nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("completed_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("(status = 'active') = (claim_token IS NOT NULL)", name=op.f("ck_session_scores_claimed_while_running")),
        sa.CheckConstraint(
            "status IN ('pending', 'active', 'completed', 'failed', 'timed_out', 'cancelled')", name=op.f("ck_session_scores_status")
        ),
        sa.CheckConstraint("total_score BETWEEN 0 AND 100", name=op.f("ck_session_scores_score_range")),
        postgresql_with={"fillfactor": 70},
    )
    op.create_index(op.f("ix_session_scores_session_id_created_at"), "session_scores", ["session_id", "created_at"])
    op.create_index(op.f("ix_session_scores_stage_id"), "session_scores", ["stage_id"])
    op.create_index(
        "uq_session_scores_open", "session_scores", ["session_id"], unique=True, postgresql_where=sa.text("status IN ('pending', 'active')")
    )
    op.create_table(
        "llm_interactions",
        sa.Column("id", sa.Uuid(as_uuid=False), primary_key=True),
        sa.Column("session_id", sa.Uuid(as_uuid=False), sa.ForeignKey("alert_sessions.id", ondelete="CASCADE"), nullable=False),
        sa.Column("stage_id", sa.Uuid(as_uuid=False), sa.ForeignKey("stages.id", ondelete="CASCADE"), nullable=True),
        sa.Column("execution_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("track", sa.Text(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("request_hash", sa.Text(), nullable=False),
        sa.Column("message_count", sa.Integer(), nullable=False),
        sa.Column("request", postgresql.JSONB(), nullable=False),
        sa.Column("response", postgresql.JSONB(), nullable=True),
        sa.Column("input_tokens", sa.Integer(), server_default="0", nullable=False),
        sa.Column("output_tokens", sa.Integer(), server_default="0", nullable=False),
        sa.Column("total_tokens", sa.Integer(), server_default="0", nullable=False),
        sa.Column("thinking_tokens", sa.Integer(), server_default="0", nullable=False),
        sa.Column("cached_tokens", sa.Integer(), server_default="0", nullable=False),
        sa.Column("error_code", sa.Text(), nullable=True),
        sa.Column("error_message", sa.Text(), nullable=True),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("duration_ms", sa.Integer(), nullable=False),
        sa.Column("first_chunk_ms", sa.Integer(), nullable=True),
        sa.CheckConstraint(
            "kind IN ('iteration', 'forced_conclusion', 'single_shot', 'summarization')", name=op.f("ck_llm_interactions_kind")
        ),
        sa.ForeignKeyConstraint(
            ["execution_id"], ["agent_executions.id"], name=op.f("fk_llm_interactions_execution_id"), ondelete="CASCADE"
        ),
        sa.UniqueConstraint("execution_id", "track", "turn", name=op.f("uq_llm_interactions_execution_id_track_turn")),
    )
    op.create_index("ix_llm_interactions_session", "llm_interactions", ["session_id", "started_at"])
    op.create_index(op.f("ix_llm_interactions_stage_id"), "llm_interactions", ["stage_id"])
    op.create_table(
        "mcp_interactions",
        sa.Column("id", sa.Uuid(as_uuid=False), primary_key=True),
        sa.Column("session_id", sa.Uuid(as_uuid=False), sa.ForeignKey("alert_sessions.id", ondelete="CASCADE"), nullable=False),
        sa.Column("stage_id", sa.Uuid(as_uuid=False), sa.ForeignKey("stages.id", ondelete="CASCADE"), nullable=True),
        sa.Column("execution_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("server", sa.Text(), nullable=False),
        sa.Column("tool", sa.Text(), nullable=True),
        sa.Column("call_id", sa.Text(), nullable=True),
        sa.Column("arguments", sa.Text(), nullable=True),
        sa.Column("result", postgresql.JSONB(), nullable=True),
        sa.Column("is_error", sa.Boolean(), nullable=False),
        sa.Column("error_message", sa.Text(), nullable=True),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("duration_ms", sa.Integer(), nullable=False),
        sa.CheckConstraint("kind IN ('tool_call', 'tool_list')", name=op.f("ck_mcp_interactions_kind")),
        sa.ForeignKeyConstraint(
            ["execution_id"], ["agent_executions.id"], name=op.f("fk_mcp_interactions_execution_id"), ondelete="CASCADE"
        ),
    )
    op.create_index(op.f("ix_mcp_interactions_execution_id"), "mcp_interactions", ["execution_id"])
    op.create_index("ix_mcp_interactions_session", "mcp_interactions", ["session_id", "started_at"])
    op.create_index(op.f("ix_mcp_interactions_stage_id"), "mcp_interactions", ["stage_id"])
    op.create_table(
        "messages",
        sa.Column("id", sa.Uuid(as_uuid=False), primary_key=True),
        sa.Column("session_id", sa.Uuid(as_uuid=False), sa.ForeignKey("alert_sessions.id", ondelete="CASCADE"), nullable=False),
        sa.Column("execution_id", sa.Uuid(as_uuid=False), sa.ForeignKey("agent_executions.id", ondelete="CASCADE"), nullable=False),
        sa.Column("sequence_number", sa.Integer(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("original_content", sa.Text(), nullable=True),
        sa.Column("compacted_before_turn", sa.Integer(), nullable=True),
        sa.Column("tool_calls", postgresql.JSONB(), nullable=True),
        sa.Column("tool_call_id", sa.Text(), nullable=True),
        sa.Column("tool_name", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("(role = 'tool') = (tool_call_id IS NOT NULL)", name=op.f("ck_messages_tool_results_name_their_call")),
        sa.CheckConstraint("role IN ('system', 'user', 'assistant', 'tool')", name=op.f("ck_messages_role")),
        sa.UniqueConstraint("execution_id", "sequence_number", name=op.f("uq_messages_execution_id_sequence_number")),
    )
    op.create_index(op.f("ix_messages_session_id"), "messages", ["session_id"])
    op.create_table(
        "timeline_events",
        sa.Column("id", sa.Uuid(as_uuid=False), primary_key=True),
        sa.Column("session_id", sa.Uuid(as_uuid=False), sa.ForeignKey("alert_sessions.id", ondelete="CASCADE"), nullable=False),
        sa.Column("stage_id", sa.Uuid(as_uuid=False), sa.ForeignKey("stages.id", ondelete="CASCADE"), nullable=True),
        sa.Column("execution_id", sa.Uuid(as_uuid=False), nullable=True),
        sa.Column("sequence_number", sa.Integer(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("event_type", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("metadata", postgresql.JSONB(), server_default="{}", nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("completed_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("(status = 'streaming') = (completed_at IS NULL)", name=op.f("ck_timeline_events_open_while_streaming")),
        sa.CheckConstraint(
            "event_type IN ('llm_thinking', 'llm_response', 'llm_tool_call', 'tool_result', 'mcp_tool_summary', 'final_analysis', 'executive_summary', 'error', 'warning', 'user_question', 'code_execution', 'google_search_result', 'url_context_result', 'provider_fallback')",
            name=op.f("ck_timeline_events_event_type"),
        ),
        sa.CheckConstraint(
            "status IN ('streaming', 'completed', 'failed', 'cancelled', 'timed_out', 'interrupted')",
            name=op.f("ck_timeline_events_status"),
        ),
        sa.ForeignKeyConstraint(
            ["execution_id"], ["agent_executions.id"], name=op.f("fk_timeline_events_execution_id"), ondelete="CASCADE"
        ),
        sa.UniqueConstraint("execution_id", "sequence_number", name=op.f("uq_timeline_events_execution_id_sequence_number")),
        sa.UniqueConstraint("session_id", "position", name=op.f("uq_timeline_events_session_id_position")),
        postgresql_with={"fillfactor": 70},
    )
    op.create_index("ix_timeline_events_open", "timeline_events", ["session_id"], postgresql_where=sa.text("status = 'streaming'"))
    op.create_index(op.f("ix_timeline_events_stage_id"), "timeline_events", ["stage_id"])
