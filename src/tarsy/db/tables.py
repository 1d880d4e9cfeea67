"""Every table, with the constraints that keep its rows true. Migrations are written from here and reviewed."""

from collections.abc import Iterable
from enum import StrEnum

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, TSVECTOR
from sqlalchemy.schema import SchemaItem

from tarsy.domain.access_role import AccessRole
from tarsy.domain.alert import AlertStatus, ChangeOutcome, Severity
from tarsy.domain.approval import ApprovalState
from tarsy.domain.citation import CitationStatus
from tarsy.domain.conversation import Role
from tarsy.domain.interaction import LLMInteractionKind, MCPInteractionKind
from tarsy.domain.note import NoteKind
from tarsy.domain.notification import NotificationStatus
from tarsy.domain.review import Accuracy
from tarsy.domain.stage import ParallelType, StageType, SuccessPolicy
from tarsy.domain.status import RunStatus, SessionStatus, TimelineStatus
from tarsy.domain.timeline import TimelineEventType
from tarsy.domain.verdict import Confidence, VerdictOutcome
from tarsy.domain.work import WorkState


def sql_list(values: Iterable[StrEnum]) -> str:
    """Values as SQL writes them, for predicates that an index must recognise."""
    return ", ".join(f"'{value}'" for value in values)


metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

_SESSION_ENDS = [status for status in SessionStatus if status.is_final]
_RUN_OPEN = sa.text(f"status IN ({sql_list(status for status in RunStatus if not status.is_final)})")

Timestamp = sa.DateTime(timezone=True)
Id = sa.Uuid(as_uuid=False)
# None is SQL's null, not the JSON value.
NullableJson = JSONB(none_as_null=True)
# Rows that are updated in place many times leave room on their page, so that an update touches no index.
ROOMY = {"fillfactor": 70}

# Expressions that sessions are sorted by; an index and its query must write them alike: the rank of a verdict's confidence and of a severity,
# how long a session ran, and how many citations of its analysis were verified.
CONFIDENCE_RANK = "strpos('low medium high', verdict_confidence)"
SEVERITY_RANK = "strpos('info unknown warning high critical', severity)"
RUN_TIME = "completed_at - started_at"
VERIFIED_CITATIONS = "CAST(citations ->> 'verified' AS integer)"


def _one_of(column: str, values: type[StrEnum]) -> sa.CheckConstraint:
    return sa.CheckConstraint(f"{column} IN ({sql_list(values)})", name=column)


def _session_key(*, nullable: bool = False) -> sa.Column[str]:
    return sa.Column("session_id", Id, sa.ForeignKey("alert_sessions.id", ondelete="CASCADE"), nullable=nullable)


