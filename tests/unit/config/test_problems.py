"""Every mistake is reported, all in one go, with its place and what to write instead."""

import pytest

from support.config_directory import ConfigDirectory
from tarsy.config.problems import Problem, did_you_mean, dotted, report

TEN_MISTAKES = """\
system:
  dashbord_url: https://tarsy.example.com
queue:
  worker_count: many
  poll_interval: soon
defaults:
  llm_provider: gogle-default
mcp_servers:
  logs:
    transport: {type: http}
    data_masking: {pattern_groups: [securty]}
agents:
  Analyst: {mcp_servers: [lgs], iteration_strategy: native-thinking}
agent_chains:
  first:
    alert_types: [outage]
    llm_provider: xai-default
    stages:
      - {name: one, agents: [{name: Analyst}, {name: KubernetesAgent}], replicas: 2}
  second:
    alert_types: [outage]
    stages: [{name: one, agents: [{name: Analyst}]}]
"""

STAGES = "stages: [{name: a, agents: [{name: KubernetesAgent}]}]"


def one(directory: ConfigDirectory, tarsy: str, providers: str | None = None) -> Problem:
    """The only problem there is."""
    problems = directory.problems(tarsy, providers)
    assert len(problems) == 1, report(problems)
    return problems[0]


def sign_in(issuer: str, role: str = "viewer") -> str:
    rule = f"{{claim: groups, value: sre, role: {role}}}"
    return f"system: {{dashboard_url: 'https://h', oidc: {{issuer: '{issuer}', client_id: c, roles: [{rule}]}}}}"


def chain(keys: str = "", stage: str = "{name: a, agents: [{name: KubernetesAgent}]}") -> str:
    return f"agent_chains:\n  c:\n    alert_types: [t]\n    stages: [{stage}]\n{keys}"


def test_a_file_with_many_different_mistakes_yields_a_line_for_each(directory: ConfigDirectory) -> None:
    del directory.env["XAI_API_KEY"]
    problems = directory.problems(TEN_MISTAKES, "llm_providers:\n  mine: {type: opnai, model: m}\n")
    assert [(problem.file.rsplit("/", 1)[-1], problem.line, problem.path) for problem in problems] == [
        ("llm-providers.yaml", 2, "llm_providers.mine.type"),
        ("tarsy.yaml", 2, "system.dashbord_url"),
        ("tarsy.yaml", 4, "queue.worker_count"),
        ("tarsy.yaml", 5, "queue.poll_interval"),
        ("tarsy.yaml", 7, "defaults.llm_provider"),
        ("tarsy.yaml", 10, "mcp_servers.logs.transport.url"),
        ("tarsy.yaml", 11, "mcp_servers.logs.data_masking.pattern_groups[0]"),
        ("tarsy.yaml", 13, "agents.Analyst.iteration_strategy"),
        ("tarsy.yaml", 13, "agents.Analyst.mcp_servers[0]"),
        ("tarsy.yaml", 17, "agent_chains.first.llm_provider"),
        ("tarsy.yaml", 19, "agent_chains.first.stages[0].replicas"),
        ("tarsy.yaml", 21, "agent_chains.second.alert_types[0]"),
    ]


