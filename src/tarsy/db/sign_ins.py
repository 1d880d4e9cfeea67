"""Sign-ins of people in browsers. The browser has a random cookie; its hash and everything else are stored here."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy.db.api_tokens import USE_RESOLUTION, secret_hash
from tarsy.db.audit import AuditAction, add_audit_entry
from tarsy.db.connection import autocommit
from tarsy.db.errors import ConflictError
from tarsy.db.rows import read
from tarsy.db.tables import api_tokens, sign_ins
from tarsy.domain.access_role import AccessRole
from tarsy.kit.clock import Clock, SystemClock

SIGN_IN_COOKIE = "tarsy_session"


@dataclass(frozen=True, slots=True)
class SignIn:
    author: str
    expires_at: datetime
    # Of a sign-in with a token of the database.
    token_id: str | None
    token_role: AccessRole | None
    # Of a sign-in with OpenID Connect.
    claims: Mapping[str, Any]
    id_token: str | None


class SignInRepository:
    def __init__(self, engine: AsyncEngine, clock: Clock | None = None) -> None:
        self._engine = engine
        self._clock = clock or SystemClock()

    async def with_token(self, author: str, token_id: str, lifetime: timedelta) -> str:
        """Store a sign-in with a token, which ends with the token; return the value of its cookie."""
        return await self._add(author, lifetime, {"token_id": token_id})

    async def with_claims(self, author: str, claims: Mapping[str, Any], *, id_token: str, state: str, lifetime: timedelta) -> str:
        """Store a sign-in with OpenID Connect; return the value of its cookie.

        Raises:
            ConflictError: a sign-in with this `state` has taken place already.
        """
        try:
            return await self._add(author, lifetime, {"claims": dict(claims), "id_token": id_token, "state_hash": secret_hash(state)})
        except IntegrityError as error:
            raise ConflictError("This sign-in was already completed.") from error

    async def _add(self, author: str, lifetime: timedelta, values: Mapping[str, Any]) -> str:
        cookie, now = secrets.token_urlsafe(32), self._clock.now()
        common = {"id": str(uuid4()), "author": author, "cookie_hash": secret_hash(cookie)}
        times = {"created_at": now, "last_used_at": now, "expires_at": now + lifetime}
        async with self._engine.begin() as connection:
            await connection.execute(sa.delete(sign_ins).where(sign_ins.c.expires_at <= now))
            await connection.execute(sa.insert(sign_ins).values({**common, **times, **values}))
            await add_audit_entry(connection, actor=author, action=AuditAction.SIGNED_IN)
        return cookie

    async def find(self, cookie: str, *, idle_seconds: float | None = None) -> SignIn | None:
        """Return the sign-in of a cookie, and store that it was used; None if there is none, or it has ended or was idle for too long."""
        now, wanted = self._clock.now(), sign_ins.c.cookie_hash == secret_hash(cookie)
        columns = (sign_ins, api_tokens.c.role.label("token_role"), api_tokens.c.expires_at.label("token_expires_at"))
        query = sa.select(*columns).outerjoin(api_tokens, sign_ins.c.token_id == api_tokens.c.id).where(wanted)
        async with autocommit(self._engine).connect() as connection:
            row = (await connection.execute(query)).mappings().one_or_none()
            if row is None or row["expires_at"] <= now or (row["token_expires_at"] and row["token_expires_at"] <= now):
                return None
            is_idle = idle_seconds is not None and row["last_used_at"] <= now - timedelta(seconds=idle_seconds)
            if is_idle and row["token_id"] is None:
                return None
            if row["last_used_at"] <= now - USE_RESOLUTION:
                await connection.execute(sa.update(sign_ins).where(wanted).values(last_used_at=now))
        return read(SignIn, row, claims=row["claims"] or {})

    async def end(self, cookie: str) -> SignIn | None:
        """Delete the sign-in of a cookie; return it if it was still valid."""
        found = await self.find(cookie)
        async with self._engine.begin() as connection:
            await connection.execute(sa.delete(sign_ins).where(sign_ins.c.cookie_hash == secret_hash(cookie)))
            if found:
                await add_audit_entry(connection, actor=found.author, action=AuditAction.SIGNED_OUT)
        return found