# Alerts that belong together. Open while `resolved_at` is empty.
incidents = sa.Table(
    "incidents",
    metadata,
    sa.Column("id", Id, primary_key=True),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("route", sa.Text, nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("severity", sa.Text, nullable=False),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("alert_type", sa.Text, nullable=False),
    sa.Column("opened_at", Timestamp, nullable=False),
    sa.Column("heard_at", Timestamp, nullable=False),
    sa.Column("resolved_at", Timestamp),
    sa.Column("firing", sa.Integer, nullable=False),
    sa.Column("alerts", sa.Integer, nullable=False),
    sa.Column("deliveries", sa.BigInteger, nullable=False),
    # The number of alerts that were left out of the last delivery.
    sa.Column("truncated", sa.Integer, nullable=False, server_default="0"),
    sa.Column("looked_again", sa.SmallInteger, nullable=False, server_default="0"),
    # No foreign key: it stays when the investigation is erased.
    sa.Column("session_id", Id),
    sa.Column("merged_into", Id, sa.ForeignKey("incidents.id", ondelete="CASCADE")),
    _one_of("severity", Severity),
    sa.Index("ix_incidents_key", "key", sa.text("opened_at DESC")),
    sa.Index("ix_incidents_recent", sa.text("opened_at DESC"), sa.text("id DESC")),
    sa.Index("ix_incidents_open", sa.text("opened_at DESC"), sa.text("id DESC"), postgresql_where=sa.text("resolved_at IS NULL")),
    sa.Index("ix_incidents_resolved", "resolved_at"),
    sa.Index("ix_incidents_by_severity", sa.text(f"({SEVERITY_RANK})"), "opened_at", "id"),
    sa.Index(None, "merged_into"),
    postgresql_with=ROOMY,
)

# Alerts of monitoring systems: a row for each incident that the alert was part of, the latest of them current.
alerts = sa.Table(
    "alerts",
    metadata,
    sa.Column("id", Id, primary_key=True),
    sa.Column("incident_id", Id, sa.ForeignKey("incidents.id", ondelete="CASCADE")),
    # Source, instance and fingerprint in a form of fixed length.
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("is_current", sa.Boolean, nullable=False),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("instance", sa.Text, nullable=False, server_default=""),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("severity", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    # The last status that the sender reported, and its time.
    sa.Column("said", sa.Text, nullable=False),
    sa.Column("said_at", Timestamp),
    # How often it was received, as part of this incident and in all.
    sa.Column("count", sa.BigInteger, nullable=False),
    sa.Column("count_in_all", sa.BigInteger, nullable=False),
    sa.Column("labels", JSONB, nullable=False),
    sa.Column("annotations", JSONB, nullable=False),
    sa.Column("links", JSONB, nullable=False),
    sa.Column("group_key", sa.Text),
    sa.Column("starts_at", Timestamp),
    sa.Column("ends_at", Timestamp),
    sa.Column("first_at", Timestamp, nullable=False),
    sa.Column("heard_at", Timestamp, nullable=False),
    # Why it is only recorded.
    sa.Column("reason", sa.Text),
    sa.Column("body", sa.Text, nullable=False),
    _one_of("severity", Severity),
    _one_of("status", AlertStatus),
    _one_of("said", AlertStatus),
    sa.Index("uq_alerts_current", "key", unique=True, postgresql_where=sa.text("is_current")),
    sa.Index("ix_alerts_incident", "incident_id", "first_at"),
    sa.Index("ix_alerts_labels", "labels", postgresql_using="gin", postgresql_ops={"labels": "jsonb_path_ops"}),
    sa.Index("ix_alerts_firing", "heard_at", "id", postgresql_where=sa.text(f"is_current AND status = '{AlertStatus.FIRING}'")),
    sa.Index("ix_alerts_recorded", "heard_at", postgresql_where=sa.text("incident_id IS NULL")),
    postgresql_with=ROOMY,
)

# How many alerts of an incident were received in each minute: the chart of an incident.
incident_activity = sa.Table(
    "incident_activity",
    metadata,
    sa.Column("incident_id", Id, sa.ForeignKey("incidents.id", ondelete="CASCADE"), nullable=False),
    sa.Column("minute", Timestamp, nullable=False),
    sa.Column("firing", sa.Integer, nullable=False),
    sa.Column("resolved", sa.Integer, nullable=False),
    sa.PrimaryKeyConstraint("incident_id", "minute"),
    postgresql_with=ROOMY,
)

# Deployments and other changes. They open no incident, but may be the cause of one.
changes = sa.Table(
    "changes",
    metadata,
    sa.Column("id", Id, primary_key=True),
    # Source and fingerprint in a form of fixed length.
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("outcome", sa.Text, nullable=False),
    sa.Column("labels", JSONB, nullable=False),
    sa.Column("link", sa.Text),
    sa.Column("at", Timestamp, nullable=False),
    sa.Column("received_at", Timestamp, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.UniqueConstraint("key"),
    _one_of("outcome", ChangeOutcome),
    sa.Index(None, "at"),
    sa.Index("ix_changes_labels", "labels", postgresql_using="gin", postgresql_ops={"labels": "jsonb_path_ops"}),
    postgresql_with=ROOMY,
)

# Mutes that people created; those of the configuration are not stored.
mutes = sa.Table(
    "mutes",
    metadata,
    sa.Column("id", Id, primary_key=True),
    sa.Column("starts", Timestamp, nullable=False),
    sa.Column("ends", Timestamp, nullable=False),
    sa.Column("match", ARRAY(sa.Text), nullable=False),
    sa.Column("incident_key", sa.Text),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.CheckConstraint("starts < ends", name="has_length"),
    sa.Index(None, "ends"),
)

# Accepted requests by the id of their sender: a repeated one gets the same answer, and counts once.
webhook_deliveries = sa.Table(
    "webhook_deliveries",
    metadata,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("received_at", Timestamp, nullable=False),
    sa.Column("answer", JSONB, nullable=False),
    sa.Index(None, "received_at"),
)

# The last webhook requests that were refused, or that failed.
refused_deliveries = sa.Table(
    "refused_deliveries",
    metadata,
    sa.Column("id", sa.BigInteger, sa.Identity(always=True), primary_key=True),
    sa.Column("at", Timestamp, nullable=False),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("peer", sa.Text),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("status", sa.SmallInteger, nullable=False),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("detail", sa.Text, nullable=False),
)

alert_sessions = sa.Table(
    "alert_sessions",
    metadata,
    sa.Column("id", Id, primary_key=True),
    # None: an explicit request, which is never grouped.
    sa.Column("incident_id", Id, sa.ForeignKey("incidents.id", ondelete="SET NULL")),
    sa.Column("alert_data", sa.Text, nullable=False),
    sa.Column("alert_type", sa.Text, nullable=False),
    sa.Column("chain_id", sa.Text, nullable=False),
    sa.Column("chain_snapshot", JSONB, nullable=False),
    sa.Column("mcp_selection", NullableJson),
    # The session and model call it was forked from; null if it is no fork.
    sa.Column("fork", NullableJson),
    sa.Column("author", sa.Text, nullable=False),
    sa.Column("nonce", sa.Text, nullable=False),
    sa.Column("runbook_url", sa.Text),
    # The runbook, once it was fetched: all agents of the session receive the same text.
    sa.Column("runbook", sa.Text),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("final_analysis", sa.Text),
    sa.Column("analysis_is_partial", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("analysis_partial_reason", sa.Text),
    sa.Column("executive_summary", sa.Text),
    sa.Column("executive_summary_error", sa.Text),
    # The verdict with the confidence to show: as a whole, and the fields that lists are filtered by.
    sa.Column("verdict", NullableJson),
    sa.Column("verdict_outcome", sa.Text),
    sa.Column("verdict_confidence", sa.Text),
    sa.Column("verdict_object", sa.Text),
    # The words of the verdict for searches. A column of its own, because changing the generated search column would rewrite every row.
    sa.Column("verdict_search", TSVECTOR),
    # How many citations of the analysis were verified, and how many were not.
    sa.Column("citations", NullableJson),
    sa.Column("error_message", sa.Text),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.Column("started_at", Timestamp),
    sa.Column("completed_at", Timestamp),
    sa.Column("deleted_at", Timestamp),
    # A text by which the alert's own message in Slack is found, and the thread of the person who asked for the session there.
    sa.Column("slack_message_fingerprint", sa.Text),
    sa.Column("slack_thread", NullableJson),
    # A tsvector holds at most 1 MB: the beginning of a long text is what people search by. The parser reads from every character of a
    # run without a space to the end of the run, and from every `<` and `&` as far as a tag might go: runs are broken up, and those become
    # spaces, so that the time it takes grows with the length and not with its square.
    sa.Column(
        "search",
        TSVECTOR,
        sa.Computed(
            "to_tsvector('simple', regexp_replace(translate(left(alert_type, 200) || ' ' || left(alert_data, 60000) || ' ' "
            "|| left(coalesce(final_analysis, ''), 60000) || ' ' || left(coalesce(executive_summary, ''), 10000), '<>&', '   '), "
            r"'(\S{100})', '\1 ', 'g'))",
            persisted=True,
        ),
    ),
    _one_of("status", SessionStatus),
    _one_of("verdict_outcome", VerdictOutcome),
    _one_of("verdict_confidence", Confidence),
    sa.CheckConstraint(f"(status IN ({sql_list(_SESSION_ENDS)})) = (completed_at IS NOT NULL)", name="completed_at_when_final"),
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
    sa.Index("ix_alert_sessions_search", "search", postgresql_using="gin"),
    sa.Index("ix_alert_sessions_ended", "completed_at"),
    sa.Index("ix_alert_sessions_slack_thread", "slack_thread", postgresql_where=sa.text("slack_thread IS NOT NULL")),
    sa.Index("ix_alert_sessions_incident", "incident_id", "created_at", postgresql_where=sa.text("incident_id IS NOT NULL")),
    sa.Index(
        "ix_alert_sessions_by_outcome",
        "verdict_outcome",
        sa.text("created_at DESC"),
        sa.text("id DESC"),
        postgresql_where=sa.text("deleted_at IS NULL AND verdict_outcome IS NOT NULL"),
    ),
    sa.Index(
        "ix_alert_sessions_verdict_search",
        "verdict_search",
        postgresql_using="gin",
        postgresql_where=sa.text("verdict_search IS NOT NULL"),
    ),
    sa.Index(
        "ix_alert_sessions_by_confidence",
        sa.text(f"({CONFIDENCE_RANK})"),
        "created_at",
        "id",
        postgresql_where=sa.text("deleted_at IS NULL AND verdict_confidence IS NOT NULL"),
    ),
    sa.Index(
        "ix_alert_sessions_by_duration",
        sa.text(f"({RUN_TIME})"),
        "id",
        postgresql_where=sa.text("deleted_at IS NULL AND started_at IS NOT NULL AND completed_at IS NOT NULL"),
    ),
    sa.Index(
        "ix_alert_sessions_by_citations",
        sa.text(f"({VERIFIED_CITATIONS})"),
        "id",
        postgresql_where=sa.text("deleted_at IS NULL AND citations IS NOT NULL"),
    ),
    postgresql_with=ROOMY,
)

# Without the columns that only searches use.
SESSION_COLUMNS = [column for column in alert_sessions.c if column.name not in {"search", "verdict_search"}]

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
    sa.Column("parent_execution_id", Id, sa.ForeignKey("agent_executions.id", ondelete="CASCADE")),
    sa.Column("dispatched_by", sa.Text),
    sa.Column("task", sa.Text),
    sa.Column("cancel_requested", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("error_message", sa.Text),
    sa.Column("started_at", Timestamp),
    sa.Column("completed_at", Timestamp),
    # The index of a sub-agent is the number of the tool call that started it.
    sa.Index(
        "uq_agent_executions_stage_id_agent_index",
        "stage_id",
        "agent_index",
        unique=True,
        postgresql_where=sa.text("parent_execution_id IS NULL"),
    ),
    sa.Index("uq_agent_executions_parent_execution_id_agent_index", "parent_execution_id", "agent_index", unique=True),
    _one_of("status", RunStatus),
    sa.Index(None, "session_id"),
    sa.Index(None, "stage_id"),
)

# Rows of a run are erased with their session. There are no foreign keys to the stage and the execution: the step that writes the row has
# stored them, and checking them would take a tenth of PostgreSQL's time.
timeline_events = sa.Table(
    "timeline_events",
    metadata,
    sa.Column("id", Id, primary_key=True),
    _session_key(),
    sa.Column("stage_id", Id),
    sa.Column("execution_id", Id),
    sa.Column("sequence_number", sa.Integer, nullable=False),
    # The id of the live event that announced it, which orders the whole session.
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
    sa.CheckConstraint(f"(status = '{TimelineStatus.STREAMING}') = (completed_at IS NULL)", name="open_while_streaming"),
    # No index on columns that change when an event is closed, so that the update needs no index entry.
    postgresql_with=ROOMY,
)

messages = sa.Table(
    "messages",
    metadata,
    sa.Column("id", Id, primary_key=True),
    _session_key(),
    sa.Column("execution_id", Id, nullable=False),
    sa.Column("sequence_number", sa.Integer, nullable=False),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("content", sa.Text, nullable=False),
    # The content before the conversation was compacted to fit the model's window.
    sa.Column("original_content", sa.Text),
    # The first model call of the execution that was sent the short form.
    sa.Column("compacted_before_turn", sa.Integer),
    sa.Column("tool_calls", NullableJson),
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
    sa.Column("stage_id", Id),
    sa.Column("execution_id", Id, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("track", sa.Text, nullable=False),
    sa.Column("turn", sa.Integer, nullable=False),
    sa.Column("provider", sa.Text, nullable=False),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("request_hash", sa.Text, nullable=False),
    sa.Column("message_count", sa.Integer, nullable=False),
    sa.Column("request", JSONB, nullable=False),
    sa.Column("response", NullableJson),
    sa.Column("input_tokens", sa.Integer, nullable=False, server_default="0"),
    sa.Column("output_tokens", sa.Integer, nullable=False, server_default="0"),
    sa.Column("total_tokens", sa.Integer, nullable=False, server_default="0"),
    sa.Column("thinking_tokens", sa.Integer, nullable=False, server_default="0"),
    sa.Column("cached_tokens", sa.Integer, nullable=False, server_default="0"),
    # The tokens are an estimate: the call was cut off before the vendor reported them.
    sa.Column("usage_estimated", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("error_code", sa.Text),
    sa.Column("error_message", sa.Text),
    sa.Column("started_at", Timestamp, nullable=False),
    sa.Column("duration_ms", sa.Integer, nullable=False),
    sa.Column("first_chunk_ms", sa.Integer),
    # None: the price was not known.
    sa.Column("cost_usd", sa.Numeric),
    # US dollars per million tokens at the time of the call.
    sa.Column("price", NullableJson),
    sa.UniqueConstraint("execution_id", "track", "turn"),
    _one_of("kind", LLMInteractionKind),
    sa.Index("ix_llm_interactions_session", "session_id", "started_at"),
)

mcp_interactions = sa.Table(
    "mcp_interactions",
    metadata,
    sa.Column("id", Id, primary_key=True),
    _session_key(),
    sa.Column("stage_id", Id),
    sa.Column("execution_id", Id, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("server", sa.Text, nullable=False),
    sa.Column("tool", sa.Text),
    sa.Column("call_id", sa.Text),
    # The id by which agents cite the result; null for lists of tools.
    sa.Column("evidence_id", sa.Text),
    sa.Column("arguments", sa.Text),
    sa.Column("result", NullableJson),
    sa.Column("is_error", sa.Boolean, nullable=False),
    sa.Column("error_message", sa.Text),
    sa.Column("started_at", Timestamp, nullable=False),
    sa.Column("duration_ms", sa.Integer, nullable=False),
    _one_of("kind", MCPInteractionKind),
    sa.Index("ix_mcp_interactions_session", "session_id", "started_at"),
    sa.Index(None, "execution_id"),
)

# Inputs of a run besides the answers of its model and tools, with the turn that they reached; a resumed or replayed run receives them again.
run_inputs = sa.Table(
    "run_inputs",
    metadata,
    _session_key(),
    sa.Column("execution_id", Id, nullable=False),
    sa.Column("track", sa.Text, nullable=False),
    sa.Column("turn", sa.Integer, nullable=False),
    # Not limited by a constraint: a new kind of input needs no migration.
    sa.Column("kind", sa.Text, nullable=False),
    # Distinguishes it among those of its kind in that turn, see `place_of`: the id of evidence or of a note, or a call.
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("fields", JSONB, nullable=False),
    sa.PrimaryKeyConstraint("execution_id", "turn", "kind", "name"),
    sa.Index(None, "session_id"),
)

# Notes for running investigations; run inputs record which agents received them.
notes = sa.Table(
    "notes",
    metadata,
    _session_key(),
    # From 1, in the order in which they were stored.
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("author", sa.Text, nullable=False),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("created_at", Timestamp, nullable=False),
    _one_of("kind", NoteKind),
    sa.PrimaryKeyConstraint("session_id", "number"),
)

# Citations in the analysis of an execution, and the result of their check.
citations = sa.Table(
    "citations",
    metadata,
    _session_key(),
    sa.Column("execution_id", Id, nullable=False),
    # In the order of the text.
    sa.Column("number", sa.Integer, nullable=False),
    # Of the whole bracket, in characters of the analysis.
    sa.Column("start", sa.Integer, nullable=False),
    sa.Column("end", sa.Integer, nullable=False),
    sa.Column("evidence_id", sa.Text, nullable=False),
    sa.Column("quotation", sa.Text),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    # The most similar line, if the quotation was not found.
    sa.Column("nearest", sa.Text, nullable=False),
    # The position of the quotation in the evidence.
    sa.Column("found_start", sa.Integer),
    sa.Column("found_end", sa.Integer),
    sa.PrimaryKeyConstraint("execution_id", "number"),
    _one_of("status", CitationStatus),
    sa.Index(None, "session_id"),
)

# Running sums, updated by the step that stores a call; they are kept when sessions are erased.
usage_days = sa.Table(
    "usage_days",
    metadata,
    sa.Column("day", sa.Date, nullable=False),
    # The shard of the database connection that writes the row; readers sum over all of them.
    sa.Column("shard", sa.SmallInteger, nullable=False),
    sa.Column("chain_id", sa.Text, nullable=False),
    sa.Column("alert_type", sa.Text, nullable=False),
    sa.Column("agent_name", sa.Text, nullable=False),
    sa.Column("provider", sa.Text, nullable=False),
    sa.Column("model", sa.Text, nullable=False),
    *(sa.Column(name, sa.BigInteger, nullable=False) for name in ("calls", "failed_calls")),
    *(sa.Column(name, sa.BigInteger, nullable=False) for name in ("input_tokens", "cached_tokens", "output_tokens", "thinking_tokens")),
    sa.Column("cost_usd", sa.Numeric, nullable=False),
    sa.Column("unpriced_calls", sa.BigInteger, nullable=False),
    sa.Column("duration_ms", sa.BigInteger, nullable=False),
    sa.PrimaryKeyConstraint("day", "shard", "chain_id", "alert_type", "agent_name", "provider", "model"),
    postgresql_with=ROOMY,
)

tool_days = sa.Table(
    "tool_days",
    metadata,
    sa.Column("day", sa.Date, nullable=False),
    sa.Column("shard", sa.SmallInteger, nullable=False),
    sa.Column("server", sa.Text, nullable=False),
    sa.Column("tool", sa.Text, nullable=False),
    *(sa.Column(name, sa.BigInteger, nullable=False) for name in ("calls", "failed_calls", "duration_ms")),
    sa.PrimaryKeyConstraint("day", "shard", "server", "tool"),
    postgresql_with=ROOMY,
)

session_spending = sa.Table(
    "session_spending",
    metadata,
    sa.Column("session_id", Id, sa.ForeignKey("alert_sessions.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("calls", sa.BigInteger, nullable=False),
    sa.Column("total_tokens", sa.BigInteger, nullable=False),
    sa.Column("cost_usd", sa.Numeric, nullable=False),
    sa.Column("unpriced_calls", sa.BigInteger, nullable=False),
    sa.Column("estimated_calls", sa.BigInteger, nullable=False, server_default="0"),
    sa.Index("ix_session_spending_dearest", sa.text("cost_usd DESC"), sa.text("session_id DESC")),
    sa.Index("ix_session_spending_by_tokens", "total_tokens", "session_id"),
    postgresql_with=ROOMY,
)

# How many agents worked on a session, and how often it changed the model; updated by steps.
session_figures = sa.Table(
    "session_figures",
    metadata,
    sa.Column("session_id", Id, sa.ForeignKey("alert_sessions.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("agents", sa.Integer, nullable=False),
    sa.Column("fallbacks", sa.Integer, nullable=False),
    sa.Index("ix_session_figures_by_agents", "agents", "session_id", postgresql_where=sa.text("agents > 0")),
    sa.Index("ix_session_figures_by_fallbacks", "fallbacks", "session_id", postgresql_where=sa.text("fallbacks > 0")),
    postgresql_with=ROOMY,
)

# Amounts reserved for model calls until their use is known; if it never is, the row stays and counts as spent.
reservations = sa.Table(
    "reservations",
    metadata,
    # For the conclusion of an execution: the execution's own id.
    sa.Column("id", Id, primary_key=True),
    _session_key(),
    sa.Column("stage_id", Id, nullable=False),
    sa.Column("execution_id", Id, sa.ForeignKey("agent_executions.id", ondelete="CASCADE"), nullable=False),
    # Reserved for the conclusion; released when its execution has ended.
    sa.Column("is_kept", sa.Boolean, nullable=False),
    # The claim under which the request may still be sent; NULL as soon as it may have been.
    sa.Column("unsent_under", Id),
    sa.Column("usd", sa.Numeric, nullable=False),
    sa.Column("tokens", sa.BigInteger, nullable=False),
    sa.Column("model_calls", sa.Integer, nullable=False),
    sa.Column("created_at", Timestamp, nullable=False, server_default=sa.func.now()),
    sa.Index(None, "session_id"),
    sa.Index(None, "execution_id"),
    sa.Index(None, "created_at"),
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
    # No foreign key, because this is the most frequent insert; events of a session are deleted with it.
    sa.Column("session_id", Id),
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
    sa.Column("questions", sa.Integer, nullable=False, server_default="0"),
    sa.UniqueConstraint("session_id"),
    sa.Index("ix_chats_by_questions", "questions", "session_id", postgresql_where=sa.text("questions > 0")),
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
    sa.Column("error_message", sa.Text),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.Column("completed_at", Timestamp),
    # Where the answer is posted, if the question was asked in Slack.
    sa.Column("slack_thread", NullableJson),
    _one_of("status", RunStatus),
    # One answer at a time per session: the database itself refuses a second open question.
    sa.Index("uq_chat_user_messages_open", "session_id", unique=True, postgresql_where=_RUN_OPEN),
    sa.Index(None, "session_id"),
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
    sa.Column("error_message", sa.Text),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.Column("completed_at", Timestamp),
    _one_of("status", RunStatus),
    sa.CheckConstraint("total_score BETWEEN 0 AND 100", name="score_range"),
    sa.Index("uq_session_scores_open", "session_id", unique=True, postgresql_where=_RUN_OPEN),
    sa.Index(None, "session_id", "created_at"),
    sa.Index("ix_session_scores_by_score", "total_score", "session_id", postgresql_where=sa.text("total_score IS NOT NULL")),
    sa.Index(None, "stage_id"),
    postgresql_with=ROOMY,
)

# The judgement of a person about a finished session.
session_reviews = sa.Table(
    "session_reviews",
    metadata,
    sa.Column("session_id", Id, sa.ForeignKey("alert_sessions.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("useful", sa.Boolean, nullable=False),
    sa.Column("accuracy", sa.Text),
    sa.Column("actual_cause", sa.Text, nullable=False, server_default=""),
    sa.Column("action_taken", sa.Text, nullable=False, server_default=""),
    sa.Column("reviewer", sa.Text, nullable=False),
    sa.Column("reviewed_at", Timestamp, nullable=False),
    _one_of("accuracy", Accuracy),
)


def _subject() -> tuple[SchemaItem, ...]:
    """Return the columns of a row that is about a session or an incident."""
    return (
        _session_key(nullable=True),
        sa.Column("incident_id", Id, sa.ForeignKey("incidents.id", ondelete="CASCADE")),
        sa.CheckConstraint("(session_id IS NULL) <> (incident_id IS NULL)", name="subject"),
    )


# Who has acknowledged a session or an incident, and who takes care of it.
triage = sa.Table(
    "triage",
    metadata,
    *_subject(),
    sa.Column("acknowledged_by", sa.Text),
    sa.Column("acknowledged_at", Timestamp),
    sa.Column("assignee", sa.Text),
    sa.UniqueConstraint("session_id"),
    sa.UniqueConstraint("incident_id"),
)

comments = sa.Table(
    "comments",
    metadata,
    sa.Column("id", Id, primary_key=True),
    *_subject(),
    sa.Column("author", sa.Text, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.Index(None, "session_id"),
    sa.Index(None, "incident_id"),
)

# Tool calls that need a person's approval. The decision holds for the call with this hash only.
approvals = sa.Table(
    "approvals",
    metadata,
    sa.Column("id", Id, primary_key=True),
    _session_key(),
    sa.Column("execution_id", Id, sa.ForeignKey("agent_executions.id", ondelete="CASCADE"), nullable=False),
    # The work that waits.
    sa.Column("work_id", Id, nullable=False),
    sa.Column("call_id", sa.Text, nullable=False),
    sa.Column("evidence_id", sa.Text, nullable=False),
    sa.Column("server", sa.Text, nullable=False),
    sa.Column("tool", sa.Text, nullable=False),
    sa.Column("arguments", sa.Text, nullable=False),
    sa.Column("call_hash", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("requested_at", Timestamp, nullable=False),
    sa.Column("expires_at", Timestamp, nullable=False),
    sa.Column("decided_at", Timestamp),
    sa.Column("decided_by", sa.Text),
    sa.Column("reason", sa.Text, nullable=False, server_default=""),
    # Set before the approved call is sent to its server.
    sa.Column("started_at", Timestamp),
    # The call had begun when its worker stopped.
    sa.Column("was_interrupted", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.UniqueConstraint("execution_id", "call_id"),
    _one_of("state", ApprovalState),
    sa.Index(None, "session_id"),
    sa.Index(None, "requested_at"),
)

# The state of claims only: the status for people is in the row of the session, question or score, which heartbeats do not update.
work = sa.Table(
    "work",
    metadata,
    sa.Column("id", Id, primary_key=True),
    # Not limited by a constraint: versions may have different handlers.
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("subject_id", Id, nullable=False),
    _session_key(nullable=True),
    sa.Column("chain_id", sa.Text),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("priority", sa.SmallInteger, nullable=False, server_default="0"),
    # Claims take the lowest rank: the time of the request, less the head start of its priority.
    sa.Column("rank", Timestamp, nullable=False),
    sa.Column("not_before", Timestamp),
    sa.Column("claimed_by", sa.Text),
    sa.Column("claim_token", Id),
    sa.Column("claimed_at", Timestamp),
    sa.Column("heartbeat_at", Timestamp),
    # Failed attempts.
    sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
    sa.Column("recoveries", sa.Integer, nullable=False, server_default="0"),
    # Consecutive recoveries without a stored step between them.
    sa.Column("stuck_recoveries", sa.Integer, nullable=False, server_default="0"),
    sa.Column("cancel_requested", sa.Boolean, nullable=False, server_default=sa.false()),
    # An event that it may wait for happened while it was claimed: it must check again before it is parked.
    sa.Column("wake_requested", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("deadline", Timestamp),
    # When it was put back into the queue, by a worker or by what woke it: until the next claim its time does not run.
    sa.Column("handed_back_at", Timestamp),
    sa.Column("parked_at", Timestamp),
    sa.Column("parked_reason", sa.Text),
    # The pause that parked it.
    sa.Column("parked_by_pause", sa.Text),
    # The budget that did not let it begin, and what it needs of it in US dollars.
    sa.Column("parked_by_budget", sa.Text),
    sa.Column("budget_needs", sa.Numeric),
    sa.Column("wake_at", Timestamp),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.UniqueConstraint("kind", "subject_id"),
    _one_of("state", WorkState),
    sa.CheckConstraint(f"(state = '{WorkState.CLAIMED}') = (claim_token IS NOT NULL)", name="token_while_claimed"),
    sa.CheckConstraint(f"(state = '{WorkState.PARKED}') = (parked_at IS NOT NULL)", name="parked_at_while_parked"),
    sa.Index("ix_work_ready", "kind", "rank", "id", postgresql_where=sa.text(f"state = '{WorkState.READY}'")),
    sa.Index("ix_work_claimed", "kind", postgresql_where=sa.text(f"state = '{WorkState.CLAIMED}'")),
    sa.Index("ix_work_parked", "kind", "wake_at", postgresql_where=sa.text(f"state = '{WorkState.PARKED}'")),
    sa.Index(None, "session_id"),
    postgresql_with=ROOMY,
)

# Messages to the outside. The id is derived from event and target, so that an event that is read twice is sent once.
notifications = sa.Table(
    "notifications",
    metadata,
    sa.Column("id", Id, primary_key=True),
    _session_key(nullable=True),
    sa.Column("incident_id", Id, sa.ForeignKey("incidents.id", ondelete="CASCADE")),
    sa.Column("target", sa.Text, nullable=False),
    sa.Column("rule", sa.Text, nullable=False),
    sa.Column("event", JSONB, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    # Failed attempts, and why the last one failed.
    sa.Column("attempts", sa.SmallInteger, nullable=False, server_default="0"),
    sa.Column("error", sa.Text),
    # Not the time of the transaction, which stores many: they are listed in the order of their events.
    sa.Column("created_at", Timestamp, nullable=False, server_default=sa.func.clock_timestamp()),
    sa.Column("expires_at", Timestamp, nullable=False),
    sa.Column("delivered_at", Timestamp),
    # The message that its delivery posted: later ones about the same incident update it and reply to it.
    sa.Column("posted", NullableJson),
    sa.Column("is_sent_again", sa.Boolean, nullable=False, server_default=sa.false()),
    _one_of("status", NotificationStatus),
    sa.Index("ix_notifications_recent", sa.text("created_at DESC"), sa.text("id DESC")),
    sa.Index(None, "session_id"),
    sa.Index(None, "incident_id"),
    # By the channel and the first message of the thread.
    sa.Index(
        "ix_notifications_slack_thread",
        sa.text("(posted ->> 'channel')"),
        sa.text("coalesce(posted ->> 'parent', posted ->> 'ts')"),
        postgresql_where=sa.text("posted IS NOT NULL"),
    ),
    sa.Index("ix_notifications_undelivered", "target", "status", postgresql_where=sa.text(f"status <> '{NotificationStatus.DELIVERED}'")),
    postgresql_with=ROOMY,
)

# How far the live events of each shared channel have been read for notifications. There are no rows while no rule is configured.
notification_cursors = sa.Table(
    "notification_cursors",
    metadata,
    sa.Column("channel", sa.Text, primary_key=True),
    sa.Column("last_id", sa.BigInteger, nullable=False),
)

# While a row exists, no work of its chain is claimed.
pauses = sa.Table(
    "pauses",
    metadata,
    # Empty: all work, of every chain and of none.
    sa.Column("chain_id", sa.Text, primary_key=True),
    sa.Column("since", Timestamp, nullable=False, server_default=sa.func.now()),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False, server_default=""),
    # Running work is parked too.
    sa.Column("parks_running", sa.Boolean, nullable=False, server_default=sa.false()),
)

# The processes of the installation that send heartbeats.
processes = sa.Table(
    "processes",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("workers", sa.Integer, nullable=False),
    sa.Column("version", sa.Text, nullable=False),
    sa.Column("started_at", Timestamp, nullable=False),
    sa.Column("seen_at", Timestamp, nullable=False, server_default=sa.func.now()),
)

# One row, which all replicas share. The key is never shown or exported: tags of masked values are made with keys derived from it.
installation = sa.Table(
    "installation",
    metadata,
    sa.Column("id", sa.SmallInteger, primary_key=True),
    sa.Column("masking_key", sa.LargeBinary, nullable=False),
)

# When each periodic task was last done.
upkeep = sa.Table(
    "upkeep",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("done_at", Timestamp, nullable=False, server_default=sa.func.now()),
)

skill_texts = sa.Table(
    "skill_texts",
    metadata,
    # SHA-256 of the content; snapshots of chains refer to it.
    sa.Column("hash", sa.Text, primary_key=True),
    sa.Column("content", sa.Text, nullable=False),
)

api_tokens = sa.Table(
    "api_tokens",
    metadata,
    sa.Column("id", Id, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("role", sa.Text, nullable=False),
    # SHA-256 of the token, which is stored nowhere.
    sa.Column("hash", sa.Text, nullable=False, unique=True),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.Column("created_by", sa.Text, nullable=False),
    sa.Column("expires_at", Timestamp),
    sa.Column("last_used_at", Timestamp),
    _one_of("role", AccessRole),
)

# Of people in browsers, with a token or with OpenID Connect.
sign_ins = sa.Table(
    "sign_ins",
    metadata,
    sa.Column("id", Id, primary_key=True),
    sa.Column("cookie_hash", sa.Text, nullable=False, unique=True),
    sa.Column("author", sa.Text, nullable=False),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.Column("last_used_at", Timestamp, nullable=False),
    sa.Column("expires_at", Timestamp, nullable=False),
    sa.Column("token_id", Id, sa.ForeignKey("api_tokens.id", ondelete="CASCADE")),
    sa.Column("claims", NullableJson),
    # The provider asks for it when the person signs out.
    sa.Column("id_token", sa.Text),
    # Of the `state` of the authorization request: each can be used once.
    sa.Column("state_hash", sa.Text, unique=True),
    sa.CheckConstraint("(token_id IS NULL) <> (claims IS NULL)", name="one_way"),
    sa.Index(None, "token_id"),
)

# The tools of tool servers as administrators accepted them.
tool_pins = sa.Table(
    "tool_pins",
    metadata,
    sa.Column("server", sa.Text, primary_key=True),
    # Tool → part → hash.
    sa.Column("tools", JSONB, nullable=False),
    sa.Column("accepted_at", Timestamp, nullable=False),
    sa.Column("accepted_by", sa.Text, nullable=False),
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
    # The address of the client.
    sa.Column("origin", sa.Text),
    sa.Index(None, "session_id"),
    sa.Index(None, "at"),
)
