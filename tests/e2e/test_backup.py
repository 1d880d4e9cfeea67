"""Backups of the embedded database, and what is there again after the data directory was destroyed."""

import shutil
from pathlib import Path

import httpx

from support.tarsy_process import Tarsy, served

ALERT = {"status": "firing", "labels": {"alertname": "DiskFull", "instance": "db-1"}, "startsAt": "2026-11-01T10:00:00Z"}

# A recorded model without a single answer: every session of this chain fails.
CONFIG = """
defaults: {llm_provider: silent, alert_type: disk}
agents: {Investigator: {description: would look}}
agent_chains:
  disks: {alert_types: [disk], stages: [{name: look, agents: [{name: Investigator}]}]}
"""


def _submit(http: httpx.Client) -> str:
    return http.post("/api/v1/alerts", json={"data": "the disk of db-1 is full"}).raise_for_status().json()["session_id"]


def test_sessions_incidents_and_tokens_are_there_again_after_the_data_directory_was_destroyed(tarsy: Tarsy, tmp_path: Path) -> None:
    env, file = {"TARSY_DATA_DIR": str(tmp_path / "data")}, tmp_path / "tarsy.backup"
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "tarsy.yaml").write_text(CONFIG)
    (tmp_path / "config" / "llm-providers.yaml").write_text("llm_providers: {silent: {type: replay, recording: nothing.yaml}}\n")
    (tmp_path / "nothing.yaml").write_text("tarsy_recording: 1\ncalls: []\n")
    with served(tmp_path) as server, server.client() as http:
        http.post("/api/v1/webhook/alertmanager", json={"version": "4", "alerts": [ALERT]}).raise_for_status()
        session = _submit(http)
        token = http.post("/api/v1/tokens", json={"name": "ci-bot", "role": "responder"}).raise_for_status().json()["token"]
        incidents = [one["id"] for one in http.get("/api/v1/incidents").json()["incidents"]]
        written = tarsy("backup", file, cwd=tmp_path, env=env)
        refused_to_overwrite = tarsy("backup", file, cwd=tmp_path, env=env)
        later = _submit(http)
        in_use = tarsy("restore", file, "--force", cwd=tmp_path, env=env)
    not_forced = tarsy("restore", file, cwd=tmp_path, env=env)
    shutil.rmtree(tmp_path / "data")
    restored = tarsy("restore", file, cwd=tmp_path, env=env)
    with served(tmp_path, log=tmp_path / "again.log") as server, server.client() as http:
        sessions = {one["id"] for one in http.get("/api/v1/sessions").json()["sessions"]}
        me = http.get("/api/v1/me", headers={"Authorization": f"Bearer {token}"}).json()
        assert [one["id"] for one in http.get("/api/v1/incidents").json()["incidents"]] == incidents
    assert (written.returncode, restored.returncode) == (0, 0), (written.stderr, restored.stderr)
    assert file.stat().st_mode & 0o077 == 0
    assert len(incidents) == 1
    assert session in sessions
    assert later not in sessions
    assert me["author"] == "ci-bot"
    assert (refused_to_overwrite.returncode, in_use.returncode, not_forced.returncode) == (1, 1, 1)
    assert "exists" in refused_to_overwrite.stderr
    assert "Another process uses the database" in in_use.stderr
    assert "has a database already" in not_forced.stderr


def test_a_file_that_is_not_a_backup_changes_nothing(tarsy: Tarsy, tmp_path: Path) -> None:
    env, file = {"TARSY_DATA_DIR": str(tmp_path / "data")}, tmp_path / "notes.txt"
    file.write_text("milk, bread")
    upgraded = tarsy("db", "upgrade", cwd=tmp_path, env=env)
    done = tarsy("restore", file, "--force", cwd=tmp_path, env=env)
    nothing = tarsy("backup", tmp_path / "x", "--data-dir", tmp_path / "empty", cwd=tmp_path, env=env)
    assert (done.returncode, nothing.returncode) == (1, 1)
    assert "does not appear to be a valid archive" in done.stderr
    assert "There is no database" in nothing.stderr
    assert tarsy("db", "current", cwd=tmp_path, env=env).stdout == upgraded.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "notes.txt"]


def test_a_database_of_your_own_is_backed_up_by_your_own_means(tarsy: Tarsy, database_url: str, tmp_path: Path) -> None:
    done = tarsy("backup", tmp_path / "x", cwd=tmp_path, env={"DATABASE_URL": database_url})
    assert done.returncode == 1
    assert "pg_dump" in done.stderr
