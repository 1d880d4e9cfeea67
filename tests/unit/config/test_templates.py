"""`{{.VAR}}`: filled in late, on parsed values, and only once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.config_directory import ConfigDirectory
from tarsy.config.resolve.resolver import resolve_chain
from tarsy.config.templates import MissingVariableError, expand, variables


def test_a_variable_is_filled_in() -> None:
    assert expand("https://{{.HOST}}:{{ .PORT }}/", {"HOST": "h", "PORT": "1"}) == "https://h:1/"


def test_a_missing_variable_is_an_error_that_names_it() -> None:
    with pytest.raises(MissingVariableError, match="TOKEN"):
        expand("{{.TOKEN}}", {})


def test_an_empty_variable_counts_as_set() -> None:
    assert expand("a{{.X}}b", {"X": ""}) == "ab"


def test_the_session_id_comes_from_the_caller_and_never_from_the_environment_then() -> None:
    assert expand("{{.SESSION_ID}}", {"SESSION_ID": "wrong"}, session_id="right") == "right"
    with pytest.raises(MissingVariableError):
        expand("{{.SESSION_ID}}", {})


@pytest.mark.parametrize(
    "text", ["$HOME", "${HOME}", "{{ .Values.image }}", "{{HOME}}", "{{ $labels.pod }}", "{{.}}", "{.HOME}", "{{.HOME"]
)
def test_everything_else_is_literal(text: str) -> None:
    assert expand(text, {"HOME": "no"}) == text
    assert variables(text) == frozenset()


@given(st.text())
def test_what_a_variable_holds_is_never_read_again(value: str) -> None:
    assert expand("{{.A}}", {"A": value + "{{.B}}", "B": "no"}) == value + "{{.B}}"


def test_a_value_cannot_break_the_yaml(directory: ConfigDirectory) -> None:
    directory.env["TEXT"] = 'a: "b"\n- {c}'
    assert directory.load("defaults: {runbook: '{{.TEXT}}'}").config.defaults.runbook == 'a: "b"\n- {c}'


def test_a_number_can_come_from_the_environment(directory: ConfigDirectory) -> None:
    directory.env |= {"COUNT": "7", "WAIT": "3m", "CHECK": "off"}
    transport = "mcp_servers: {m: {transport: {type: http, url: 'http://h', verify_ssl: '{{.CHECK}}'}}}\n"
    config = directory.load("defaults: {max_iterations: '{{.COUNT}}', llm_call_timeout: '{{.WAIT}}'}\n" + transport).config
    assert (config.defaults.max_iterations, config.defaults.llm_call_timeout) == (7, 180.0)
    assert config.mcp_servers["m"].transport.verify_ssl is False


SECRET = """
mcp_servers:
  m:
    transport: {type: http, url: "https://u:{{.TOKEN}}@h/", bearer_token: "{{.TOKEN}}", custom_headers: {X: "{{.SESSION_ID}} {{.TOKEN}}"}}
  o:
    transport: {type: http, url: "https://h/", oauth: {token_url: "https://h/token", client_id: c, client_secret: "{{.TOKEN}}"}}
agents: {A: {mcp_servers: [m, o]}}
agent_chains: {c: {alert_types: [t], stages: [{name: s, agents: [{name: A, llm_provider: p}]}]}}
"""
PROVIDER = "llm_providers: {p: {type: openai, model: m, base_url: 'https://u:{{.TOKEN}}@proxy.example.com/v1', api_key_env: TOKEN}}"


def test_a_snapshot_never_holds_a_secret(directory: ConfigDirectory) -> None:
    directory.env["TOKEN"] = "hunter2"
    loaded = directory.load(SECRET, PROVIDER)
    assert "hunter2" not in resolve_chain(loaded.config, "c").model_dump_json()
    assert "hunter2" not in repr(loaded)
    assert "{{.TOKEN}}" in resolve_chain(loaded.config, "c").model_dump_json()


def test_a_variable_that_a_used_entry_needs_must_be_set(directory: ConfigDirectory) -> None:
    problems = directory.problems(SECRET, PROVIDER)
    assert {problem.path for problem in problems} == {
        "llm_providers.p",
        "mcp_servers.m.transport.url",
        "mcp_servers.o.transport.oauth.client_secret",
    }
    assert all("TOKEN is not set" in problem.message for problem in problems)


def test_a_variable_that_only_an_unused_entry_needs_may_be_missing(directory: ConfigDirectory) -> None:
    unused = SECRET.split("agents:", maxsplit=1)[0] + "agents: {A: {custom_instructions: '{{.NOWHERE}}', mcp_servers: [m]}}"
    assert directory.load(unused, PROVIDER).config.agents["A"].custom_instructions == "{{.NOWHERE}}"


def test_a_variable_in_a_section_must_be_set(directory: ConfigDirectory) -> None:
    (problem,) = directory.problems("system:\n  dashboard_url: '{{.NOWHERE}}'\n")
    assert (problem.line, problem.message, problem.remedy) == (2, "the environment variable NOWHERE is not set", "set NOWHERE")


def test_the_built_in_server_is_filled_in_too(directory: ConfigDirectory) -> None:
    del directory.env["KUBECONFIG"]
    (problem,) = directory.problems("agent_chains: {c: {alert_types: [t], stages: [{name: s, agents: [{name: KubernetesAgent}]}]}}")
    assert problem.path == "agent_chains.c"
    assert "KUBECONFIG is not set" in problem.message


def test_a_variable_that_holds_no_address_does_not_end_the_loading(directory: ConfigDirectory) -> None:
    directory.env["GATEWAY"] = "http://[::1"
    loaded = directory.load(providers="llm_providers: {google-default: {base_url: '{{.GATEWAY}}'}}")
    assert loaded.config.llm_providers["google-default"].base_url == "{{.GATEWAY}}"
