"""Drop an index that no query uses.

Revision ID: 0023
"""

from alembic import op

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    # The audit log is read by session only, in the order of its ids.
    op.drop_index("ix_audit_log_at", "audit_log")
