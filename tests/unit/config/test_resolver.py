"""The hierarchy: for every field and every set of levels, the highest level that sets it wins."""

import itertools
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from support.config_directory import EVERY_KEY, ConfigDirectory
from tarsy.config.load.loader import load_config
from tarsy.config.resolve.hierarchy import Level
from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedChain, ResolvedChallenge, chain_of
from tarsy.config.resolve.resolver import ExplainedChain, explain_chain, resolve_chain
from tarsy.config.schema.configuration import NoProviderError, UnknownEntryError
from tarsy.config.schema.selection import McpSelection, NativeToolSelection, SelectedServer
from tarsy.domain.execution import AgentType
from tarsy.domain.llm import LLMBackend
from tarsy.domain.stage import ParallelType, SuccessPolicy
from tarsy.domain.tool import ToolCalling
from tarsy.domain.verdict import Confidence

LEVELS = ("defaults", "agent", "chain", "stage", "stage agent")
SERVERS = ("one", "two", "three", "four")
# One value for each level that may set the field, low to high, and what counts when none does.
FIELDS: dict[str, tuple[dict[str, Any], Any]] = {
    "llm_backend": (
        {"defaults": "native-gemini", "agent": "langchain", "chain": "native-gemini", "stage agent": "langchain"},
        LLMBackend.LANGCHAIN,
    ),
    "tool_calling": ({"defaults": "react", "agent": "native", "chain": "react", "stage agent": "native"}, ToolCalling.NATIVE),
    "llm_provider": ({"defaults": "gemini-2.5-pro", "chain": "gemini-2.5-flash", "stage agent": "mine"}, "google-default"),
    "max_iterations": (dict(zip(LEVELS, (1, 2, 3, 4, 5), strict=True)), 20),
    "iteration_timeout": (dict(zip(LEVELS, (11, 12, 13, 14, 15), strict=True)), 120),
    "llm_call_timeout": (dict(zip(LEVELS, (21, 22, 23, 24, 25), strict=True)), 100),
    "tool_call_timeout": (dict(zip(LEVELS, (31, 32, 33, 34, 35), strict=True)), 60),
    "mcp_servers": ({"agent": ["one"], "chain": ["two", "one"], "stage": [], "stage agent": ["four"]}, []),
    "fallback_providers": (
        {
            "defaults": [{"provider": "mine"}],
            "chain": [],
            "stage": [{"provider": "gemini-2.5-pro"}],
            "stage agent": [{"provider": "google-default"}],
        },
        [],
    ),
    "success_policy": ({"defaults": "all", "stage": "any"}, SuccessPolicy.ANY),
}
READ: dict[str, Callable[[ResolvedAgentConfig], Any]] = {
    "llm_provider": lambda agent: agent.provider.name,
    "mcp_servers": lambda agent: list(agent.mcp_servers),
    "fallback_providers": lambda agent: [{"provider": fallback.provider.name} for fallback in agent.fallback_providers],
}
PROVIDERS = {"llm_providers": {"mine": {"type": "google", "model": "gemini-mine"}}}

Choice = dict[str, frozenset[str]]


def files(chosen: Choice) -> dict[str, Any]:
    """A configuration in which each field of `chosen` is set by exactly the given levels."""
    at: dict[str, dict[str, Any]] = {level: {} for level in LEVELS}
    for name, levels in chosen.items():
        for level in levels:
            at[level][name] = FIELDS[name][0][level]
    stage_agent = {"name": "Tested", **at["stage agent"]}
    return {
        "defaults": at["defaults"],
        "mcp_servers": {name: {"transport": {"type": "stdio", "command": "c"}} for name in SERVERS},
        "agents": {"Tested": at["agent"]},
        "agent_chains": {"c": {"alert_types": ["t"], **at["chain"], "stages": [{"name": "s", **at["stage"], "agents": [stage_agent]}]}},
    }


def explain(data: dict[str, Any], selection: McpSelection | None = None) -> ExplainedChain:
    with TemporaryDirectory() as name:
        place = Path(name)
        (place / "tarsy.yaml").write_text(yaml.safe_dump(data))
        (place / "llm-providers.yaml").write_text(yaml.safe_dump(PROVIDERS))
        return explain_chain(load_config(place, EVERY_KEY).config, "c", selection)


def check(explained: ExplainedChain, chosen: Choice) -> None:
    agent, levels = explained.agents[0].agent, explained.agents[0].levels
    for name, (values, otherwise) in FIELDS.items():
        setters = [level for level in LEVELS if level in chosen.get(name, ())]
        expected = values[setters[-1]] if setters else otherwise
        if name == "success_policy":
            assert explained.chain.stages[0].success_policy == expected
            continue
        found = READ.get(name, lambda agent, name=name: getattr(agent, name))(agent)
        assert found == expected, name
        origin = levels["provider" if name == "llm_provider" else name]
        assert origin == (setters[-1] if setters else "environment" if name == "llm_provider" else "built-in"), name


