"""What a step writes costs less: rows are checked against their session alone, and no index has to learn that a timeline event was closed.

Revision ID: 0022
"""

from alembic import op

revision = "0022"
down_revision = "0021"

_KEYS = {
    "events": ("session_id",),
    "timeline_events": ("stage_id", "execution_id"),
    "messages": ("execution_id",),
    "llm_interactions": ("stage_id", "execution_id"),
    "mcp_interactions": ("stage_id", "execution_id"),
    "run_inputs": ("execution_id",),
    "citations": ("execution_id",),
}
_INDEXES = {
    "timeline_events": ("ix_timeline_events_open", "ix_timeline_events_fallbacks", "ix_timeline_events_stage_id"),
    "llm_interactions": ("ix_llm_interactions_stage_id",),
    "mcp_interactions": ("ix_mcp_interactions_stage_id",),
}


def upgrade() -> None:
    for table, columns in _KEYS.items():
        for column in columns:
            op.drop_constraint(f"fk_{table}_{column}", table, type_="foreignkey")
    for table, names in _INDEXES.items():
        for name in names:
            op.drop_index(name, table)
