"""Store API tokens with roles, and sign-ins.

Revision ID: 0029
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0029"
down_revision = "0028"


def upgrade() -> None:
    op.create_table(
        "api_tokens",
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("role IN ('viewer', 'responder', 'approver', 'admin')", name=op.f("ck_api_tokens_role")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_tokens")),
        sa.UniqueConstraint("hash", name=op.f("uq_api_tokens_hash")),
        sa.UniqueConstraint("name", name=op.f("uq_api_tokens_name")),
    )
    op.create_table(
        "sign_ins",
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("cookie_hash", sa.Text(), nullable=False),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("token_id", sa.Uuid(as_uuid=False), nullable=True),
        sa.Column("claims", JSONB(none_as_null=True), nullable=True),
        sa.Column("id_token", sa.Text(), nullable=True),
        sa.Column("state_hash", sa.Text(), nullable=True),
        sa.CheckConstraint("(token_id IS NULL) <> (claims IS NULL)", name=op.f("ck_sign_ins_one_way")),
        sa.ForeignKeyConstraint(["token_id"], ["api_tokens.id"], name=op.f("fk_sign_ins_token_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sign_ins")),
        sa.UniqueConstraint("cookie_hash", name=op.f("uq_sign_ins_cookie_hash")),
        sa.UniqueConstraint("state_hash", name=op.f("uq_sign_ins_state_hash")),
    )
    op.create_index(op.f("ix_sign_ins_token_id"), "sign_ins", ["token_id"])