def subsets(levels: Iterable[str]) -> list[frozenset[str]]:
    known = list(levels)
    return [frozenset(chosen) for size in range(len(known) + 1) for chosen in itertools.combinations(known, size)]


@pytest.mark.parametrize("name", FIELDS)
def test_for_every_set_of_levels_the_highest_that_sets_a_field_wins(name: str, directory: ConfigDirectory) -> None:
    for levels in subsets(FIELDS[name][0]):
        chosen = {name: levels}
        check(explain(files(chosen)), chosen)


@given(st.fixed_dictionaries({name: st.frozensets(st.sampled_from(sorted(values))) for name, (values, _) in FIELDS.items()}))
def test_fields_do_not_disturb_each_other(chosen: Choice) -> None:
    check(explain(files(chosen)), chosen)


@given(st.frozensets(st.sampled_from(sorted(FIELDS["mcp_servers"][0]))), st.lists(st.sampled_from(SERVERS), min_size=1, unique=True))
def test_the_alerts_selection_replaces_the_servers_of_every_level(levels: frozenset[str], names: list[str]) -> None:
    selection = McpSelection(servers=tuple(SelectedServer(name=name, tools=("ping",)) for name in names))
    explained = explain(files({"mcp_servers": levels}), selection)
    assert explained.agents[0].levels["mcp_servers"] == "alert"
    assert explained.chain.stages[0].agents[0].mcp_servers == tuple(names)
    assert explained.chain.chat is not None
    assert explained.chain.chat.mcp_servers == tuple(names)
    assert explained.chain.stages[0].agents[0].tool_filters == dict.fromkeys(names, ("ping",))
    assert sorted(explained.chain.mcp_servers) == sorted(names)


PARALLEL = """
defaults: {llm_provider: google-default}
mcp_servers:
  logs: {transport: {type: stdio, command: c}}
agents:
  Logs: {mcp_servers: [logs]}
  Joiner: {type: synthesis, custom_instructions: join}
agent_chains:
  c:
    alert_types: [t]
    llm_backend: native-gemini
    executive_summary_provider: openai-default
    stages:
      - name: wide
        agents: [{name: Logs}, {name: KubernetesAgent, llm_provider: gemini-2.5-pro}]
        synthesis: {agent: Joiner, llm_backend: langchain, llm_provider: anthropic-default}
      - {name: deep, agents: [{name: Logs}], replicas: 3}
      - {name: last, agents: [{name: Logs}]}
    scoring: {enabled: true, llm_provider: gemini-2.5-flash}
"""


@pytest.fixture
def parallel(directory: ConfigDirectory) -> ResolvedChain:
    return resolve_chain(directory.load(PARALLEL).config, "c")


def test_a_stage_of_several_agents_is_synthesised_by_the_agent_its_block_names(parallel: ResolvedChain) -> None:
    stage = parallel.stages[0]
    assert stage.parallel_type is ParallelType.MULTI_AGENT
    assert stage.synthesis is not None
    assert (stage.synthesis.agent_name, stage.synthesis.type, stage.synthesis.provider.name) == (
        "Joiner",
        AgentType.SYNTHESIS,
        "anthropic-default",
    )
    assert stage.synthesis.llm_backend is LLMBackend.LANGCHAIN
    assert stage.synthesis.mcp_servers == ()


def test_replicas_are_written_out(parallel: ResolvedChain) -> None:
    stage = parallel.stages[1]
    assert stage.parallel_type is ParallelType.REPLICA
    assert [agent.agent_name for agent in stage.agents] == ["Logs-1", "Logs-2", "Logs-3"]
    assert stage.synthesis is not None
    assert stage.synthesis.agent_name == "SynthesisAgent"


def test_a_single_agent_needs_no_synthesis(parallel: ResolvedChain) -> None:
    assert parallel.stages[2].parallel_type is None
    assert parallel.stages[2].synthesis is None


def test_the_summary_falls_back_to_a_backend_that_its_provider_has(parallel: ResolvedChain) -> None:
    assert parallel.executive_summary is not None
    assert parallel.executive_summary.provider.name == "openai-default"
    assert parallel.executive_summary.llm_backend is LLMBackend.LANGCHAIN
    assert parallel.executive_summary.type is AgentType.EXEC_SUMMARY


