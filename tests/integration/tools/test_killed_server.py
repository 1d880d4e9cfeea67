"""`tarsy serve`, killed the hard way, takes its tool servers along."""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from support.paths import FAULT_SERVER
from support.tarsy_process import served

CONFIGURATION = f"""
mcp_servers:
  f: {{transport: {{type: stdio, command: "{sys.executable}", args: [-S, "{FAULT_SERVER}", stubborn]}}, approval: never}}
agents:
  Investigator: {{mcp_servers: [f]}}
agent_chains:
  disks: {{alert_types: [disk], stages: [{{name: look, agents: [{{name: Investigator}}]}}]}}
defaults: {{llm_provider: recorded, alert_type: disk}}
"""


def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def running(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_server_that_is_killed_leaves_no_tool_server_behind(database_url: str, tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.mkdir()
    config.joinpath("tarsy.yaml").write_text(CONFIGURATION, encoding="utf-8")
    config.joinpath("llm-providers.yaml").write_text(
        "llm_providers: {recorded: {type: replay, recording: 'sample:crashloop'}}\n", encoding="utf-8"
    )
    with served(tmp_path, "--config", str(config), env={"DATABASE_URL": database_url}) as tarsy:
        with tarsy.client() as client:

            def seen() -> bool:
                return any(server["tools"] for server in client.get("/api/v1/system/mcp-servers").json()["servers"])

            until(seen, "the tool server was never seen")
        # The server and all that it started: they, and no others, work in the directory of this test.
        below = [process for process in psutil.process_iter(["cwd"]) if process.info["cwd"] == str(tmp_path)]
        assert any(str(FAULT_SERVER) in process.cmdline() for process in below)
        tarsy.process.kill()
        until(lambda: not any(running(process) for process in below), "a tool server outlived us")
