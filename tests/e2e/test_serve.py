"""`tarsy serve` and `tarsy investigate` as processes: what an operator starts, kills and starts again."""

import json
import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from support.tarsy_process import Served, Tarsy, served
from tarsy.demo.samples import load_sample

pytestmark = [pytest.mark.xdist_group("serve"), pytest.mark.timeout(200)]

# Polling that would take an hour, so that whatever happens sooner was caused by a notification; a dead worker's session is taken over at once.
QUEUE = "queue: {poll_interval: 1h, heartbeat_interval: 300ms, orphan_detection_interval: 500ms, orphan_threshold: 1s}\n"
# A recorded model that has nothing to say: every session fails.
SILENT = """
defaults: {llm_provider: silent, alert_type: disk}
agents: {Investigator: {description: would look}}
agent_chains:
  disks: {alert_types: [disk], stages: [{name: look, agents: [{name: Investigator}]}]}
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with an embedded database that one test after the other uses."""
    directory = tmp_path_factory.mktemp("home")
    (directory / "config").mkdir()
    (directory / "config" / "tarsy.yaml").write_text(QUEUE)
    return directory


def _submit(http: httpx.Client, name: str) -> str:
    sample = next(sample for sample in http.get("/api/v1/samples").json()["samples"] if sample["name"] == name)
    alert = {"data": sample["alert_data"], "alert_type": sample["alert_type"]}
    return http.post("/api/v1/alerts", json=alert).raise_for_status().json()["session_id"]


def _events(http: httpx.Client, session: str) -> Iterator[dict[str, Any]]:
    with http.stream("GET", f"/api/v1/sessions/{session}/events", params={"last_event_id": 0}) as events:
        yield from (json.loads(line.removeprefix("data:")) for line in events.iter_lines() if line.startswith("data:"))


def _processes_of(directory: Path) -> list[list[str]]:
    """Return what still runs for a directory after half a minute: the guard of its database ends a moment after the last server."""
    deadline = time.monotonic() + 30
    while True:
        commands = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]
        found = [command for command in commands if any(str(directory) in word for word in command)]
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.05)


def test_two_servers_share_a_data_directory_and_leave_no_process_behind(home: Path) -> None:
    with (
        served(home) as first,
        served(home, log=home / "second.log") as second,
        first.client() as here,
        second.client() as there,
    ):
        session = _submit(here, "crashloop")
        assert any(event["type"] == "session.completed" for event in _events(there, session))
        assert there.get(f"/api/v1/sessions/{session}").json()["status"] == "completed"
    assert _processes_of(home / "data") == []


def test_a_killed_server_is_started_again_with_every_session_and_goes_on(home: Path) -> None:
    def kill(server: Served) -> None:
        server.process.kill()
        server.process.wait(30)

    with served(home, env={"TARSY_REPLAY_SPEED": "3"}) as server, server.client() as http:
        before = {session["id"] for session in http.get("/api/v1/sessions").json()["sessions"]}
        session = _submit(http, "crashloop")
        # In the middle: it has called a tool, and the model is far from its end.
        assert any(event.get("event", {}).get("event_type") == "tool_result" for event in _events(http, session))
        kill(server)
    with served(home) as server, server.client() as http:
        assert {session["id"] for session in http.get("/api/v1/sessions").json()["sessions"]} == before | {session}
        assert any(event["type"] == "session.completed" for event in _events(http, session))
        found = http.get(f"/api/v1/sessions/{session}").json()
    assert found["status"] == "completed"
    assert found["final_analysis"]
    assert _processes_of(home / "data") == []