def test_such_a_backend_is_reported_as_coming_from_where_the_provider_comes_from(directory: ConfigDirectory) -> None:
    tarsy = "defaults: {llm_provider: gemini-2.5-pro, llm_backend: native-gemini}\nagent_chains: {kubernetes: {executive_summary_provider: openai-default}}"
    explained = explain_chain(directory.load(tarsy).config, "kubernetes")
    (summary,) = (agent for agent in explained.agents if agent.title == "executive summary")
    assert (summary.agent.llm_backend, summary.levels["llm_backend"]) == (LLMBackend.LANGCHAIN, Level.EXECUTIVE_SUMMARY)


@pytest.mark.parametrize(
    ("answered", "expected"),
    [
        ("true", ResolvedChallenge()),
        ("{when_below: high}", ResolvedChallenge(when_below=Confidence.HIGH)),
        ("{max_iterations: 3}", ResolvedChallenge(max_iterations=3)),
        ("false", None),
        ("{enabled: false, when_below: high}", None),
    ],
)
def test_a_challenge_is_switched_on_in_a_word_or_with_conditions(
    directory: ConfigDirectory, answered: str, expected: ResolvedChallenge | None
) -> None:
    config = directory.load(f"agent_chains: {{kubernetes: {{challenge: {answered}}}}}").config
    assert resolve_chain(config, "kubernetes").challenge == expected


def test_a_challenge_that_cannot_be_read_is_refused_with_its_place(directory: ConfigDirectory) -> None:
    (problem,) = directory.problems("agent_chains: {kubernetes: {challenge: {when_below: sure}}}")
    assert problem.path == "agent_chains.kubernetes.challenge.when_below"


def test_chat_has_the_servers_of_all_stages(parallel: ResolvedChain) -> None:
    assert parallel.chat is not None
    assert parallel.chat.mcp_servers == ("logs", "kubernetes-server")
    assert set(parallel.mcp_servers) == {"logs", "kubernetes-server"}


def test_chat_can_be_switched_off_and_given_its_own_servers(directory: ConfigDirectory) -> None:
    config = directory.load(PARALLEL.replace("scoring:", "chat: {mcp_servers: [], max_iterations: 3}\n    scoring:")).config
    chat = resolve_chain(config, "c").chat
    assert chat is not None
    assert (chat.mcp_servers, chat.max_iterations) == ((), 3)
    assert resolve_chain(directory.load(PARALLEL.replace("scoring:", "chat: {enabled: no}\n    scoring:")).config, "c").chat is None


def test_chat_calls_tools_in_the_way_of_the_agents_it_follows(directory: ConfigDirectory) -> None:
    one = """
agent_chains:
  c:
    alert_types: [t]
    {chat}
    stages: [{{name: look, agents: [{{name: KubernetesAgent, tool_calling: react}}{more}]}}]
"""
    for chat, more, expected in (
        ("description: nothing of its own", "", ToolCalling.REACT),
        ("chat: {tool_calling: native}", "", ToolCalling.NATIVE),
        ("description: they do not agree", ", {name: KubernetesAgent, tool_calling: native}", ToolCalling.NATIVE),
    ):
        resolved = resolve_chain(directory.load(one.format(chat=chat, more=more)).config, "c").chat
        assert resolved is not None
        assert resolved.tool_calling is expected, chat


def test_the_executive_summary_can_be_switched_off_for_a_chain(directory: ConfigDirectory) -> None:
    off = PARALLEL.replace("scoring:", "executive_summary: {enabled: false}\n    scoring:")
    assert resolve_chain(directory.load(off).config, "c").executive_summary is None
    assert resolve_chain(directory.load(PARALLEL).config, "c").executive_summary is not None


def test_scoring_is_off_unless_somebody_wants_it(directory: ConfigDirectory, parallel: ResolvedChain) -> None:
    assert parallel.scoring is not None
    assert (parallel.scoring.agent_name, parallel.scoring.type, parallel.scoring.provider.name) == (
        "ScoringAgent",
        AgentType.SCORING,
        "gemini-2.5-flash",
    )
    assert resolve_chain(directory.load("").config, "kubernetes").scoring is None


def test_scoring_of_all_chains_can_be_overruled_by_one(directory: ConfigDirectory) -> None:
    common = "defaults: {scoring: {enabled: true, llm_provider: gemini-2.5-pro}}\n"
    config = directory.load(common + PARALLEL.replace("defaults: {llm_provider: google-default}\n", "")).config
    scoring = resolve_chain(config, "c").scoring
    assert scoring is not None
    assert scoring.provider.name == "gemini-2.5-flash"
    kubernetes = resolve_chain(config, "kubernetes").scoring
    assert kubernetes is not None
    assert kubernetes.provider.name == "gemini-2.5-pro"


