"""Allow model calls that judge whether quotations support what they are cited for.

Revision ID: 0032
"""

from alembic import op

revision = "0032"
down_revision = "0031"


def upgrade() -> None:
    name = op.f("ck_llm_interactions_kind")
    op.drop_constraint(name, "llm_interactions")
    op.create_check_constraint(
        name, "llm_interactions", "kind IN ('iteration', 'forced_conclusion', 'correction', 'single_shot', 'summarization', 'support')"
    )