def test_a_database_that_dies_is_restarted_and_one_that_stays_away_does_not_keep_the_server(home: Path) -> None:
    data = home / "data" / "postgres"

    def kill_database() -> None:
        os.kill(int((data / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)

    with served(home, env={"TARSY_REPLAY_SPEED": "3"}) as server, server.client() as http:
        session = _submit(http, "crashloop")
        assert any(event.get("event", {}).get("event_type") == "tool_result" for event in _events(http, session))
        kill_database()
        deadline = time.monotonic() + 60
        while http.get(f"/api/v1/sessions/{session}").is_error or not any(
            "PostgreSQL died and was restarted once" in warning["message"]
            for warning in http.get("/api/v1/system/warnings").json().get("warnings", ())
        ):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        # The session has gone on, and its events reach new readers.
        assert any(event["type"] == "session.completed" for event in _events(http, session))
        _submit(http, "crashloop")
        settings = data / "postgresql.conf"
        settings.rename(data / "postgresql.away")
        kill_database()
        server.process.terminate()
        assert server.process.wait(40) == 0
        (data / "postgresql.away").rename(settings)
    assert _processes_of(home / "data") == []


def test_a_server_that_stops_ends_its_streams_in_order(database_url: str, tmp_path: Path) -> None:
    with served(tmp_path, env={"DATABASE_URL": database_url}) as server, server.client() as http:
        session = _submit(http, "flapping")
        with http.stream("GET", f"/api/v1/sessions/{session}/events", params={"last_event_id": 0}) as events:
            lines = events.iter_lines()
            assert any("session.completed" in line for line in lines)
            server.process.terminate()
            # To its proper end: a stream that is cut off raises an error here.
            list(lines)
        assert server.process.wait(30) == 0
    answered = (tmp_path / "serve.log").read_text().splitlines()
    assert [line for line in answered if not line.startswith("{")] == []


def test_an_address_others_can_reach_needs_a_login(tarsy: Tarsy, database_url: str, tmp_path: Path) -> None:
    everywhere = ("--host", "0.0.0.0")  # noqa: S104 - what is tested is just this
    refused = tarsy("serve", *everywhere, "--port", "0", cwd=tmp_path, env={"DATABASE_URL": database_url})
    assert (refused.returncode, refused.stdout) == (1, "")
    for remedy in ("TARSY_API_TOKENS", "trusted_proxies", "--insecure"):
        assert remedy in refused.stderr
    with served(tmp_path, *everywhere, env={"DATABASE_URL": database_url, "TARSY_API_TOKENS": "alice=wonderland"}) as server:
        url = server.url.replace("0.0.0.0", "127.0.0.1")  # noqa: S104 - what is tested is just this
        assert {httpx.get(f"{url}{path}").status_code for path in ("/live", "/ready", "/health")} == {200}
        assert httpx.get(f"{url}/api/v1/sessions").status_code == 401
        assert httpx.get(f"{url}/api/v1/sessions", headers={"Authorization": "Bearer wonderland"}).status_code == 200
        # The commands find it by its data directory, and ask for the token.
        unknown = tarsy("watch", cwd=tmp_path, env=server.env)
        assert (unknown.returncode, unknown.stderr) == (1, "The server requires a valid API token: pass --token or set TARSY_TOKEN.\n")
        known = tarsy("watch", "--token", "wonderland", cwd=tmp_path, env=server.env)
        assert (known.returncode, known.stderr) == (1, "There are no sessions yet.\n")
    nobody = tarsy("watch", cwd=tmp_path, env={"TARSY_DATA_DIR": str(tmp_path / "data")})
    assert (nobody.returncode, nobody.stderr.count("\n")) == (1, 2)
    assert "Start one with `tarsy serve`" in nobody.stderr


def test_tokens_that_cannot_be_read_are_reported_in_a_sentence_that_names_none(tarsy: Tarsy, tmp_path: Path) -> None:
    for command in (("serve", "--port", "0"), ("doctor", "--port", "0")):
        run = tarsy(
            *command, cwd=tmp_path, env={"TARSY_API_TOKENS": "alice=a-secret,bob=a-secret", "TARSY_DATA_DIR": str(tmp_path / "data")}
        )
        assert run.returncode == 1
        assert 'the name or the token of "bob" occurs twice' in run.stdout + run.stderr
        assert "a-secret" not in run.stdout + run.stderr
        assert "Traceback" not in run.stderr


def test_a_taken_port_is_reported_in_a_sentence(tarsy: Tarsy, database_url: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        run = tarsy("serve", "--port", str(taken.getsockname()[1]), cwd=tmp_path, env={"DATABASE_URL": database_url})
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr.startswith("Cannot listen on 127.0.0.1:")
    assert "--port" in run.stderr


def test_investigate_ends_with_the_analysis_and_zero_or_with_the_reason_and_one(tarsy: Tarsy, database_url: str, tmp_path: Path) -> None:
    env = {"DATABASE_URL": database_url, "TARSY_REPLAY_SPEED": "0"}
    (tmp_path / "alert.txt").write_text("disk full on db-3")
    unset = tarsy("investigate", "alert.txt", cwd=tmp_path, env=env)
    assert (unset.returncode, unset.stderr.count("\n")) == (1, 2)
    assert unset.stderr.startswith("No model is configured, so TARSy cannot investigate alerts.\nSet the key of a vendor")
    good = tarsy("investigate", "-", "--type", "sample-flapping", cwd=tmp_path, env=env, stdin=load_sample("flapping").alert_data)
    assert (good.returncode, good.stderr) == (0, "")
    assert "Analysis" in good.stdout
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "tarsy.yaml").write_text(SILENT)
    (tmp_path / "config" / "llm-providers.yaml").write_text("llm_providers: {silent: {type: replay, recording: nothing.yaml}}\n")
    (tmp_path / "nothing.yaml").write_text("tarsy_recording: 1\ncalls: []\n")
    failed = tarsy("investigate", "alert.txt", cwd=tmp_path, env=env)
    assert (failed.returncode, failed.stderr) == (1, "")
    assert "failed after" in failed.stdout
    missing = tarsy("investigate", "no-such-file", cwd=tmp_path, env=env)
    assert (missing.returncode, missing.stderr.count("\n")) == (2, 1)


def test_investigate_ends_at_its_ceiling_of_time_though_the_model_never_answers(tarsy: Tarsy, database_url: str, tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "tarsy.yaml").write_text(SILENT)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        # The kernel accepts connections, and nobody reads them.
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        provider = f"silent: {{type: openai, model: m, base_url: '{address}', api_key_env: SILENT_KEY}}"
        (tmp_path / "config" / "llm-providers.yaml").write_text(f"llm_providers: {{{provider}}}\n")
        env = {"DATABASE_URL": database_url, "SILENT_KEY": "k"}
        run = tarsy("investigate", "-", "--budget", "2s", cwd=tmp_path, env=env, stdin="disk full on db-3")
    assert (run.returncode, run.stderr) == (0, "")
    assert "ended by its ceiling of 2 s" in run.stdout
    assert "no model is available" not in run.stdout
