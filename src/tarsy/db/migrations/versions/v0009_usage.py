"""Running sums of what models and tools were used for, filled with what is stored.

Revision ID: 0009
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

_MODELS = """
    INSERT INTO usage_days
    SELECT CAST(r.started_at AT TIME ZONE 'UTC' AS date), 0, s.chain_id, s.alert_type, e.agent_name, r.provider, r.model,
        count(*), count(*) FILTER (WHERE r.error_code IS NOT NULL),
        sum(r.input_tokens), sum(r.cached_tokens), sum(r.output_tokens), sum(r.thinking_tokens),
        coalesce(sum(r.cost_usd), 0), count(*) FILTER (WHERE r.cost_usd IS NULL AND r.total_tokens > 0), sum(r.duration_ms)
    FROM llm_interactions r JOIN agent_executions e ON e.id = r.execution_id JOIN alert_sessions s ON s.id = r.session_id
    GROUP BY 1, 3, 4, 5, 6, 7
    """
_TOOLS = """
    INSERT INTO tool_days
    SELECT CAST(r.started_at AT TIME ZONE 'UTC' AS date), 0, r.server, r.tool,
        count(*), count(*) FILTER (WHERE r.is_error), sum(r.duration_ms)
    FROM mcp_interactions r WHERE r.kind = 'tool_call' AND r.tool IS NOT NULL GROUP BY 1, 3, 4
    """
_SESSIONS = """
    INSERT INTO session_spending
    SELECT r.session_id, count(*), sum(r.total_tokens), coalesce(sum(r.cost_usd), 0),
        count(*) FILTER (WHERE r.cost_usd IS NULL AND r.total_tokens > 0)
    FROM llm_interactions r GROUP BY 1
    """


def _counts(*names: str) -> list[sa.Column[int]]:
    return [sa.Column(name, sa.BigInteger(), nullable=False) for name in names]


def _texts(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text(), nullable=False) for name in names]


def upgrade() -> None:
    op.create_table(
        "usage_days",
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("shard", sa.SmallInteger(), nullable=False),
        *_texts("chain_id", "alert_type", "agent_name", "provider", "model"),
        *_counts("calls", "failed_calls", "input_tokens", "cached_tokens", "output_tokens", "thinking_tokens"),
        sa.Column("cost_usd", sa.Numeric(), nullable=False),
        *_counts("unpriced_calls", "duration_ms"),
        sa.PrimaryKeyConstraint("day", "shard", "chain_id", "alert_type", "agent_name", "provider", "model", name=op.f("pk_usage_days")),
        postgresql_with={"fillfactor": 70},
    )
    op.create_table(
        "tool_days",
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("shard", sa.SmallInteger(), nullable=False),
        *_texts("server", "tool"),
        *_counts("calls", "failed_calls", "duration_ms"),
        sa.PrimaryKeyConstraint("day", "shard", "server", "tool", name=op.f("pk_tool_days")),
        postgresql_with={"fillfactor": 70},
    )
    op.create_table(
        "session_spending",
        sa.Column("session_id", sa.Uuid(as_uuid=False), nullable=False),
        *_counts("calls", "total_tokens"),
        sa.Column("cost_usd", sa.Numeric(), nullable=False),
        *_counts("unpriced_calls"),
        sa.ForeignKeyConstraint(["session_id"], ["alert_sessions.id"], name=op.f("fk_session_spending_session_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("session_id", name=op.f("pk_session_spending")),
        postgresql_with={"fillfactor": 70},
    )
    op.create_index("ix_session_spending_dearest", "session_spending", [sa.text("cost_usd DESC")])
    for statement in (_MODELS, _TOOLS, _SESSIONS):
        op.execute(statement)
