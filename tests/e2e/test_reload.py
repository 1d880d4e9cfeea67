"""A running server reads its configuration anew: by signal, by command, in every process; a broken file changes nothing."""

import json
import os
import pty
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from anyio import to_thread

from support.tarsy_process import Tarsy, plain_environment, served
from support.vendor_server import Act, Reply, VendorServer, vendor_server
from support.vendors import Answer, ChatCompletions
from tarsy.config.problems import ConfigError
from tarsy.settings import Settings
from tarsy.wiring import application as wiring
from tarsy.wiring.application import application

pytestmark = [pytest.mark.xdist_group("serve"), pytest.mark.timeout(200)]

QUEUE: dict[str, Any] = {"poll_interval": "1h"}
# Far longer than a reload takes on a busy machine.
GIVE_UP_SECONDS = 60


def _configure(directory: Path, alert_type: str, **more: Any) -> None:
    """One chain, whose agent has no tools, for one type of alert."""
    (directory / "config").mkdir(exist_ok=True)
    chain = {"alert_types": [alert_type], "stages": [{"name": "look", "agents": [{"name": "Investigator"}]}]}
    content = {
        "queue": QUEUE,
        "defaults": {"llm_provider": "local", "alert_type": alert_type},
        "agents": {"Investigator": {"description": "looks"}},
        "agent_chains": {f"{alert_type}-chain": {**chain, "executive_summary": {"enabled": False}}},
    }
    (directory / "config" / "tarsy.yaml").write_text(json.dumps({**content, **more}))


def _reach(directory: Path, vendor: VendorServer) -> None:
    provider = {"type": "openai", "model": "qwen3:8b", "base_url": f"{vendor.url}/v1"}
    (directory / "config" / "llm-providers.yaml").write_text(json.dumps({"llm_providers": {"local": provider}}))


def _until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + GIVE_UP_SECONDS
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _refusals(http: httpx.Client) -> list[str]:
    reported = [warning["message"] for warning in http.get("/api/v1/system/warnings").json()["warnings"]]
    return [message for message in reported if "not in force" in message]


def _knows(http: httpx.Client, alert_type: str) -> bool:
    return alert_type in {known["name"] for known in http.get("/api/v1/alert-types").json()["alert_types"]}


async def test_a_hangup_changes_what_begins_and_nothing_that_runs(database_url: str, tmp_path: Path, tarsy: Tarsy) -> None:
    model = ChatCompletions()
    async with vendor_server() as vendor:
        _configure(tmp_path, "disk")
        _reach(tmp_path, vendor)
        answer = model.reply(Answer(text=("The disk is full.",)))
        vendor.replies.append(Reply((Act.WAIT, *answer.steps), answer.status, answer.headers, answer.content_type))
        with served(tmp_path, env={"DATABASE_URL": database_url}) as server, server.client() as http:
            accepted = await to_thread.run_sync(lambda: http.post("/api/v1/alerts", json={"data": "full", "alert_type": "disk"}))
            session = f"/api/v1/sessions/{accepted.raise_for_status().json()['session_id']}"
            await vendor.asked.wait()

            (tmp_path / "config" / "tarsy.yaml").write_text("queue: {worker_cont: 1}\n")
            server.process.send_signal(signal.SIGHUP)
            await to_thread.run_sync(_until, lambda: bool(_refusals(http)))
            (reported,) = await to_thread.run_sync(_refusals, http)
            assert 'config/tarsy.yaml:1: queue.worker_cont: unknown key "worker_cont"' in reported
            assert await to_thread.run_sync(_knows, http, "disk")
            refused = await to_thread.run_sync(lambda: tarsy("reload", cwd=tmp_path, env={"TARSY_URL": server.url}))
            assert (refused.returncode, refused.stdout) == (1, "")
            assert 'config/tarsy.yaml:1: queue.worker_cont: unknown key "worker_cont"' in refused.stderr

            _configure(tmp_path, "net")
            server.process.send_signal(signal.SIGHUP)
            await to_thread.run_sync(_until, lambda: _knows(http, "net"))
            assert await to_thread.run_sync(_refusals, http) == []
            assert not await to_thread.run_sync(_knows, http, "disk")
            assert (await to_thread.run_sync(http.get, session)).json()["status"] == "in_progress"
            vendor.gate.set()
            await to_thread.run_sync(_until, lambda: http.get(session).json()["status"] == "completed")
            ended = (await to_thread.run_sync(http.get, session)).json()
    assert (ended["chain_id"], ended["final_analysis"]) == ("disk-chain", "The disk is full.")
    log = [json.loads(line) for line in (tmp_path / "serve.log").read_text().splitlines() if line.startswith("{")]
    assert [line["event"] for line in log if line["event"].startswith("config.")] == ["config.refused", "config.refused", "config.reloaded"]


