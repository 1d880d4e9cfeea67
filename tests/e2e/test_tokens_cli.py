"""API tokens in the database: created, used, expired and revoked."""

from datetime import timedelta
from pathlib import Path

import sqlalchemy as sa

from support.api_world import world
from support.tarsy_process import Tarsy
from tarsy.api.auth import auth_settings
from tarsy.api.tokens import ApiTokens
from tarsy.db.api_tokens import TokenRepository
from tarsy.db.connection import create_engine
from tarsy.db.sign_ins import SignInRepository
from tarsy.db.tables import api_tokens, audit_log, sign_ins
from tarsy.domain.access_role import AccessRole
from tarsy.kit.clock import FixedClock

GUARDED = auth_settings(host="0.0.0.0", tokens=ApiTokens({"root": "root-token"}, {"root": AccessRole.ADMIN}))  # noqa: S104 - an address that needs a login
ROOT = {"Authorization": "Bearer root-token"}


def test_tokens_are_created_listed_and_revoked_on_the_command_line(tarsy: Tarsy, database_url: str, tmp_path: Path) -> None:
    env = {"DATABASE_URL": database_url, "TARSY_DATA_DIR": str(tmp_path)}
    created = tarsy("tokens", "create", "ci-bot", "--role", "responder", "--expires", "90d", cwd=tmp_path, env=env)
    again = tarsy("tokens", "create", "ci-bot", "--role", "viewer", cwd=tmp_path, env=env)
    listed = tarsy("tokens", "list", cwd=tmp_path, env=env)
    revoked = tarsy("tokens", "revoke", "ci-bot", cwd=tmp_path, env=env)
    missing = tarsy("tokens", "revoke", "ci-bot", cwd=tmp_path, env=env)
    assert created.stdout.startswith("tarsy_")
    assert "responder" in created.stderr
    assert "already a token" in again.stderr
    assert "ci-bot" in listed.stdout
    assert created.stdout.strip() not in listed.stdout
    assert "revoked" in revoked.stdout
    assert (created.returncode, again.returncode, revoked.returncode, missing.returncode) == (0, 1, 0, 1)


async def test_a_token_is_shown_once_works_until_it_is_revoked_and_only_its_hash_is_stored(database_url: str) -> None:
    async with world(database_url, auth=GUARDED) as api:
        # The last time there is.
        made = {"name": "bot", "role": "responder", "expires_at": "9999-12-31T23:59:59.999999Z"}
        created = (await api.client.post("/api/v1/tokens", json=made, headers=ROOT)).json()
        bot = {"Authorization": f"Bearer {created['token']}"}
        accepted = await api.client.post("/api/v1/alerts", json={"data": "x"}, headers=bot)
        me = (await api.client.get("/api/v1/me", headers=bot)).json()
        listed = (await api.client.get("/api/v1/tokens", headers=ROOT)).json()["tokens"]
        await api.client.post("/api/v1/login", json={"token": created["token"]})
        with_cookie = (await api.client.get("/api/v1/me")).json()
        await api.client.delete("/api/v1/tokens/bot", headers=ROOT)
        refused = [(await api.client.get("/api/v1/sessions", headers=headers)).status_code for headers in (bot, {})]
        past = await api.client.post(
            "/api/v1/tokens", json={"name": "x", "role": "viewer", "expires_at": "2020-01-01T00:00:00Z"}, headers=ROOT
        )
    engine = create_engine(database_url)
    async with engine.connect() as connection:
        stored = [str(row) for table in (api_tokens, sign_ins, audit_log) for row in await connection.execute(sa.select(table))]
    await engine.dispose()
    assert accepted.status_code == 202
    assert (me["author"], me["role"], me["identified_by"]) == ("bot", "responder", "token")
    assert (with_cookie["author"], with_cookie["role"], with_cookie["identified_by"]) == ("bot", "responder", "cookie")
    assert me["denied"]["createToken"] == "admin"
    assert "cancelSession" not in me["denied"]
    assert [(one["name"], one["last_used_at"] is not None, "token" in one) for one in listed] == [("bot", True, False)]
    assert refused == [401, 401]
    assert past.status_code == 400
    assert created["token"] not in " ".join(stored)


async def test_tokens_and_sign_ins_end_by_themselves(database_url: str) -> None:
    engine, clock = create_engine(database_url), FixedClock()
    tokens, sign_ins_of = TokenRepository(engine, clock), SignInRepository(engine, clock)
    stored, secret = await tokens.create("bot", AccessRole.VIEWER, expires_at=clock.at + timedelta(hours=3), actor="a")
    by_token = await sign_ins_of.with_token("bot", stored.id, timedelta(days=30))
    person = await sign_ins_of.with_claims("ada", {"sub": "1"}, id_token="t", state="s", lifetime=timedelta(hours=2))

    async def valid() -> tuple[bool, bool, bool]:
        found = (await tokens.find(secret), await sign_ins_of.find(by_token), await sign_ins_of.find(person, idle_seconds=3600))
        return (found[0] is not None, found[1] is not None, found[2] is not None)

    assert await valid() == (True, True, True)
    # Used after 50 minutes each time, so not idle; the sign-in of the person ends after two hours all the same.
    clock.at += timedelta(minutes=50)
    assert await valid() == (True, True, True)
    clock.at += timedelta(minutes=50)
    assert await valid() == (True, True, True)
    clock.at += timedelta(minutes=50)
    assert await valid() == (True, True, False)
    clock.at += timedelta(minutes=50)
    assert await valid() == (False, False, False)
    idle = await sign_ins_of.with_claims("ada", {"sub": "1"}, id_token="t", state="s2", lifetime=timedelta(hours=20))
    clock.at += timedelta(minutes=61)
    assert await sign_ins_of.find(idle, idle_seconds=3600) is None
    await engine.dispose()