def test_native_tools_are_laid_over_each_other(directory: ConfigDirectory) -> None:
    config = directory.load(
        "agents: {KubernetesAgent: {native_tools: {url_context: true}}}",
        "llm_providers: {google-default: {native_tools: {google_search: true, url_context: false}}}",
    ).config
    agent = resolve_chain(config, "kubernetes").stages[0].agents[0]
    assert agent.native_tools == {"google_search": True, "url_context": True}
    assert agent.provider.native_tools == agent.native_tools
    selection = McpSelection(servers=(SelectedServer(name="kubernetes-server"),), native_tools=NativeToolSelection(google_search=False))
    assert resolve_chain(config, "kubernetes", selection).stages[0].agents[0].native_tools == {"google_search": False, "url_context": True}


def test_large_results_are_shortened_by_the_provider_that_is_named(directory: ConfigDirectory) -> None:
    defaults = "defaults: {summarization: {llm_provider: gemini-2.5-flash}}\n"
    server = resolve_chain(directory.load(defaults).config, "kubernetes").mcp_servers["kubernetes-server"]
    assert server.summarization.provider is not None
    assert (server.summarization.provider.name, server.summarization.backend) == ("gemini-2.5-flash", LLMBackend.LANGCHAIN)
    own = "mcp_servers: {kubernetes-server: {summarization: {llm_provider: gemini-2.5-pro, llm_backend: google-native}}}"
    server = resolve_chain(directory.load(defaults + own).config, "kubernetes").mcp_servers["kubernetes-server"]
    assert server.summarization.provider is not None
    assert (server.summarization.provider.name, server.summarization.backend) == ("gemini-2.5-pro", LLMBackend.NATIVE_GEMINI)
    assert server.summarization.size_threshold_tokens == 5000


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("gemini-3.7-flash", 1_048_576),
        ("claude-sonnet-5", 200_000),
        ("openai/gpt-5.2", 272_000),
        ("grok-4.6", 256_000),
        ("qwen3:32b", 128_000),
    ],
)
def test_the_context_window_of_known_families_is_filled_in(directory: ConfigDirectory, model: str, window: int) -> None:
    providers = {"llm_providers": {"mine": {"type": "openai", "model": model}}}
    chain = resolve_chain(directory.load("defaults: {llm_provider: mine}", providers).config, "kubernetes")
    assert chain.executive_summary is not None
    assert chain.executive_summary.provider.context_window == window


@pytest.mark.parametrize(
    ("answered", "resolved"),
    [
        ({}, (True, ("security",), ())),
        ({"data_masking": {}}, (True, ("security",), ())),
        ({"data_masking": {"patterns": ["base64_secret"]}}, (True, ("security",), ("base64_secret",))),
        ({"data_masking": {"pattern_groups": ["basic"]}}, (True, ("basic",), ())),
        ({"data_masking": {"enabled": False}}, (False, ("security",), ())),
    ],
)
def test_a_tool_server_is_masked_unless_the_configuration_says_otherwise(
    directory: ConfigDirectory, answered: dict[str, Any], resolved: tuple[bool, tuple[str, ...], tuple[str, ...]]
) -> None:
    server = {"transport": {"type": "stdio", "command": "c"}, **answered}
    config = directory.load({"mcp_servers": {"mine": server}, "agents": {"KubernetesAgent": {"mcp_servers": ["mine"]}}}).config
    masking = resolve_chain(config, "kubernetes").mcp_servers["mine"].masking
    assert (masking.enabled, masking.pattern_groups, masking.patterns) == resolved


def test_a_snapshot_from_before_masking_was_the_default_can_still_be_read(parallel: ResolvedChain) -> None:
    stored = parallel.model_dump(mode="json")
    unmasked: dict[str, Any] = {"enabled": False, "pattern_groups": [], "patterns": [], "custom_patterns": []}
    stored["mcp_servers"] = {name: {**server, "masking": unmasked} for name, server in stored["mcp_servers"].items()}
    read = chain_of(stored)
    assert [server.masking.enabled for server in read.mcp_servers.values()] == [False] * len(parallel.mcp_servers)


def test_a_snapshot_survives_being_stored(parallel: ResolvedChain) -> None:
    assert ResolvedChain.model_validate_json(parallel.model_dump_json()) == parallel
    assert chain_of(parallel.model_dump(mode="json")) == parallel


def test_without_any_key_the_error_names_the_variable_of_every_vendor(directory: ConfigDirectory) -> None:
    directory.env = {}
    config = directory.load("").config
    with pytest.raises(NoProviderError) as caught:
        resolve_chain(config, "kubernetes")
    for name in ("GOOGLE_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "XAI_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS", "local-model"):
        assert name in str(caught.value)


def test_an_unknown_chain_is_reported_with_a_guess(directory: ConfigDirectory) -> None:
    with pytest.raises(UnknownEntryError, match='did you mean "kubernetes"'):
        resolve_chain(directory.load("").config, "kubernets")
