"""What the list of sessions is sorted by beside what it had: severity, citations, agents, fallbacks, questions, score.

Revision ID: 0021
"""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"

_FIGURES = """
    INSERT INTO session_figures
    SELECT s.id, coalesce(worked.agents, 0), coalesce(took_over.fallbacks, 0)
    FROM alert_sessions s
    LEFT JOIN (
        SELECT e.session_id, count(*) AS agents FROM agent_executions e JOIN stages t ON t.id = e.stage_id
        WHERE t.stage_type NOT IN ('chat', 'scoring') GROUP BY 1
    ) worked ON worked.session_id = s.id
    LEFT JOIN (
        SELECT session_id, count(*) AS fallbacks FROM timeline_events WHERE event_type = 'provider_fallback' GROUP BY 1
    ) took_over ON took_over.session_id = s.id
    WHERE worked.agents > 0 OR took_over.fallbacks > 0
    """
_QUESTIONS = """
    UPDATE chats c SET questions = m.number
    FROM (SELECT chat_id, count(*) AS number FROM chat_user_messages GROUP BY 1) m WHERE m.chat_id = c.id
    """


def upgrade() -> None:
    op.create_table(
        "session_figures",
        sa.Column("session_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("agents", sa.Integer(), nullable=False),
        sa.Column("fallbacks", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["session_id"], ["alert_sessions.id"], name=op.f("fk_session_figures_session_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("session_id", name=op.f("pk_session_figures")),
        postgresql_with={"fillfactor": 70},
    )
    op.add_column("chats", sa.Column("questions", sa.Integer(), nullable=False, server_default="0"))
    for statement in (_FIGURES, _QUESTIONS):
        op.execute(statement)
    _counted("ix_session_figures_by_agents", "session_figures", "agents", "agents > 0")
    _counted("ix_session_figures_by_fallbacks", "session_figures", "fallbacks", "fallbacks > 0")
    _counted("ix_chats_by_questions", "chats", "questions", "questions > 0")
    _counted("ix_session_scores_by_score", "session_scores", "total_score", "total_score IS NOT NULL")
    op.create_index(
        "ix_incidents_by_severity",
        "incidents",
        [sa.text("(strpos('info unknown warning high critical', severity))"), "opened_at", "id"],
    )
    # The newest first also among those that are equally sure: before, the index gave the surest with the oldest first, which had to be sorted.
    op.drop_index("ix_alert_sessions_by_confidence", "alert_sessions")
    op.create_index(
        "ix_alert_sessions_by_confidence",
        "alert_sessions",
        [sa.text("(strpos('low medium high', verdict_confidence))"), "created_at", "id"],
        postgresql_where=sa.text("deleted_at IS NULL AND verdict_confidence IS NOT NULL"),
    )
    op.create_index(
        "ix_alert_sessions_by_citations",
        "alert_sessions",
        [sa.text("(CAST(citations ->> 'verified' AS integer))"), "id"],
        postgresql_where=sa.text("deleted_at IS NULL AND citations IS NOT NULL"),
    )


def _counted(name: str, table: str, column: str, having: str) -> None:
    op.create_index(name, table, [column, "session_id"], postgresql_where=sa.text(having))