@pytest.mark.parametrize(
    ("tarsy", "message", "remedy"),
    [
        ("defaults: {max_iteration: 3}", 'unknown key "max_iteration"', 'did you mean "max_iterations"?'),
        ("defaults: {max_iterations: '3x'}", '"3x" is not a whole number', ""),
        ("defaults: {max_iterations: 0}", "0 is too small", "the minimum is 1"),
        ("queue: {worker_count: 51}", "51 is too large", "the maximum is 50"),
        ("queue: {poll_interval: 5 minutes}", 'this is not a duration: "5 minutes"', "write 90s, 15m, 1h30m, 500ms or a number of seconds"),
        ("queue: {poll_interval: 0s}", "this must be longer than 0", ""),
        ("defaults: {tool_calling: raect}", "\"raect\" is not one of 'native' or 'react'", 'did you mean "react"?'),
        ("defaults: {alert_masking: {enabled: maybe}}", '"maybe" is not true or false', ""),
        ("defaults: {alert_type: kubernets}", 'there is no chain for alert type "kubernets"', 'did you mean "kubernetes"?'),
        ("defaults: {scoring: {agent: ScorngAgent}}", 'there is no agent "ScorngAgent"', 'did you mean "ScoringAgent"?'),
        ("agents: []", "this is not a mapping", ""),
        ("agents: {A: {mcp_servers: kubernetes-server}}", '"kubernetes-server" is not a list', ""),
        ("agents: {A: {type: []}}", "this is not one of 'default', 'orchestrator', 'synthesis', 'exec_summary', 'scoring' or 'action'", ""),
        ("mcp_servers: {m: {instructions: x}}", "transport is missing", ""),
        ("mcp_servers: {m: {transport: {type: stdio}}}", "command is missing", "a stdio server is started by a command"),
        ("mcp_servers: {m: {transport: {type: sse}}}", "url is missing", "an sse server is reached by its address"),
        ("mcp_servers: {m: {transport: {type: http, url: localhost}}}", "this is not a web address", "write http://… or https://…"),
        (
            "mcp_servers: {m: {transport: {type: stdio, command: c, url: 'http://h'}}}",
            "url has no meaning for type stdio",
            "write type: http, or remove it",
        ),
        (
            "mcp_servers: {m: {transport: {type: http, url: 'http://h', bearer_token: t, oauth: {token_url: 'http://h', client_id: c, client_secret: s}}}}",
            "a server gets either bearer_token or a token of oauth",
            "remove one of them",
        ),
        (
            "mcp_servers: {m: {transport: {type: http, url: 'http://{{.SESSION_ID}}/'}}}",
            "{{.SESSION_ID}} is known only while a session runs",
            "use it in custom_headers or session_cleanup_url",
        ),
        (
            "mcp_servers: {m: {transport: {type: http, url: 'http://h', shared_connection: true, custom_headers: {X: '{{.SESSION_ID}}'}}}}",
            "a shared connection cannot send {{.SESSION_ID}}",
            "remove it from custom_headers, or remove shared_connection",
        ),
        (
            "mcp_servers: {m: {transport: {type: sse, url: 'http://h', shared_connection: true, session_cleanup_url: 'http://h/x'}}}",
            "a shared connection does not end with an agent",
            "remove session_cleanup_url, or remove shared_connection",
        ),
        (
            "defaults: {runbook: 'see {{.SESSION_ID}}'}",
            "{{.SESSION_ID}} is known only while a session runs",
            "use it in an MCP server's custom_headers or session_cleanup_url",
        ),
        (chain(stage="{name: a, agents: []}"), "this list must not be empty", ""),
        (chain(stage="{agents: [{name: KubernetesAgent}]}"), "name is missing", ""),
        (chain(stage="{name: a, replicas: 0, agents: [{name: KubernetesAgent}]}"), "0 is too small", "the minimum is 1"),
        (
            chain(stage="{name: a, agents: [{name: ScoringAgent}]}"),
            'agent "ScoringAgent" has type scoring, which runs after the stages',
            "name an agent of type default or synthesis",
        ),
        (
            chain("    chat: {agent: SynthesisAgent}"),
            'agent "SynthesisAgent" has type synthesis and cannot hold a conversation',
            "name an agent of type default",
        ),
        (
            "queue: {heartbeat_interval: 30s}",
            "60s is less than three heartbeats of 30s: live workers would lose their sessions",
            "write 90s or more, or shorten heartbeat_interval",
        ),
        ("system: {trusted_proxies: [proxy]}", '"proxy" is not an address or network', "write 10.1.2.3 or 10.0.0.0/8"),
        ("system: {allowed_ws_origins: ['https://*.example.com', '*']}", "this is not a web address", "write http://… or https://…"),
        (
            "system: {allowed_ws_origins: ['https://h/path']}",
            '"https://h/path" is not an origin',
            "write https://h",
        ),
        (
            sign_in("https://id.example.com"),
            "TARSy authenticates to the provider with the environment variable TARSY_OIDC_CLIENT_SECRET, which is not set",
            "set TARSY_OIDC_CLIENT_SECRET",
        ),
        (sign_in("http://id.example.com"), "anybody on the network could pretend to be this provider", "write https://…"),
        (sign_in("https://id.example.com", "boss"), "\"boss\" is not one of 'viewer', 'responder', 'approver' or 'admin'", ""),
        ("[]", "this file is not a mapping of keys to values", ""),
        ("system: {retention: {session_retention_days: 9999999}}", "9999999 is too large", "the maximum is 36500"),
        ("defaults: {llm_provider: '{{.NOWHERE}}'}", "the environment variable NOWHERE is not set", "set NOWHERE"),
        ("system: {allowed_ws_origins: ['{{.NOWHERE}}']}", "the environment variable NOWHERE is not set", "set NOWHERE"),
        ("agents: {A: {max_iterations: '{{.NOWHERE}}'}}", "the environment variable NOWHERE is not set", "set NOWHERE"),
        (
            f"agent_chains:\n  a: {{alert_types: [503], {STAGES}}}\n  b: {{alert_types: ['503'], {STAGES}}}\n",
            'alert type "503" already belongs to chain "a"',
            "keep it in one chain",
        ),
    ],
)
def test_a_mistake_is_named_and_cured(directory: ConfigDirectory, tarsy: str, message: str, remedy: str) -> None:
    problem = one(directory, tarsy)
    assert (problem.message, problem.remedy) == (message, remedy)


