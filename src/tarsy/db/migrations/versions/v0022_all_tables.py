"""All tables as they were before the first release.

Databases that were made step by step by the migrations up to commit 3909e02 are equal to the one that this makes.

Revision ID: 0022
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0022"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "audit_log",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Uuid(as_uuid=False)),
        sa.Column("details", postgresql.JSONB(), server_default="{}", nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_log")),
    )
    op.create_index(op.f("ix_audit_log_at"), "audit_log", ["at"])
    op.create_index(op.f("ix_audit_log_session_id"), "audit_log", ["session_id"])
    op.create_table(
        "changes",
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("labels", postgresql.JSONB(), nullable=False),
        sa.Column("link", sa.Text()),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("received_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.CheckConstraint("outcome IN ('started', 'succeeded', 'failed', 'unknown')", name=op.f("ck_changes_outcome")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_changes")),
        sa.UniqueConstraint("key", name=op.f("uq_changes_key")),
        postgresql_with={"fillfactor": 70},
    )
    op.create_index(op.f("ix_changes_at"), "changes", ["at"])
    op.create_index("ix_changes_labels", "changes", ["labels"], postgresql_using="gin", postgresql_ops={"labels": "jsonb_path_ops"})
    op.create_table(
        "event_channels",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("last_id", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_event_channels")),
        postgresql_with={"fillfactor": 70},
    )
    op.create_table(
        "events",
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("session_id", sa.Uuid(as_uuid=False)),
        sa.Column("payload", postgresql.JSONB(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("channel", "id", name=op.f("pk_events")),
    )
    op.create_index(op.f("ix_events_created_at"), "events", ["created_at"])
    op.create_index(op.f("ix_events_session_id"), "events", ["session_id"])
    op.create_table(
        "incidents",
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("route", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("severity", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("alert_type", sa.Text(), nullable=False),
        sa.Column("opened_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("heard_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("resolved_at", sa.DateTime(timezone=True)),
        sa.Column("firing", sa.Integer(), nullable=False),
        sa.Column("alerts", sa.Integer(), nullable=False),
        sa.Column("deliveries", sa.BigInteger(), nullable=False),
        sa.Column("looked_again", sa.SmallInteger(), server_default="0", nullable=False),
        sa.Column("session_id", sa.Uuid(as_uuid=False)),
        sa.Column("merged_into", sa.Uuid(as_uuid=False)),
        sa.CheckConstraint("severity IN ('critical', 'high', 'warning', 'unknown', 'info')", name=op.f("ck_incidents_severity")),
        sa.ForeignKeyConstraint(["merged_into"], ["incidents.id"], name=op.f("fk_incidents_merged_into"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_incidents")),
        postgresql_with={"fillfactor": 70},
    )
    op.create_index(
        "ix_incidents_by_severity",
        "incidents",
        [sa.literal_column("(strpos('info unknown warning high critical', severity))"), "opened_at", "id"],
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
    op.create_table(
        "mutes",
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("starts", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ends", sa.DateTime(timezone=True), nullable=False),
        sa.Column("match", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("incident_key", sa.Text()),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.CheckConstraint("starts < ends", name=op.f("ck_mutes_has_length")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_mutes")),
    )
    op.create_index(op.f("ix_mutes_ends"), "mutes", ["ends"])
    op.create_table(
        "pauses",
        sa.Column("chain_id", sa.Text(), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), server_default="", nullable=False),
        sa.Column("parks_running", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.PrimaryKeyConstraint("chain_id", name=op.f("pk_pauses")),
    )
    op.create_table(
        "processes",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("workers", sa.Integer(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_processes")),
    )
    op.create_table(
        "skill_texts",
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_skill_texts")),
    )
    op.create_table(
        "tool_days",
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("shard", sa.SmallInteger(), nullable=False),
        sa.Column("server", sa.Text(), nullable=False),
        sa.Column("tool", sa.Text(), nullable=False),
        sa.Column("calls", sa.BigInteger(), nullable=False),
        sa.Column("failed_calls", sa.BigInteger(), nullable=False),
        sa.Column("duration_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("day", "shard", "server", "tool", name=op.f("pk_tool_days")),
        postgresql_with={"fillfactor": 70},
    )
    op.create_table(
        "upkeep",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("done_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_upkeep")),
    )
    op.create_table(
        "usage_days",
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("shard", sa.SmallInteger(), nullable=False),
        sa.Column("chain_id", sa.Text(), nullable=False),
        sa.Column("alert_type", sa.Text(), nullable=False),
        sa.Column("agent_name", sa.Text(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("calls", sa.BigInteger(), nullable=False),
        sa.Column("failed_calls", sa.BigInteger(), nullable=False),
        sa.Column("input_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cached_tokens", sa.BigInteger(), nullable=False),
        sa.Column("output_tokens", sa.BigInteger(), nullable=False),
        sa.Column("thinking_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cost_usd", sa.Numeric(), nullable=False),
        sa.Column("unpriced_calls", sa.BigInteger(), nullable=False),
        sa.Column("duration_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("day", "shard", "chain_id", "alert_type", "agent_name", "provider", "model", name=op.f("pk_usage_days")),
        postgresql_with={"fillfactor": 70},
    )
    op.create_table(
        "webhook_deliveries",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("received_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("answer", postgresql.JSONB(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_webhook_deliveries")),
    )
    op.create_index(op.f("ix_webhook_deliveries_received_at"), "webhook_deliveries", ["received_at"])
    op.create_table(
        "alert_sessions",
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("alert_data", sa.Text(), nullable=False),
        sa.Column("alert_type", sa.Text(), nullable=False),
        sa.Column("chain_id", sa.Text(), nullable=False),
        sa.Column("chain_snapshot", postgresql.JSONB(), nullable=False),
        sa.Column("mcp_selection", postgresql.JSONB()),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("nonce", sa.Text(), nullable=False),
        sa.Column("runbook_url", sa.Text()),
        sa.Column("runbook", sa.Text()),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("final_analysis", sa.Text()),
        sa.Column("analysis_is_partial", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("executive_summary", sa.Text()),
        sa.Column("executive_summary_error", sa.Text()),
        sa.Column("error_message", sa.Text()),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True)),
        sa.Column("completed_at", sa.DateTime(timezone=True)),
        sa.Column("deleted_at", sa.DateTime(timezone=True)),
        sa.Column(
            "search",
            postgresql.TSVECTOR(),
            sa.Computed(
                "to_tsvector('simple', regexp_replace(translate(left(alert_type, 200) || ' ' || left(alert_data, 60000) || ' ' || left(coalesce(final_analysis, ''), 60000) || ' ' || left(coalesce(executive_summary, ''), 10000), '<>&', '   '), '(\\S{100})', '\\1 ', 'g'))",
                persisted=True,
            ),
        ),
        sa.Column("analysis_partial_reason", sa.Text()),
        sa.Column("incident_id", sa.Uuid(as_uuid=False)),
        sa.Column("verdict", postgresql.JSONB()),
        sa.Column("verdict_outcome", sa.Text()),
        sa.Column("verdict_confidence", sa.Text()),
        sa.Column("verdict_object", sa.Text()),
        sa.Column("verdict_search", postgresql.TSVECTOR()),
        sa.Column("citations", postgresql.JSONB()),
        sa.Column("fork", postgresql.JSONB()),
        sa.CheckConstraint(
            "(status IN ('completed', 'failed', 'timed_out', 'cancelled')) = (completed_at IS NOT NULL)",
            name=op.f("ck_alert_sessions_completed_at_when_final"),
        ),
        sa.CheckConstraint(
            "status IN ('pending', 'in_progress', 'waiting', 'cancelling', 'completed', 'failed', 'timed_out', 'cancelled')",
            name=op.f("ck_alert_sessions_status"),
        ),
        sa.CheckConstraint("verdict_confidence IN ('high', 'medium', 'low')", name=op.f("ck_alert_sessions_verdict_confidence")),
        sa.CheckConstraint("verdict_outcome IN ('fault', 'no_fault', 'inconclusive')", name=op.f("ck_alert_sessions_verdict_outcome")),
        sa.ForeignKeyConstraint(["incident_id"], ["incidents.id"], name=op.f("fk_alert_sessions_incident_id"), ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alert_sessions")),
        postgresql_with={"fillfactor": 70},
    )
    op.create_index(
        "ix_alert_sessions_by_citations",
        "alert_sessions",
        [sa.literal_column("(CAST(citations ->> 'verified' AS integer))"), "id"],
        postgresql_where=sa.text("deleted_at IS NULL AND citations IS NOT NULL"),
    )
    op.create_index(
        "ix_alert_sessions_by_confidence",
        "alert_sessions",
        [sa.literal_column("(strpos('low medium high', verdict_confidence))"), "created_at", "id"],
        postgresql_where=sa.text("deleted_at IS NULL AND verdict_confidence IS NOT NULL"),
    )
    op.create_index(
        "ix_alert_sessions_by_duration",
        "alert_sessions",
        [sa.literal_column("(completed_at - started_at)"), "id"],
        postgresql_where=sa.text("deleted_at IS NULL AND started_at IS NOT NULL AND completed_at IS NOT NULL"),
    )
    op.create_index(
        "ix_alert_sessions_by_outcome",
        "alert_sessions",
        ["verdict_outcome", sa.literal_column("created_at DESC"), sa.literal_column("id DESC")],
        postgresql_where=sa.text("deleted_at IS NULL AND verdict_outcome IS NOT NULL"),
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
        "ix_alert_sessions_incident", "alert_sessions", ["incident_id", "created_at"], postgresql_where=sa.text("incident_id IS NOT NULL")
    )
    op.create_index(
        "ix_alert_sessions_recent",
        "alert_sessions",
        [sa.literal_column("created_at DESC"), sa.literal_column("id DESC")],
        postgresql_where=sa.text("deleted_at IS NULL"),
    )
    op.create_index("ix_alert_sessions_search", "alert_sessions", ["search"], postgresql_using="gin")
    op.create_index(
        "ix_alert_sessions_verdict_search",
        "alert_sessions",
        ["verdict_search"],
        postgresql_using="gin",
        postgresql_where=sa.text("verdict_search IS NOT NULL"),
    )
    op.create_table(
        "alerts",
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("incident_id", sa.Uuid(as_uuid=False)),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("is_current", sa.Boolean(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("severity", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("said", sa.Text(), nullable=False),
        sa.Column("said_at", sa.DateTime(timezone=True)),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("count_in_all", sa.BigInteger(), nullable=False),
        sa.Column("labels", postgresql.JSONB(), nullable=False),
        sa.Column("annotations", postgresql.JSONB(), nullable=False),
        sa.Column("links", postgresql.JSONB(), nullable=False),
        sa.Column("group_key", sa.Text()),
        sa.Column("starts_at", sa.DateTime(timezone=True)),
        sa.Column("ends_at", sa.DateTime(timezone=True)),
        sa.Column("first_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("heard_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("reason", sa.Text()),
        sa.Column("body", sa.Text(), nullable=False),
        sa.CheckConstraint("said IN ('firing', 'resolved')", name=op.f("ck_alerts_said")),
        sa.CheckConstraint("severity IN ('critical', 'high', 'warning', 'unknown', 'info')", name=op.f("ck_alerts_severity")),
        sa.CheckConstraint("status IN ('firing', 'resolved')", name=op.f("ck_alerts_status")),
        sa.ForeignKeyConstraint(["incident_id"], ["incidents.id"], name=op.f("fk_alerts_incident_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alerts")),
        postgresql_with={"fillfactor": 70},
    )
    op.create_index("ix_alerts_firing", "alerts", ["heard_at", "id"], postgresql_where=sa.text("is_current AND status = 'firing'"))
    op.create_index("ix_alerts_incident", "alerts", ["incident_id", "first_at"])
    op.create_index("ix_alerts_labels", "alerts", ["labels"], postgresql_using="gin", postgresql_ops={"labels": "jsonb_path_ops"})
    op.create_index("ix_alerts_recorded", "alerts", ["heard_at"], postgresql_where=sa.text("incident_id IS NULL"))
    op.create_index("uq_alerts_current", "alerts", ["key"], unique=True, postgresql_where=sa.text("is_current"))
    op.create_table(
        "incident_activity",
        sa.Column("incident_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("minute", sa.DateTime(timezone=True), nullable=False),
        sa.Column("firing", sa.Integer(), nullable=False),
        sa.Column("resolved", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["incident_id"], ["incidents.id"], name=op.f("fk_incident_activity_incident_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("incident_id", "minute", name=op.f("pk_incident_activity")),
        postgresql_with={"fillfactor": 70},
    )
    op.create_table(
        "chats",
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("session_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("questions", sa.Integer(), server_default="0", nullable=False),
        sa.ForeignKeyConstraint(["session_id"], ["alert_sessions.id"], name=op.f("fk_chats_session_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_chats")),
        sa.UniqueConstraint("session_id", name=op.f("uq_chats_session_id")),
    )
    op.create_index("ix_chats_by_questions", "chats", ["questions", "session_id"], postgresql_where=sa.text("questions > 0"))
    op.create_table(
        "citations",
        sa.Column("session_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("execution_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("start", sa.Integer(), nullable=False),
        sa.Column("end", sa.Integer(), nullable=False),
        sa.Column("evidence_id", sa.Text(), nullable=False),
        sa.Column("quotation", sa.Text()),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("nearest", sa.Text(), nullable=False),
        sa.Column("found_start", sa.Integer()),
        sa.Column("found_end", sa.Integer()),
        sa.CheckConstraint("status IN ('quote_found', 'id_only', 'failed')", name=op.f("ck_citations_status")),
        sa.ForeignKeyConstraint(["session_id"], ["alert_sessions.id"], name=op.f("fk_citations_session_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("execution_id", "number", name=op.f("pk_citations")),
    )
    op.create_index(op.f("ix_citations_session_id"), "citations", ["session_id"])
    op.create_table(
        "llm_interactions",
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("session_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("stage_id", sa.Uuid(as_uuid=False)),
        sa.Column("execution_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("track", sa.Text(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("request_hash", sa.Text(), nullable=False),
        sa.Column("message_count", sa.Integer(), nullable=False),
        sa.Column("request", postgresql.JSONB(), nullable=False),
        sa.Column("response", postgresql.JSONB()),
        sa.Column("input_tokens", sa.Integer(), server_default="0", nullable=False),
        sa.Column("output_tokens", sa.Integer(), server_default="0", nullable=False),
        sa.Column("total_tokens", sa.Integer(), server_default="0", nullable=False),
        sa.Column("thinking_tokens", sa.Integer(), server_default="0", nullable=False),
        sa.Column("cached_tokens", sa.Integer(), server_default="0", nullable=False),
        sa.Column("error_code", sa.Text()),
        sa.Column("error_message", sa.Text()),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("duration_ms", sa.Integer(), nullable=False),
        sa.Column("first_chunk_ms", sa.Integer()),
        sa.Column("cost_usd", sa.Numeric()),
        sa.Column("price", postgresql.JSONB()),
        sa.CheckConstraint(
            "kind IN ('iteration', 'forced_conclusion', 'correction', 'single_shot', 'summarization')",
            name=op.f("ck_llm_interactions_kind"),
        ),
        sa.ForeignKeyConstraint(["session_id"], ["alert_sessions.id"], name=op.f("fk_llm_interactions_session_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_llm_interactions")),
        sa.UniqueConstraint("execution_id", "track", "turn", name=op.f("uq_llm_interactions_execution_id_track_turn")),
    )
    op.create_index("ix_llm_interactions_session", "llm_interactions", ["session_id", "started_at"])
    op.create_table(
        "mcp_interactions",
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("session_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("stage_id", sa.Uuid(as_uuid=False)),
        sa.Column("execution_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("server", sa.Text(), nullable=False),
        sa.Column("tool", sa.Text()),
        sa.Column("call_id", sa.Text()),
        sa.Column("arguments", sa.Text()),
        sa.Column("result", postgresql.JSONB()),
        sa.Column("is_error", sa.Boolean(), nullable=False),
        sa.Column("error_message", sa.Text()),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("duration_ms", sa.Integer(), nullable=False),
        sa.Column("evidence_id", sa.Text()),
        sa.CheckConstraint("kind IN ('tool_call', 'tool_list')", name=op.f("ck_mcp_interactions_kind")),
        sa.ForeignKeyConstraint(["session_id"], ["alert_sessions.id"], name=op.f("fk_mcp_interactions_session_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_mcp_interactions")),
    )
    op.create_index(op.f("ix_mcp_interactions_execution_id"), "mcp_interactions", ["execution_id"])
    op.create_index("ix_mcp_interactions_session", "mcp_interactions", ["session_id", "started_at"])
    op.create_table(
        "messages",
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("session_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("execution_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("sequence_number", sa.Integer(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("original_content", sa.Text()),
        sa.Column("compacted_before_turn", sa.Integer()),
        sa.Column("tool_calls", postgresql.JSONB()),
        sa.Column("tool_call_id", sa.Text()),
        sa.Column("tool_name", sa.Text()),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("(role = 'tool') = (tool_call_id IS NOT NULL)", name=op.f("ck_messages_tool_results_name_their_call")),
        sa.CheckConstraint("role IN ('system', 'user', 'assistant', 'tool')", name=op.f("ck_messages_role")),
        sa.ForeignKeyConstraint(["session_id"], ["alert_sessions.id"], name=op.f("fk_messages_session_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_messages")),
        sa.UniqueConstraint("execution_id", "sequence_number", name=op.f("uq_messages_execution_id_sequence_number")),
    )
    op.create_index(op.f("ix_messages_session_id"), "messages", ["session_id"])
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
    op.create_table(
        "run_inputs",
        sa.Column("session_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("execution_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("track", sa.Text(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("fields", postgresql.JSONB(), nullable=False),
        sa.ForeignKeyConstraint(["session_id"], ["alert_sessions.id"], name=op.f("fk_run_inputs_session_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("execution_id", "turn", "kind", "name", name=op.f("pk_run_inputs")),
    )
    op.create_index(op.f("ix_run_inputs_session_id"), "run_inputs", ["session_id"])
    op.create_table(
        "session_figures",
        sa.Column("session_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("agents", sa.Integer(), nullable=False),
        sa.Column("fallbacks", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["session_id"], ["alert_sessions.id"], name=op.f("fk_session_figures_session_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("session_id", name=op.f("pk_session_figures")),
        postgresql_with={"fillfactor": 70},
    )
    op.create_index("ix_session_figures_by_agents", "session_figures", ["agents", "session_id"], postgresql_where=sa.text("agents > 0"))
    op.create_index(
        "ix_session_figures_by_fallbacks", "session_figures", ["fallbacks", "session_id"], postgresql_where=sa.text("fallbacks > 0")
    )
    op.create_table(
        "session_spending",
        sa.Column("session_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("calls", sa.BigInteger(), nullable=False),
        sa.Column("total_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cost_usd", sa.Numeric(), nullable=False),
        sa.Column("unpriced_calls", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["session_id"], ["alert_sessions.id"], name=op.f("fk_session_spending_session_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("session_id", name=op.f("pk_session_spending")),
        postgresql_with={"fillfactor": 70},
    )
    op.create_index("ix_session_spending_by_tokens", "session_spending", ["total_tokens", "session_id"])
    op.create_index(
        "ix_session_spending_dearest", "session_spending", [sa.literal_column("cost_usd DESC"), sa.literal_column("session_id DESC")]
    )
    op.create_table(
        "stages",
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("session_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("stage_name", sa.Text(), nullable=False),
        sa.Column("stage_index", sa.Integer(), nullable=False),
        sa.Column("stage_type", sa.Text(), nullable=False),
        sa.Column("expected_agent_count", sa.Integer(), nullable=False),
        sa.Column("parallel_type", sa.Text()),
        sa.Column("success_policy", sa.Text()),
        sa.Column("referenced_stage_id", sa.Uuid(as_uuid=False)),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("error_message", sa.Text()),
        sa.Column("started_at", sa.DateTime(timezone=True)),
        sa.Column("completed_at", sa.DateTime(timezone=True)),
        sa.CheckConstraint("parallel_type IN ('multi_agent', 'replica')", name=op.f("ck_stages_parallel_type")),
        sa.CheckConstraint(
            "stage_type IN ('investigation', 'synthesis', 'exec_summary', 'chat', 'scoring', 'action', 'challenge')",
            name=op.f("ck_stages_stage_type"),
        ),
        sa.CheckConstraint(
            "status IN ('pending', 'active', 'completed', 'failed', 'timed_out', 'cancelled')", name=op.f("ck_stages_status")
        ),
        sa.CheckConstraint("success_policy IN ('all', 'any')", name=op.f("ck_stages_success_policy")),
        sa.CheckConstraint("expected_agent_count > 0", name=op.f("ck_stages_has_agents")),
        sa.ForeignKeyConstraint(["referenced_stage_id"], ["stages.id"], name=op.f("fk_stages_referenced_stage_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["session_id"], ["alert_sessions.id"], name=op.f("fk_stages_session_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_stages")),
        sa.UniqueConstraint("session_id", "stage_index", name=op.f("uq_stages_session_id_stage_index")),
    )
    op.create_index(op.f("ix_stages_referenced_stage_id"), "stages", ["referenced_stage_id"])
    op.create_table(
        "timeline_events",
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("session_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("stage_id", sa.Uuid(as_uuid=False)),
        sa.Column("execution_id", sa.Uuid(as_uuid=False)),
        sa.Column("sequence_number", sa.Integer(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("event_type", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("metadata", postgresql.JSONB(), server_default="{}", nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("completed_at", sa.DateTime(timezone=True)),
        sa.CheckConstraint("(status = 'streaming') = (completed_at IS NULL)", name=op.f("ck_timeline_events_open_while_streaming")),
        sa.CheckConstraint(
            "event_type IN ('llm_thinking', 'llm_response', 'llm_tool_call', 'tool_result', 'mcp_tool_summary', 'final_analysis', 'executive_summary', 'error', 'warning', 'user_question', 'code_execution', 'google_search_result', 'url_context_result', 'provider_fallback', 'note')",
            name=op.f("ck_timeline_events_event_type"),
        ),
        sa.CheckConstraint(
            "status IN ('streaming', 'completed', 'failed', 'cancelled', 'timed_out', 'interrupted')",
            name=op.f("ck_timeline_events_status"),
        ),
        sa.ForeignKeyConstraint(["session_id"], ["alert_sessions.id"], name=op.f("fk_timeline_events_session_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_timeline_events")),
        sa.UniqueConstraint("execution_id", "sequence_number", name=op.f("uq_timeline_events_execution_id_sequence_number")),
        sa.UniqueConstraint("session_id", "position", name=op.f("uq_timeline_events_session_id_position")),
        postgresql_with={"fillfactor": 70},
    )
    op.create_table(
        "work",
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("subject_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("session_id", sa.Uuid(as_uuid=False)),
        sa.Column("chain_id", sa.Text()),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("priority", sa.SmallInteger(), server_default="0", nullable=False),
        sa.Column("rank", sa.DateTime(timezone=True), nullable=False),
        sa.Column("not_before", sa.DateTime(timezone=True)),
        sa.Column("claimed_by", sa.Text()),
        sa.Column("claim_token", sa.Uuid(as_uuid=False)),
        sa.Column("claimed_at", sa.DateTime(timezone=True)),
        sa.Column("heartbeat_at", sa.DateTime(timezone=True)),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("recoveries", sa.Integer(), server_default="0", nullable=False),
        sa.Column("stuck_recoveries", sa.Integer(), server_default="0", nullable=False),
        sa.Column("cancel_requested", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("wake_requested", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("deadline", sa.DateTime(timezone=True)),
        sa.Column("handed_back_at", sa.DateTime(timezone=True)),
        sa.Column("parked_at", sa.DateTime(timezone=True)),
        sa.Column("parked_reason", sa.Text()),
        sa.Column("parked_by_pause", sa.Text()),
        sa.Column("wake_at", sa.DateTime(timezone=True)),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("parked_by_budget", sa.Text()),
        sa.Column("budget_needs", sa.Numeric()),
        sa.CheckConstraint("(state = 'claimed') = (claim_token IS NOT NULL)", name=op.f("ck_work_token_while_claimed")),
        sa.CheckConstraint("(state = 'parked') = (parked_at IS NOT NULL)", name=op.f("ck_work_parked_at_while_parked")),
        sa.CheckConstraint("state IN ('ready', 'claimed', 'parked', 'done')", name=op.f("ck_work_state")),
        sa.ForeignKeyConstraint(["session_id"], ["alert_sessions.id"], name=op.f("fk_work_session_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_work")),
        sa.UniqueConstraint("kind", "subject_id", name=op.f("uq_work_kind_subject_id")),
        postgresql_with={"fillfactor": 70},
    )
    op.create_index("ix_work_claimed", "work", ["kind"], postgresql_where=sa.text("state = 'claimed'"))
    op.create_index("ix_work_parked", "work", ["kind", "wake_at"], postgresql_where=sa.text("state = 'parked'"))
    op.create_index("ix_work_ready", "work", ["kind", "rank", "id"], postgresql_where=sa.text("state = 'ready'"))
    op.create_index(op.f("ix_work_session_id"), "work", ["session_id"])
    op.create_table(
        "agent_executions",
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("session_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("stage_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("agent_name", sa.Text(), nullable=False),
        sa.Column("agent_index", sa.Integer(), nullable=False),
        sa.Column("llm_backend", sa.Text(), nullable=False),
        sa.Column("llm_provider", sa.Text(), nullable=False),
        sa.Column("model_name", sa.Text(), nullable=False),
        sa.Column("tool_calling", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("cancel_requested", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("error_message", sa.Text()),
        sa.Column("started_at", sa.DateTime(timezone=True)),
        sa.Column("completed_at", sa.DateTime(timezone=True)),
        sa.Column("parent_execution_id", sa.Uuid(as_uuid=False)),
        sa.Column("dispatched_by", sa.Text()),
        sa.Column("task", sa.Text()),
        sa.CheckConstraint(
            "status IN ('pending', 'active', 'completed', 'failed', 'timed_out', 'cancelled')", name=op.f("ck_agent_executions_status")
        ),
        sa.ForeignKeyConstraint(
            ["parent_execution_id"], ["agent_executions.id"], name=op.f("fk_agent_executions_parent_execution_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["session_id"], ["alert_sessions.id"], name=op.f("fk_agent_executions_session_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["stage_id"], ["stages.id"], name=op.f("fk_agent_executions_stage_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_agent_executions")),
    )
    op.create_index(op.f("ix_agent_executions_session_id"), "agent_executions", ["session_id"])
    op.create_index(op.f("ix_agent_executions_stage_id"), "agent_executions", ["stage_id"])
    op.create_index(
        "uq_agent_executions_parent_execution_id_agent_index", "agent_executions", ["parent_execution_id", "agent_index"], unique=True
    )
    op.create_index(
        "uq_agent_executions_stage_id_agent_index",
        "agent_executions",
        ["stage_id", "agent_index"],
        unique=True,
        postgresql_where=sa.text("parent_execution_id IS NULL"),
    )
    op.create_table(
        "chat_user_messages",
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("chat_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("session_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("stage_id", sa.Uuid(as_uuid=False)),
        sa.Column("error_message", sa.Text()),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("completed_at", sa.DateTime(timezone=True)),
        sa.CheckConstraint(
            "status IN ('pending', 'active', 'completed', 'failed', 'timed_out', 'cancelled')", name=op.f("ck_chat_user_messages_status")
        ),
        sa.ForeignKeyConstraint(["chat_id"], ["chats.id"], name=op.f("fk_chat_user_messages_chat_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["session_id"], ["alert_sessions.id"], name=op.f("fk_chat_user_messages_session_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["stage_id"], ["stages.id"], name=op.f("fk_chat_user_messages_stage_id"), ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_chat_user_messages")),
        postgresql_with={"fillfactor": 70},
    )
    op.create_index(op.f("ix_chat_user_messages_chat_id_created_at"), "chat_user_messages", ["chat_id", "created_at"])
    op.create_index(op.f("ix_chat_user_messages_session_id"), "chat_user_messages", ["session_id"])
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
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("session_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("requested_by", sa.Text(), nullable=False),
        sa.Column("stage_id", sa.Uuid(as_uuid=False)),
        sa.Column("total_score", sa.Integer()),
        sa.Column("analysis", sa.Text()),
        sa.Column("missing_tools", sa.Text()),
        sa.Column("error_message", sa.Text()),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("completed_at", sa.DateTime(timezone=True)),
        sa.CheckConstraint(
            "status IN ('pending', 'active', 'completed', 'failed', 'timed_out', 'cancelled')", name=op.f("ck_session_scores_status")
        ),
        sa.CheckConstraint("total_score BETWEEN 0 AND 100", name=op.f("ck_session_scores_score_range")),
        sa.ForeignKeyConstraint(["session_id"], ["alert_sessions.id"], name=op.f("fk_session_scores_session_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["stage_id"], ["stages.id"], name=op.f("fk_session_scores_stage_id"), ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_session_scores")),
        postgresql_with={"fillfactor": 70},
    )
    op.create_index(
        "ix_session_scores_by_score", "session_scores", ["total_score", "session_id"], postgresql_where=sa.text("total_score IS NOT NULL")
    )
    op.create_index(op.f("ix_session_scores_session_id_created_at"), "session_scores", ["session_id", "created_at"])
    op.create_index(op.f("ix_session_scores_stage_id"), "session_scores", ["stage_id"])
    op.create_index(
        "uq_session_scores_open", "session_scores", ["session_id"], unique=True, postgresql_where=sa.text("status IN ('pending', 'active')")
    )
    op.create_table(
        "reservations",
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("session_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("stage_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("execution_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("is_kept", sa.Boolean(), nullable=False),
        sa.Column("usd", sa.Numeric(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("model_calls", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["execution_id"], ["agent_executions.id"], name=op.f("fk_reservations_execution_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["session_id"], ["alert_sessions.id"], name=op.f("fk_reservations_session_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_reservations")),
    )
    op.create_index(op.f("ix_reservations_created_at"), "reservations", ["created_at"])
    op.create_index(op.f("ix_reservations_execution_id"), "reservations", ["execution_id"])
    op.create_index(op.f("ix_reservations_session_id"), "reservations", ["session_id"])
