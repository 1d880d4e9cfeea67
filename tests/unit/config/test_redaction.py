"""What is shown of a configuration holds no secret."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from support.config_directory import ConfigDirectory
from tarsy.config.resolve.redaction import redacted, redacted_chain, redacted_text
from tarsy.config.resolve.resolver import resolve_chain

SECRETS = {f"s3cr3t-{n}" for n in range(26)}
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
  oauth: {transport: {type: http, url: "https://h/", oauth: {token_url: "https://h/t", client_id: c, client_secret: s3cr3t-11, parameters: {resource: "{{.KUBECONFIG}}", assertion: s3cr3t-12}}}}
  local:
    transport:
      type: stdio
      command: c
      args: [--token, s3cr3t-6, "--password=s3cr3t-7", --verbose, plain, -e, GITHUB_TOKEN=s3cr3t-9, -H, "Authorization: Bearer s3cr3t-10", auth, "API_KEY={{.KUBECONFIG}}"]
      env: {ANY: s3cr3t-8, KUBE: "{{.KUBECONFIG}}"}
  flags:
    transport:
      type: stdio
      command: c
      args: [--private-key, s3cr3t-13, --cookie=s3cr3t-14, "--header=Authorization: Bearer s3cr3t-15", --header, "Cookie: a=s3cr3t-16",
        --APP_KEY, s3cr3t-17, --passphrase=s3cr3t-18, -e, DB_PWD=s3cr3t-19, --privateKey, -s3cr3t-20, --auth, s3cr3t-21,
        "--env=X_AUTH: s3cr3t-22", '{"apiKey": "s3cr3t-23"}', "host=db password=s3cr3t-24", "--db=https://h/?sig=s3cr3t-25&a=b",
        --no-auth, --verbose, --auth-mode, sso, --url, "https://h:80/token"]
agents: {A: {mcp_servers: [remote, local, oauth, flags]}}
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
    assert servers["oauth"]["transport"]["oauth"]["parameters"] == {"resource": "{{.KUBECONFIG}}", "assertion": "***"}
    assert servers["flags"]["transport"]["args"][-7:] == [
        "--db=https://h/?sig=***&a=b",
        "--no-auth",
        "--verbose",
        "--auth-mode",
        "sso",
        "--url",
        "https://h:80/token",
    ]
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
