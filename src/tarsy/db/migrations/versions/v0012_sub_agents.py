"""Executions that other executions sent.

Revision ID: 0012
"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"

_TABLE = "agent_executions"
_IN_STAGE = "uq_agent_executions_stage_id_agent_index"
_OF_PARENT = "uq_agent_executions_parent_execution_id_agent_index"
_PARENT = "fk_agent_executions_parent_execution_id"


def upgrade() -> None:
    op.add_column(_TABLE, sa.Column("parent_execution_id", sa.Uuid(as_uuid=False), nullable=True))
    op.add_column(_TABLE, sa.Column("dispatched_by", sa.Text(), nullable=True))
    op.add_column(_TABLE, sa.Column("task", sa.Text(), nullable=True))
    op.create_foreign_key(op.f(_PARENT), _TABLE, _TABLE, ["parent_execution_id"], ["id"], ondelete="CASCADE")
    op.drop_constraint(op.f(_IN_STAGE), _TABLE, type_="unique")
    op.create_index(_IN_STAGE, _TABLE, ["stage_id", "agent_index"], unique=True, postgresql_where=sa.text("parent_execution_id IS NULL"))
    op.create_index(_OF_PARENT, _TABLE, ["parent_execution_id", "agent_index"], unique=True)
