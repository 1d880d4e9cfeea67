"""A server whose one agent says what a test wrote, with the tools of a simulated cluster."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from e2e.tarsy_process import Served, served

SIMULATED = {"type": "stdio", "command": sys.executable, "args": ["-P", "-m", "tarsy.demo.cluster", "--incident", "crashloop"]}
AGENT = "0.look/1.PodAgent"
SUMMARY = "1.executive summary/1.ExecSummaryAgent"


def says(track: str, turn: int, *chunks: dict[str, Any]) -> dict[str, Any]:
    return {"track": track, "turn": turn, "chunks": list(chunks)}


def call(number: int, tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool_call": {"id": f"call-{number}", "name": f"cluster.{tool}", "arguments": arguments}}


@contextmanager
def recorded_server(
    directory: Path, *calls: dict[str, Any], servers: tuple[str, ...] = ("cluster",), env: dict[str, str] | None = None, **settings: Any
) -> Generator[Served]:
    """`settings` are further sections of tarsy.yaml."""
    chain = {"alert_types": ["pods"], "stages": [{"name": "look", "agents": [{"name": "PodAgent"}]}]}
    config = {
        "mcp_servers": {name: {"transport": SIMULATED} for name in servers},
        "agents": {"PodAgent": {"mcp_servers": list(servers)}},
        "agent_chains": {"pods": chain},
        "defaults": {"llm_provider": "tape", "alert_type": "pods"},
        **settings,
    }
    providers = {"llm_providers": {"tape": {"type": "replay", "model": "recorded", "recording": "tape.yaml"}}}
    tape = {"tarsy_recording": 1, "calls": list(calls)}
    for name, content in (("tarsy.yaml", config), ("llm-providers.yaml", providers), ("tape.yaml", tape)):
        (directory / name).write_text(yaml.safe_dump(content))
    with served(directory, env={"TARSY_CONFIG_DIR": str(directory), **(env or {})}) as running:
        yield running
