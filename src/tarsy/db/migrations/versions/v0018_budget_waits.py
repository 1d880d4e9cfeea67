"""Work that a budget did not let begin says which, and what it needs of it: it is woken when there is room.

Revision ID: 0018
"""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    op.add_column("work", sa.Column("parked_by_budget", sa.Text))
    op.add_column("work", sa.Column("budget_needs", sa.Numeric))