@pytest.mark.parametrize(
    ("providers", "message"),
    [
        ("llm_providers: {m: {type: openai}}", "model is missing"),
        ("llm_providers: {m: {type: replay}}", "recording is missing"),
        ("llm_providers: {m: {type: openai, model: x, recording: f}}", "recording has no meaning for type openai"),
        ("llm_providers: {m: {type: openai, model: x, base_url: 'http://[::1'}}", "this is not a web address"),
        ("llm_providers: {m: {type: openai, model: ' '}}", "this must not be empty"),
        ("llm_providers: {m: {type: '{{.NOWHERE}}', model: x}}", "the environment variable NOWHERE is not set"),
        (
            "llm_providers: {m: {type: openai, model: m, base_url: 'http://{{.SESSION_ID}}/'}}",
            "{{.SESSION_ID}} is known only while a session runs",
        ),
    ],
)
def test_a_mistake_about_a_provider_is_named(directory: ConfigDirectory, providers: str, message: str) -> None:
    assert one(directory, "", providers).message == message


def test_a_key_that_stands_twice_is_a_mistake(directory: ConfigDirectory) -> None:
    problem = one(directory, "queue:\n  worker_count: 1\n  poll_interval: 1s\n  worker_count: 2\n")
    assert (problem.line, problem.path) == (4, "queue.worker_count")
    assert "first in line 2" in problem.message


def test_broken_yaml_is_reported_with_its_line_and_the_other_file_is_checked_too(directory: ConfigDirectory) -> None:
    problems = directory.problems("queue:\n  worker_count: [1\n", "llm_providers: {m: {type: openai}}")
    assert [problem.message.split(":")[0] for problem in problems] == ["model is missing", "this is not YAML"]
    assert problems[1].line > 1


def test_an_alias_that_contains_itself_does_not_hang(directory: ConfigDirectory) -> None:
    assert "this alias contains itself" in {problem.message for problem in directory.problems("agents: &a\n  A: *a\n")}


def test_a_bad_regular_expression_is_a_mistake(directory: ConfigDirectory) -> None:
    server = "mcp_servers: {m: {transport: {type: stdio, command: c}, data_masking: {custom_patterns: [{pattern: '('}]}}}"
    assert one(directory, server).message.startswith("this is not a regular expression")


def test_a_mistake_in_a_transport_does_not_show_what_was_written(directory: ConfigDirectory) -> None:
    problem = one(directory, "mcp_servers: {m: {transport: {type: stdio, command: c, args: 'hunter2'}}}")
    assert "hunter2" not in str(problem)


def test_a_backend_that_does_not_know_the_provider_is_a_mistake(directory: ConfigDirectory) -> None:
    stage = "{name: a, agents: [{name: KubernetesAgent, llm_provider: openai-default}]}"
    problem = one(directory, "defaults: {llm_backend: native-gemini, llm_provider: google-default}\n" + chain(stage=stage))
    assert problem.path == "agent_chains.c.stages[0].agents[0]"
    assert 'native-gemini (from defaults) cannot reach provider "openai-default"' in problem.message


def test_one_unfit_backend_for_many_agents_is_one_problem(directory: ConfigDirectory) -> None:
    both = "{name: a, agents: [{name: KubernetesAgent}, {name: ChatAgent}]}"
    problem = one(directory, "defaults:\n  llm_provider: openai-default\n  llm_backend: native-gemini\n" + chain(stage=both))
    assert (problem.line, problem.path) == (3, "defaults.llm_backend")


def test_claude_on_vertex_is_not_reached_by_the_native_sdk(directory: ConfigDirectory) -> None:
    problem = one(directory, "agent_chains: {kubernetes: {llm_provider: vertexai-default, llm_backend: native-gemini}}")
    assert problem.path == "agent_chains.kubernetes"


def test_an_unfit_backend_of_a_fallback_is_reported_where_it_is_written(directory: ConfigDirectory) -> None:
    problem = one(directory, "defaults:\n  fallback_providers:\n    - {provider: xai-default, backend: native-gemini}\n")
    assert (problem.line, problem.path) == (3, "defaults.fallback_providers[0].backend")


@pytest.mark.parametrize(
    ("tarsy", "path"),
    [
        ("defaults: {summarization: {llm_provider: openai-default, llm_backend: native-gemini}}", "defaults.summarization"),
        (
            "mcp_servers: {kubernetes-server: {summarization: {llm_provider: openai-default, llm_backend: native-gemini}}}",
            "mcp_servers.kubernetes-server.summarization",
        ),
    ],
)
def test_an_unfit_backend_of_a_summary_is_reported_where_it_is_written(directory: ConfigDirectory, tarsy: str, path: str) -> None:
    assert one(directory, tarsy).path == path


def test_a_problem_reads_like_a_compiler_message() -> None:
    problem = Problem("tarsy.yaml", 7, "queue.x", 'unknown key "x"', "write instead:\na: 1\nb: 2")
    assert str(problem) == 'tarsy.yaml:7: queue.x: unknown key "x"; write instead:\n    a: 1\n    b: 2'


def test_paths_are_written_as_people_write_them() -> None:
    assert dotted(("agent_chains", "web", "stages", 0, "name")) == "agent_chains.web.stages[0].name"


def test_a_guess_is_made_only_when_it_is_near() -> None:
    assert did_you_mean("max_iteration", ["max_iterations", "type"]) == 'did you mean "max_iterations"?'
    assert did_you_mean("zzz", ["alpha", "beta"]) == "known: alpha, beta"
    assert did_you_mean("zzz", []) == ""