def test_one_command_reaches_every_process_and_tells_what_changed(database_url: str, tmp_path: Path, tarsy: Tarsy) -> None:
    env = {"DATABASE_URL": database_url}
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "tarsy.yaml").write_text(
        "queue: {worker_count: 5}\nagents: {Old: {}}\ndefaults: {alert_masking: {enabled: false}}\n"
    )
    with served(tmp_path, env=env) as first, served(tmp_path, env=env, log=tmp_path / "second.log") as second:
        same = tarsy("reload", "--url", first.url, cwd=tmp_path)
        assert (same.returncode, same.stdout) == (0, "Nothing has changed.\n")
        (tmp_path / "config" / "tarsy.yaml").write_text("queue: {worker_count: 2}\nagents: {New: {}}\n")
        (tmp_path / ".env").write_text("GREETING=hello\nDATABASE_URL=postgresql://elsewhere\nTARSY_REPLAY_SPEED=2\n")
        run = tarsy("reload", "--url", first.url, cwd=tmp_path)
        assert run.stdout == "Added: agents.New\nChanged: GREETING, defaults.alert_masking, queue.worker_count\nRemoved: agents.Old\n"
        with first.client() as http:
            workers = http.get("/api/v1/system/queue").json()["workers"]
            assert sorted(worker["name"] for worker in workers if worker["name"].startswith("worker")) == ["worker-1", "worker-2"]
            # The log shows the sender's name, masked as configured now.
            assert http.post("/api/v1/webhook/AKIAIOSFODNN7EXAMPLE", content="x").status_code == 400
            log = (tmp_path / "serve.log").read_text()
            assert ("webhook.refused" in log, "AKIAIOSFODNN7EXAMPLE" in log) == (True, False)
        with second.client() as http:
            _until(lambda: "New" in http.get("/api/v1/system/config").json()["config"]["agents"])


def test_a_closed_terminal_still_ends_the_server(database_url: str, tmp_path: Path, warm: tuple[str, ...]) -> None:
    ours, theirs = pty.openpty()
    env = plain_environment(DATABASE_URL=database_url)
    with (tmp_path / "serve.log").open("w") as log:
        server = subprocess.Popen([*warm, "serve", "--port", "0"], cwd=tmp_path, env=env, stdin=theirs, stdout=subprocess.PIPE, stderr=log)
        os.close(theirs)
        try:
            assert server.stdout
            assert b"TARSy is ready" in server.stdout.readline()
            os.close(ours)
            assert server.wait(GIVE_UP_SECONDS) == 0
        finally:
            server.kill()
            server.communicate()


async def test_a_reload_does_not_wait_long_for_the_database(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wiring, "PREPARE_SECONDS", 0.1)
    skill = tmp_path / "config" / "skills" / "pods"
    skill.mkdir(parents=True)
    (tmp_path / "config" / "tarsy.yaml").write_text("")
    async with application(Settings(env={}, database_url=database_url, config_dir=tmp_path / "config")) as running:
        (skill / "SKILL.md").write_text("---\nname: pods\ndescription: Pods.\n---\nLook at them.\n")
        async with running.engine.begin() as connection:
            await connection.execute(sa.text("LOCK TABLE skill_texts"))
            with pytest.raises(ConfigError, match="the database does not answer"):
                await running.reload()
        await running.reload()
