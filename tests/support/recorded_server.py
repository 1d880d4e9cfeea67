"""A server whose agent answers what a test wrote, with the tools of a simulated cluster; and an agent that never gets to answer."""

import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from support.tarsy_process import Served, served

SIMULATED = {"type": "stdio", "command": sys.executable, "args": ["-P", "-m", "tarsy.demo.cluster", "--incident", "crashloop"]}
AGENT = "0.look/1.PodAgent"
SENDER, SENT = "0.send/1.Lead", "0.send/1.Lead/1.LogAgent"
SUMMARY = "1.executive summary/1.ExecSummaryAgent"
# Times as fast as a model: answers come at once, and one that shall come late comes after hours.
FAST = 1_000
# Longer than any test: whatever waits for it has to be cancelled.
LATE = {"after": 3_600 * FAST, "text": "At last."}
SILENCE = {"track": "0.wait/1.SilentAgent", "turn": 0, "chunks": [LATE]}


def says(track: str, turn: int, *chunks: dict[str, Any]) -> dict[str, Any]:
    return {"track": track, "turn": turn, "chunks": list(chunks)}


def call(number: int, tool: str, server: str = "cluster", **arguments: Any) -> dict[str, Any]:
    return {"tool_call": {"id": f"call-{number}", "name": f"{server}.{tool}", "arguments": arguments}}


def chain(alert_type: str, *stages: tuple[str, str]) -> dict[str, Any]:
    """Each stage is its name and its agent."""
    return {"alert_types": [alert_type], "stages": [{"name": stage, "agents": [{"name": agent}]} for stage, agent in stages]}


@contextmanager
def recorded_server(
    directory: Path,
    *calls: dict[str, Any],
    servers: tuple[str, ...] = ("cluster",),
    more_agents: Mapping[str, Any] = {},
    more_chains: Mapping[str, Any] = {},
    speed: str = str(FAST),
    **more: Any,
) -> Generator[Served]:
    """One session at a time. Alerts of the type `pods`, and of `team` where one agent may send another, are answered with `calls`, those of `silence` never.

    `more` are sections of the configuration.
    """
    agents: dict[str, dict[str, Any]] = {
        "PodAgent": {"mcp_servers": list(servers)},
        "SilentAgent": {"mcp_servers": []},
        "Lead": {"mcp_servers": [], "sub_agents": ["LogAgent"]},
        "LogAgent": {"description": "Reads logs.", "mcp_servers": ["cluster"]},
        **more_agents,
    }
    chains = {"pods": ("look", "PodAgent"), "silence": ("wait", "SilentAgent"), "team": ("send", "Lead")}
    config: dict[str, Any] = {
        "mcp_servers": {name: {"transport": SIMULATED} for name in servers},
        "agents": agents,
        "agent_chains": {**{name: chain(name, of) for name, of in chains.items()}, **more_chains},
        "defaults": {"llm_provider": "tape", "alert_type": "pods", "llm_call_timeout": "1h", "iteration_timeout": "1h"},
        "queue": {"max_concurrent_sessions": 1, "graceful_shutdown_timeout": "1s"},
        **more,
    }
    tape = {"type": "replay", "model": "recorded", "recording": "tape.yaml", "first_chunk_timeout": "1h"}
    files: dict[str, Any] = {
        "tarsy.yaml": config,
        "llm-providers.yaml": {"llm_providers": {"tape": tape}},
        "tape.yaml": {"tarsy_recording": 1, "calls": [*calls, SILENCE]},
    }
    for name, content in files.items():
        (directory / name).write_text(yaml.safe_dump(content))
    with served(directory, env={"TARSY_CONFIG_DIR": str(directory), "TARSY_REPLAY_SPEED": speed}) as running:
        yield running
