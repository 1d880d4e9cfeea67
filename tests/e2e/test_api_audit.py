"""The audit log over HTTP and in a terminal: who did what, when and from where."""

import json
from ipaddress import ip_network
from pathlib import Path

from anyio import to_thread

from support.api_world import world
from support.tarsy_process import Tarsy
from tarsy.api.auth import AuthSettings
from tarsy.api.tokens import ApiTokens
from tarsy.domain.access_role import AccessRole

# The test is the proxy, behind another one. Only an administrator reads the log.
TOKENS = ApiTokens({"root": "secret"}, {"root": AccessRole.ADMIN})
PROXIES = AuthSettings(tokens=TOKENS, trusted_proxies=(ip_network("127.0.0.1"), ip_network("10.0.0.0/8")))


async def test_each_action_is_recorded_with_its_actor_and_address_and_found_by_both(
    database_url: str, tarsy: Tarsy, tmp_path: Path
) -> None:
    async with world(database_url, auth=PROXIES) as api:
        api.client.headers["Authorization"] = "Bearer secret"
        by_ada = [("X-Forwarded-User", "ada"), ("X-Forwarded-For", "198.51.100.9"), ("X-Forwarded-For", "203.0.113.7, 10.1.2.3")]
        by_bob = {"X-Forwarded-User": "bob", "X-Forwarded-For": "not an address"}
        taken = await api.client.post("/api/v1/alerts", json={"data": "pod is down"}, headers=by_ada)
        session_id = taken.json()["session_id"]
        await api.client.post(f"/api/v1/sessions/{session_id}/cancel", headers=by_bob)
        await api.client.get("/api/v1/system/config", headers=by_bob)

        async def listed(**query: str | int) -> list[tuple[str, str, str]]:
            page = (await api.client.get("/api/v1/audit", params=query)).json()
            return [(one["actor"], one["origin"], one["action"]) for one in page["entries"]]

        everything = await listed()
        of_session = await listed(session_id=session_id, action="session.cancelled")
        first = (await api.client.get("/api/v1/audit", params={"limit": 2})).json()
        second = (await api.client.get("/api/v1/audit", params={"limit": 2, "before": first["next_before"]})).json()
        nothing = [await listed(**{"from": "2100-01-01T00:00:00Z"}), await listed(to="2000-01-01T00:00:00Z"), await listed(actor="eve")]
        exported = (await api.client.get("/api/v1/audit-export", params={"actor": "bob"})).text
        unknown = await api.client.get("/api/v1/audit", params={"action": "nonsense"})
        forbidden = await api.client.get("/api/v1/audit", headers=by_ada)
        url = f"http://127.0.0.1:{api.port}"
        shown = await to_thread.run_sync(lambda: tarsy("audit", "--actor", "ada", "--url", url, "--token", "secret", cwd=tmp_path))
        lines = await to_thread.run_sync(lambda: tarsy("audit", "--jsonl", "--url", url, "--token", "secret", cwd=tmp_path))
    # The nearest address that is no proxy of ours; what a client wrote before it proves nothing.
    submitted, cancelled = ("ada", "203.0.113.7", "alert.submitted"), ("bob", "127.0.0.1", "session.cancelled")
    assert everything == [("bob", "127.0.0.1", "config.viewed"), cancelled, submitted]
    assert of_session == [cancelled]
    assert [one["action"] for one in (*first["entries"], *second["entries"])] == [action for _, _, action in everything]
    assert second["next_before"] is None
    assert nothing == [[], [], []]
    assert [json.loads(line)["action"] for line in exported.splitlines()] == ["config.viewed", "session.cancelled"]
    assert (unknown.status_code, forbidden.status_code) == (400, 403)
    assert ("203.0.113.7" in shown.stdout, "bob" in shown.stdout) == (True, False)
    assert len(lines.stdout.splitlines()) == 3
