"""Stages in which a verdict is challenged.

Revision ID: 0015
"""

from alembic import op

revision = "0015"
down_revision = "0014"

_BEFORE = "'investigation', 'synthesis', 'exec_summary', 'chat', 'scoring', 'action'"


def upgrade() -> None:
    _allow(f"{_BEFORE}, 'challenge'")


def _allow(kinds: str) -> None:
    op.drop_constraint(op.f("ck_stages_stage_type"), "stages")
    op.create_check_constraint(op.f("ck_stages_stage_type"), "stages", f"stage_type IN ({kinds})")
