"""What is shown of an installation."""

from pathlib import Path

from tarsy.config.load.loader import load_config
from tarsy.wiring.installation import watched_servers

CONFIG = """
mcp_servers:
  staged: {transport: {type: stdio, command: a}}
  asked: {transport: {type: stdio, command: b}}
  wanting: {transport: {type: http, url: "{{.NOWHERE}}"}}
  idle: {transport: {type: stdio, command: d}}
agents: {A: {mcp_servers: [staged]}, Idle: {mcp_servers: [wanting]}}
agent_chains:
  disks: {alert_types: [disk], stages: [{name: look, agents: [{name: A}]}], chat: {mcp_servers: [asked]}}
defaults: {alert_type: disk}
"""


def test_every_tool_server_that_some_agent_uses_is_watched_the_chats_too(tmp_path: Path) -> None:
    (tmp_path / "tarsy.yaml").write_text(CONFIG)
    assert set(watched_servers(load_config(tmp_path, {"KUBECONFIG": "k"}))) == {"asked", "kubernetes-server", "staged"}
