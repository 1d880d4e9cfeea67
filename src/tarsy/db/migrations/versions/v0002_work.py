"""One table of work instead of three queues; sessions that wait; pauses; an index of words that no text can keep busy."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_SEARCH = (
    "to_tsvector('simple', regexp_replace(translate(left(alert_type, 200) || ' ' || left(alert_data, 60000) || ' ' "
    "|| left(coalesce(final_analysis, ''), 60000) || ' ' || left(coalesce(executive_summary, ''), 10000), '<>&', '   '), "
    "'(\\S{100})', '\\1 ', 'g'))"
)
_CLAIM_COLUMNS = ("pod_id", "claim_token", "last_interaction_at", "recoveries")
_FOLLOW_UPS = {"chat": "chat_user_messages", "score": "session_scores"}

# A claim moves with its token and its last sign of life: its process was stopped for the upgrade, and recovery takes it back like that of
# any worker that fell silent. It gets a new deadline, because the time of the upgrade is not its own.
_SESSIONS = """
    INSERT INTO work (id, kind, subject_id, session_id, chain_id, state, rank, claimed_by, claim_token, claimed_at, heartbeat_at, recoveries,
        cancel_requested, created_at)
    SELECT gen_random_uuid(), 'session', s.id, s.id, s.chain_id,
        CASE WHEN s.status = 'pending' THEN 'ready' WHEN s.claim_token IS NOT NULL THEN 'claimed' ELSE 'done' END,
        s.created_at, CASE WHEN s.claim_token IS NOT NULL THEN s.pod_id END, s.claim_token,
        CASE WHEN s.claim_token IS NOT NULL THEN now() END,
        CASE WHEN s.claim_token IS NOT NULL THEN coalesce(s.last_interaction_at, s.created_at) END,
        s.recoveries, s.status = 'cancelling', s.created_at
    FROM alert_sessions s
    WHERE (s.status = 'pending' AND s.deleted_at IS NULL) OR s.claim_token IS NOT NULL
        -- Of what has ended, only this is still told.
        OR (s.completed_at IS NOT NULL AND s.recoveries > 0)
"""
_FOLLOW_UP = """
    INSERT INTO work (id, kind, subject_id, session_id, chain_id, state, rank, claimed_by, claim_token, claimed_at, heartbeat_at, recoveries,
        cancel_requested, created_at)
    SELECT gen_random_uuid(), '{kind}', f.id, f.session_id, s.chain_id, CASE WHEN f.claim_token IS NULL THEN 'ready' ELSE 'claimed' END,
        f.created_at, CASE WHEN f.claim_token IS NOT NULL THEN f.pod_id END, f.claim_token,
        CASE WHEN f.claim_token IS NOT NULL THEN now() END,
        CASE WHEN f.claim_token IS NOT NULL THEN coalesce(f.last_interaction_at, f.created_at) END,
        f.recoveries, f.cancel_requested, f.created_at
    FROM {table} f JOIN alert_sessions s ON s.id = f.session_id
    WHERE f.status IN ('pending', 'active')
"""


def upgrade() -> None:
    _make_tables()
    op.execute(_SESSIONS)
    for kind, table in _FOLLOW_UPS.items():
        op.execute(_FOLLOW_UP.format(kind=kind, table=table))
    _leave_claims()
    _index_words(_SEARCH)


def _make_tables() -> None:
    op.create_table(
        "work",
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("subject_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("session_id", sa.Uuid(as_uuid=False), nullable=True),
        sa.Column("chain_id", sa.Text(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("priority", sa.SmallInteger(), server_default="0", nullable=False),
        sa.Column("rank", sa.DateTime(timezone=True), nullable=False),
        sa.Column("not_before", sa.DateTime(timezone=True), nullable=True),
        sa.Column("claimed_by", sa.Text(), nullable=True),
        sa.Column("claim_token", sa.Uuid(as_uuid=False), nullable=True),
        sa.Column("claimed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("heartbeat_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("recoveries", sa.Integer(), server_default="0", nullable=False),
        sa.Column("stuck_recoveries", sa.Integer(), server_default="0", nullable=False),
        sa.Column("cancel_requested", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("wake_requested", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("deadline", sa.DateTime(timezone=True), nullable=True),
        sa.Column("handed_back_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("parked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("parked_reason", sa.Text(), nullable=True),
        sa.Column("parked_by_pause", sa.Text(), nullable=True),
        sa.Column("wake_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("state IN ('ready', 'claimed', 'parked', 'done')", name=op.f("ck_work_state")),
        sa.CheckConstraint("(state = 'claimed') = (claim_token IS NOT NULL)", name=op.f("ck_work_token_while_claimed")),
        sa.CheckConstraint("(state = 'parked') = (parked_at IS NOT NULL)", name=op.f("ck_work_parked_at_while_parked")),
        sa.ForeignKeyConstraint(["session_id"], ["alert_sessions.id"], name=op.f("fk_work_session_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_work")),
        sa.UniqueConstraint("kind", "subject_id", name=op.f("uq_work_kind_subject_id")),
        postgresql_with={"fillfactor": 70},
    )
    op.create_index("ix_work_ready", "work", ["kind", "rank", "id"], postgresql_where=sa.text("state = 'ready'"))
    op.create_index("ix_work_claimed", "work", ["kind"], postgresql_where=sa.text("state = 'claimed'"))
    op.create_index("ix_work_parked", "work", ["kind", "wake_at"], postgresql_where=sa.text("state = 'parked'"))
    op.create_index(op.f("ix_work_session_id"), "work", ["session_id"])
    op.create_table(
        "pauses",
        sa.Column("chain_id", sa.Text(), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), server_default="", nullable=False),
        sa.Column("parks_running", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.PrimaryKeyConstraint("chain_id", name=op.f("pk_pauses")),
    )


def _leave_claims() -> None:
    """The nouns keep the status that people see, and nothing of the claim."""
    op.drop_index("ix_alert_sessions_queue", table_name="alert_sessions")
    op.drop_index("ix_alert_sessions_running", table_name="alert_sessions")
    for table in ("alert_sessions", *_FOLLOW_UPS.values()):
        op.drop_constraint(op.f(f"ck_{table}_claimed_while_running"), table)
        for column in _CLAIM_COLUMNS:
            op.drop_column(table, column)
    for table in _FOLLOW_UPS.values():
        op.drop_column(table, "cancel_requested")
    op.drop_constraint(op.f("ck_alert_sessions_status"), "alert_sessions")
    op.create_check_constraint(
        op.f("ck_alert_sessions_status"),
        "alert_sessions",
        "status IN ('pending', 'in_progress', 'waiting', 'cancelling', 'completed', 'failed', 'timed_out', 'cancelled')",
    )


def _index_words(expression: str) -> None:
    op.drop_index("ix_alert_sessions_search", table_name="alert_sessions")
    op.drop_column("alert_sessions", "search")
    op.execute(f"ALTER TABLE alert_sessions ADD COLUMN search tsvector GENERATED ALWAYS AS ({expression}) STORED")
    op.create_index("ix_alert_sessions_search", "alert_sessions", ["search"], postgresql_using="gin")
