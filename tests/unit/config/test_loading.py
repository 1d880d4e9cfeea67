"""Where the configuration comes from, what is there without it, and how long it takes."""

from decimal import Decimal
from pathlib import Path

import pytest

from support.config_directory import ConfigDirectory
from tarsy.config.load.loader import load_config
from tarsy.config.problems import ConfigError
from tarsy.config.schema.configuration import UnknownEntryError
from tarsy.domain.budget import Ceiling


def test_without_any_file_and_key_the_built_ins_load(directory: ConfigDirectory) -> None:
    loaded = load_config(None, {})
    specialists = {"KubernetesAgent", "LogAgent", "MetricsAgent", "ChangeAgent", "GeneralWorker", "WebResearcher", "CodeExecutor"}
    assert set(loaded.config.agents) == specialists | {"Orchestrator"} | {"ChatAgent", "SynthesisAgent", "ExecSummaryAgent", "ScoringAgent"}
    assert loaded.config.chains.alert_types == ("deep", "kubernetes")
    assert loaded.config.default_provider is None
    assert loaded.directory is None
    assert [warning.message.split(" ")[0:2] for warning in loaded.warnings] == [["no", "model"], ["MCP", "server"]]


def test_a_named_directory_must_exist_and_hold_a_file(directory: ConfigDirectory, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such directory"):
        load_config(tmp_path / "nowhere", {})
    with pytest.raises(ConfigError, match="contains neither"):
        load_config(None, {"TARSY_CONFIG_DIR": str(directory.path)})


def test_the_environment_can_name_the_directory(directory: ConfigDirectory) -> None:
    directory.write("queue: {worker_count: 7}")
    assert load_config(None, {"TARSY_CONFIG_DIR": str(directory.path)}).config.queue.worker_count == 7


def test_the_working_directory_counts_only_with_one_of_the_files(directory: ConfigDirectory) -> None:
    config = Path("config")
    (config / "examples").mkdir(parents=True)
    (config / "examples" / "tarsy.yaml").write_text("nonsense: 1")
    assert load_config(None, {}).directory is None
    (config / "tarsy.yaml").write_text("queue: {worker_count: 3}")
    assert load_config(None, {}).config.queue.worker_count == 3


def test_dotenv_files_yield_to_the_environment_and_to_the_nearer_one(directory: ConfigDirectory) -> None:
    directory.write("")
    (directory.path / ".env").write_text("A=near\nB=near\nPASSWORD='p$B'\n")
    Path(".env").write_text("A=far\nB=far\nC=far\n")
    env = load_config(directory.path, {"A": "real"}).env
    assert (env["A"], env["B"], env["C"], env["PASSWORD"]) == ("real", "near", "far", "p$B")


def test_a_file_that_cannot_be_read_is_a_problem(directory: ConfigDirectory) -> None:
    (directory.path / "tarsy.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="not UTF-8"):
        load_config(directory.path, {})


def test_a_built_in_is_overridden_field_by_field(directory: ConfigDirectory) -> None:
    config = directory.load(
        "mcp_servers: {kubernetes-server: {instructions: mine, transport: {args: [a]}}}\nagents: {KubernetesAgent: {max_iterations: 3}}",
        "llm_providers: {google-default: {model: gemini-mine}}",
    ).config
    server = config.mcp_servers["kubernetes-server"]
    assert (server.instructions, server.transport.command, server.transport.args) == ("mine", "npx", ("a",))
    assert server.data_masking.pattern_groups == ("kubernetes", "security")
    assert config.agents["KubernetesAgent"].mcp_servers == ("kubernetes-server",)
    assert (config.llm_providers["google-default"].model, config.llm_providers["google-default"].api_key_env) == (
        "gemini-mine",
        "GOOGLE_API_KEY",
    )


def test_naming_the_type_that_a_built_in_has_changes_nothing(directory: ConfigDirectory) -> None:
    agents = directory.load("agents: {KubernetesAgent: {type: default}, ChatAgent: {type: default, max_iterations: 2}}").config.agents
    assert agents["KubernetesAgent"].mcp_servers == ("kubernetes-server",)
    assert agents["ChatAgent"].description


def test_a_transport_of_another_type_replaces_the_built_in_one(directory: ConfigDirectory) -> None:
    transport = (
        directory.load("mcp_servers: {kubernetes-server: {transport: {type: http, url: 'http://h/mcp'}}}")
        .config.mcp_servers["kubernetes-server"]
        .transport
    )
    assert (transport.command, transport.args, transport.url) == (None, (), "http://h/mcp")


def test_a_users_chain_takes_over_a_built_in_alert_type(directory: ConfigDirectory) -> None:
    chains = directory.load(
        "agent_chains: {mine: {alert_types: [kubernetes], stages: [{name: s, agents: [{name: KubernetesAgent}]}]}}"
    ).config.chains
    assert chains.id_for("kubernetes") == "mine"
    assert list(chains) == ["deep", "mine"]
    assert chains.id_for("kubernetes") == "mine"


def test_looking_up_what_is_not_there_says_what_is(directory: ConfigDirectory) -> None:
    config = directory.load("").config
    with pytest.raises(UnknownEntryError, match='no chain for alert type "pod"'):
        config.chains.id_for("pod")
    with pytest.raises(UnknownEntryError, match='no MCP server "kubernets-server"; did you mean "kubernetes-server"'):
        config.mcp_servers["kubernets-server"]
    assert config.agents.get("Nobody") is None


@pytest.mark.parametrize(
    ("env", "chosen"),
    [
        ({}, None),
        ({"OPENAI_API_KEY": "k", "XAI_API_KEY": "k"}, "openai-default"),
        ({"ANTHROPIC_API_KEY": "k", "GOOGLE_API_KEY": "k"}, "google-default"),
        ({"GOOGLE_API_KEY": " "}, None),
        ({"GOOGLE_CLOUD_PROJECT": "p"}, None),
        ({"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_APPLICATION_CREDENTIALS": "f"}, "vertexai-default"),
    ],
)
def test_the_first_built_in_provider_with_a_key_is_the_default(directory: ConfigDirectory, env: dict[str, str], chosen: str | None) -> None:
    assert load_config(None, env).config.default_provider == chosen


def test_a_local_model_needs_no_key(directory: ConfigDirectory) -> None:
    directory.env = {"KUBECONFIG": "k"}
    providers = "llm_providers: {local: {type: openai, model: qwen, base_url: 'http://localhost:11434/v1'}}"
    assert directory.load("defaults: {llm_provider: local}", providers).warnings == ()
    assert directory.load("", providers).config.default_provider == "local"
    (problem,) = directory.problems("defaults: {llm_provider: local}", providers.replace("localhost", "api.example.com"))
    assert "OPENAI_API_KEY is not set" in problem.message


def test_an_empty_address_makes_no_model_local(directory: ConfigDirectory) -> None:
    directory.env = {"KUBECONFIG": "k", "GATEWAY": ""}
    providers = "llm_providers: {mine: {type: openai, model: gpt-5.2, base_url: '{{.GATEWAY}}'}}"
    (problem,) = directory.problems("defaults: {llm_provider: mine}", providers)
    assert "OPENAI_API_KEY is not set" in problem.message
    assert directory.load("", providers).config.default_provider is None


def test_a_provider_that_no_chain_reaches_needs_no_key(directory: ConfigDirectory) -> None:
    del directory.env["XAI_API_KEY"]
    unused = "llm_providers: {spare: {type: xai, model: grok-4}}"
    assert directory.load("", unused).warnings == ()
    (problem,) = directory.problems("agent_chains: {kubernetes: {executive_summary_provider: spare}}", unused)
    assert problem.path == "llm_providers.spare"


def test_keys_for_later_are_accepted_with_a_warning_each(directory: ConfigDirectory) -> None:
    loaded = directory.load(
        """
system: {holidays: [2026-12-25], runbooks: {repo_url: "https://h/r"}}
defaults: {memory: {enabled: true}, orchestrator: {max_budget: 600s}}
agents: {A: {description: d, orchestrator: {}, sub_agents: [KubernetesAgent]}}
agent_chains: {c: {alert_types: [t], sub_agents: [A], stages: [{name: s, agents: [{name: A}]}]}}
"""
    )
    assert [warning.path for warning in loaded.warnings] == [
        "system.holidays",
        "system.runbooks.repo_url",
        "defaults.memory",
    ]
    assert all(warning.message.endswith("is accepted but has no effect yet") for warning in loaded.warnings)


def test_prices_are_read_as_they_are_written(directory: ConfigDirectory) -> None:
    cost = directory.load(
        """
system:
  cost_estimation:
    model_rates: {gpt-x: {input_per_million: 1.10, output_per_million: "4.40"}}
    promotions: [{model: gpt-x, end: 2026-12-24, input_per_million: 0, output_per_million: 0}]
"""
    ).config.system.cost_estimation
    assert str(cost.model_rates["gpt-x"].output_per_million) == "4.40"
    assert cost.promotions[0].end.isoformat() == "2026-12-24T00:00:00+00:00"
    (negative,) = directory.problems("system: {cost_estimation: {model_rates: {m: {input_per_million: -1, output_per_million: 1}}}}")
    assert negative.path == "system.cost_estimation.model_rates.m.input_per_million"
    for end in ("soon", "20261224", "0001-01-01T00:00:00+01:00"):
        wrong = f"{{model: m, end: {end}, input_per_million: 1, output_per_million: 1}}"
        (unclear,) = directory.problems(f"system: {{cost_estimation: {{promotions: [{wrong}]}}}}")
        assert unclear.remedy == "write 2026-03-01 or 2026-03-01T12:00:00Z"


def test_budgets_are_checked_at_every_level(directory: ConfigDirectory) -> None:
    loaded = directory.load(
        """
system: {budgets: [{per: day, usd: 20}, {per: month, usd: 300, chain: c}]}
defaults: {budget: {usd: 0.5, time: 10m}}
agents: {A: {budget: {tokens: 100000}}}
agent_chains: {c: {alert_types: [t], budget: {usd: 2}, stages: [{name: s, budget: {tool_calls: 9}, agents: [{name: A, budget: {model_calls: 4}}]}]}}
"""
    )
    assert loaded.config.defaults.budget is not None
    assert loaded.config.defaults.budget.ceiling == Ceiling(usd=Decimal("0.5"), seconds=600)
    assert all(warning.message.endswith("is accepted but has no effect yet") for warning in loaded.warnings)
    (empty,) = directory.problems("defaults: {budget: {}}")
    assert empty.remedy == "set usd, tokens, time, model_calls or tool_calls"
    (unknown,) = directory.problems("system: {budgets: [{per: week, usd: 1}]}")
    assert unknown.path == "system.budgets[0].per"


def test_what_stands_in_a_key_of_other_versions_is_checked(directory: ConfigDirectory) -> None:
    (problem,) = directory.problems("system: {slack: {chanel: C1}}")
    assert problem.remedy == 'did you mean "channel"?'


def test_a_secret_in_the_file_is_warned_of(directory: ConfigDirectory) -> None:
    loaded = directory.load(
        """
mcp_servers:
  m: {transport: {type: http, url: 'https://u:pw@h/', bearer_token: abc, custom_headers: {X-Api-Key: k, Accept: json}}}
  o: {transport: {type: http, url: 'https://h/', oauth: {token_url: 'https://h/', client_id: c, client_secret: s}}}
  n: {transport: {type: stdio, command: c, env: {API_TOKEN: t, OTHER: "{{.KUBECONFIG}}", DB_PASSWORD: "{{.KUBECONFIG}}"}}}
"""
    )
    assert [warning.path.removeprefix("mcp_servers.") for warning in loaded.warnings] == [
        "m.transport.bearer_token",
        "m.transport.custom_headers.X-Api-Key",
        "m.transport.url",
        "o.transport.oauth.client_secret",
        "n.transport.env.API_TOKEN",
    ]


def test_a_variable_in_another_notation_is_warned_of(directory: ConfigDirectory) -> None:
    loaded = directory.load(
        'mcp_servers: {m: {transport: {type: stdio, command: c, args: ["${HOME}", "{{ HOME }}", "$HOME", "{{.HOME}}", "{{.A-B}}"]}}}'
    )
    assert [(warning.message, warning.remedy) for warning in loaded.warnings] == [
        ("${HOME} is taken literally", "write {{.HOME}} for the environment variable"),
        ("{{ HOME }} is taken literally", "write {{.HOME}} for the environment variable"),
        ("{{.A-B}} is taken literally", "a variable is written {{.NAME}}, and nothing else"),
    ]


def test_a_default_alert_type_that_no_chain_answers_is_warned_of(directory: ConfigDirectory) -> None:
    (warning,) = directory.load("agent_chains: {kubernetes: {alert_types: [pods]}}").warnings
    assert (warning.message, warning.remedy) == ('no chain handles the default alert type "kubernetes"', "set defaults.alert_type")


def test_tool_servers_of_an_agent_that_calls_no_tools_are_warned_of(directory: ConfigDirectory) -> None:
    (warning,) = directory.load("agents: {S: {type: synthesis, mcp_servers: [kubernetes-server]}}").warnings
    assert (warning.path, warning.message) == ("agents.S.mcp_servers", "an agent of type synthesis calls no tools")


def test_native_tools_that_the_backend_ignores_are_warned_of(directory: ConfigDirectory) -> None:
    chain = "agent_chains: {c: {alert_types: [t], llm_provider: g, stages: [{name: s, agents: [{name: A}]}]}}"
    agents = "agents: {A: {native_tools: {google_search: true, url_context: false}}}"
    providers = "llm_providers: {g: {type: google, model: gemini-3.7-pro, native_tools: {code_execution: true}}}"

    loaded = directory.load(f"{chain}\n{agents}", providers)

    assert [(warning.path, warning.message) for warning in loaded.warnings] == [
        ("llm_providers.g.native_tools", "llm_backend langchain ignores code_execution"),
        ("agents.A.native_tools", "llm_backend langchain ignores google_search"),
    ]


@pytest.mark.parametrize("level", ["defaults: {llm_backend: native-gemini}", "agents: {A: {llm_backend: native-gemini}}"])
def test_native_tools_that_some_agent_uses_are_not_warned_of(directory: ConfigDirectory, level: str) -> None:
    chain = "agent_chains: {c: {alert_types: [t], llm_provider: g, stages: [{name: s, agents: [{name: A}]}]}}"
    providers = "llm_providers: {g: {type: google, model: gemini-3.7-pro, native_tools: {code_execution: true}}}"
    agents = "" if level.startswith("agents") else "agents: {A: {}}"

    assert directory.load(f"{chain}\n{level}\n{agents}", providers).warnings == ()


def test_a_dotenv_file_that_cannot_be_read_is_a_problem(directory: ConfigDirectory) -> None:
    directory.write("")
    (directory.path / ".env").write_bytes(b"A=\xff\xfe")
    with pytest.raises(ConfigError, match=r"\.env: cannot be read"):
        load_config(directory.path, {})


def test_empty_values_count_as_not_set(directory: ConfigDirectory) -> None:
    config = directory.load("system:\nqueue:\n  worker_count:\nagents:\n  A:\n  KubernetesAgent:\n").config
    assert config.queue.worker_count == 5
    assert config.agents["A"].description == ""
    assert config.agents["KubernetesAgent"].mcp_servers == ("kubernetes-server",)


def test_plain_values_are_taken_as_texts_where_texts_are_wanted(directory: ConfigDirectory) -> None:
    env = directory.load(
        "mcp_servers: {m: {transport: {type: stdio, command: c, args: [--port, 8080], env: {PORT: 8080, DEBUG: true, MODE: 0755}}}}"
    )
    transport = env.config.mcp_servers["m"].transport
    assert transport.args == ("--port", "8080")
    assert transport.env == {"PORT": "8080", "DEBUG": "true", "MODE": "0755"}


def test_the_other_name_of_the_native_backend_is_accepted(directory: ConfigDirectory) -> None:
    assert directory.load("defaults: {llm_backend: google-native}").config.defaults.llm_backend == "native-gemini"


@pytest.mark.parametrize(
    ("written", "seconds"), [("90s", 90), ("15m", 900), ("1h30m", 5400), ("500ms", 0.5), ("1.5", 1.5), ("2", 2), ("0.50", 0.5)]
)
def test_durations_are_read(directory: ConfigDirectory, written: str, seconds: float) -> None:
    assert directory.load(f"queue: {{poll_interval: {written}}}").config.queue.poll_interval == seconds


def test_a_configuration_is_frozen(directory: ConfigDirectory) -> None:
    config = directory.load("").config
    with pytest.raises(ValueError, match="frozen"):
        config.queue.worker_count = 3  # pyright: ignore[reportAttributeAccessIssue] - the attempt is the test


def test_no_tool_server_may_take_the_name_of_the_built_in_tools(directory: ConfigDirectory) -> None:
    (problem,) = directory.problems("mcp_servers: {tarsy: {transport: {type: http, url: 'https://h/'}}}")
    assert (problem.path, problem.message) == ("mcp_servers.tarsy", '"tarsy" is the name of the built-in tools')
