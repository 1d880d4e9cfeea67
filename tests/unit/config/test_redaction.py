"""What is shown of a configuration holds no secret."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from support.config_directory import ConfigDirectory
from tarsy.config.resolve.redaction import redacted, redacted_chain, redacted_text
from tarsy.config.resolve.resolver import resolve_chain

SECRETS = {f"s3cr3t-{n}" for n in range(12)}
FILE = """
system: {dashboard_url: "https://user:s3cr3t-0@tarsy.example.com/"}
mcp_servers:
  remote:
    transport:
      type: http
      url: "https://s3cr3t-1@h/mcp?api_key=s3cr3t-2&cluster=one"
      bearer_token: s3cr3t-3
      custom_headers: {X-Anything: s3cr3t-4, X-Session: "{{.SESSION_ID}}"}
      session_cleanup_url: "https://a:s3cr3t-5@h/{{.SESSION_ID}}?key=s3cr3t-5"
  oauth: {transport: {type: http, url: "https://h/", oauth: {token_url: "https://h/t", client_id: c, client_secret: s3cr3t-11}}}
  local:
    transport:
      type: stdio
      command: c
      args: [--token, s3cr3t-6, "--password=s3cr3t-7", --verbose, plain, -e, GITHUB_TOKEN=s3cr3t-9, -H, "Authorization: Bearer s3cr3t-10", auth, "API_KEY={{.KUBECONFIG}}"]
      env: {ANY: s3cr3t-8, KUBE: "{{.KUBECONFIG}}"}
agents: {A: {mcp_servers: [remote, local, oauth]}}
agent_chains: {c: {alert_types: [t], stages: [{name: s, agents: [{name: A}]}]}}
"""


def shown(directory: ConfigDirectory) -> tuple[dict[str, Any], dict[str, Any]]:
    config = directory.load(FILE, "llm_providers: {google-default: {base_url: 'https://u:s3cr3t-0@proxy.example.com'}}").config
    return redacted(config), redacted_chain(resolve_chain(config, "c"))


def test_no_secret_is_shown(directory: ConfigDirectory) -> None:
    for view in shown(directory):
        text = json.dumps(view)
        assert not [secret for secret in SECRETS if secret in text]


def test_what_helps_and_is_no_secret_is_shown(directory: ConfigDirectory) -> None:
    servers = shown(directory)[0]["mcp_servers"]
    remote, local = servers["remote"]["transport"], servers["local"]["transport"]
    assert remote["url"] == "https://***@h/mcp?api_key=***&cluster=one"
    assert remote["custom_headers"] == {"X-Anything": "***", "X-Session": "{{.SESSION_ID}}"}
    assert local["args"][:5] == ["--token", "***", "--password=***", "--verbose", "plain"]
    assert local["args"][5:] == ["-e", "GITHUB_TOKEN=***", "-H", "Authorization: ***", "auth", "API_KEY={{.KUBECONFIG}}"]
    assert local["env"] == {"ANY": "***", "KUBE": "{{.KUBECONFIG}}"}


def test_the_shape_is_that_of_the_files(directory: ConfigDirectory) -> None:
    assert list(shown(directory)[0]) == [
        "system",
        "defaults",
        "queue",
        "mcp_servers",
        "agents",
        "agent_chains",
        "llm_providers",
        "default_provider",
        "routes",
        "senders",
        "mute",
        "notify",
    ]


@given(st.text(alphabet=st.characters(exclude_characters="/ ", exclude_categories=["Z", "C"]), min_size=1))
def test_credentials_before_the_host_never_survive(password: str) -> None:
    assert redacted_text(f"see https://user:{password}@host/path") == "see https://***@host/path"
