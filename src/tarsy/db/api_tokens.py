"""API tokens that administrators create. Only their hashes are stored."""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from uuid import uuid4

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy.db.audit import AuditAction, add_audit_entry
from tarsy.db.connection import autocommit
from tarsy.db.errors import ConflictError, NotFoundError
from tarsy.db.rows import read
from tarsy.db.tables import api_tokens
from tarsy.domain.access_role import AccessRole
from tarsy.kit.clock import Clock, SystemClock

# Scanners for leaked secrets recognise a token by it, and no other value is looked up.
TOKEN_PREFIX = "tarsy_"  # noqa: S105 - not a secret
# One write a minute at most, however often a token or a sign-in is used.
USE_RESOLUTION = timedelta(minutes=1)


def secret_hash(secret: str) -> str:
    """Return what is stored of a random secret. It is too long to be guessed, so a fast hash without salt is enough."""
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class StoredToken:
    id: str
    name: str
    role: AccessRole
    created_at: datetime
    created_by: str
    expires_at: datetime | None
    last_used_at: datetime | None


class TokenRepository:
    def __init__(self, engine: AsyncEngine, clock: Clock | None = None) -> None:
        self._engine = engine
        self._clock = clock or SystemClock()

    async def create(self, name: str, role: AccessRole, *, expires_at: datetime | None, actor: str) -> tuple[StoredToken, str]:
        """Create a token, and return it with its secret, which cannot be read again.

        Raises:
            ConflictError: the name is taken.
        """
        secret, now = TOKEN_PREFIX + secrets.token_urlsafe(32), self._clock.now()
        values = {
            "id": str(uuid4()),
            "name": name,
            "role": role,
            "hash": secret_hash(secret),
            "created_at": now,
            "created_by": actor,
            "expires_at": expires_at,
        }
        try:
            async with self._engine.begin() as connection:
                row = (await connection.execute(sa.insert(api_tokens).values(values).returning(api_tokens))).mappings().one()
                details = {"name": name, "role": role, "expires_at": expires_at and expires_at.isoformat()}
                await add_audit_entry(connection, actor=actor, action=AuditAction.TOKEN_CREATED, details=details)
        except IntegrityError as error:
            raise ConflictError(f'There is already a token "{name}": revoke it first, or choose another name.') from error
        return read(StoredToken, row), secret

    async def list(self) -> list[StoredToken]:
        """Return all tokens that were not revoked, expired ones included, by name."""
        async with autocommit(self._engine).connect() as connection:
            rows = await connection.execute(sa.select(api_tokens).order_by(api_tokens.c.name))
            return [read(StoredToken, row) for row in rows.mappings()]

    async def revoke(self, name: str, *, actor: str) -> None:
        """Delete a token, and with it the sign-ins that were made with it.

        Raises:
            NotFoundError: there is no such token.
        """
        async with self._engine.begin() as connection:
            revoked = await connection.execute(sa.delete(api_tokens).where(api_tokens.c.name == name))
            if not revoked.rowcount:
                raise NotFoundError("token", name)
            await add_audit_entry(connection, actor=actor, action=AuditAction.TOKEN_REVOKED, details={"name": name})

    async def find(self, secret: str) -> StoredToken | None:
        """Return the token with this secret, and store that it was used; None if there is none or it has expired."""
        now, wanted = self._clock.now(), api_tokens.c.hash == secret_hash(secret)
        async with autocommit(self._engine).connect() as connection:
            row = (await connection.execute(sa.select(api_tokens).where(wanted))).mappings().one_or_none()
            if row is None or (row["expires_at"] and row["expires_at"] <= now):
                return None
            if row["last_used_at"] is None or row["last_used_at"] <= now - USE_RESOLUTION:
                await connection.execute(sa.update(api_tokens).where(wanted).values(last_used_at=now))
        return read(StoredToken, row)
