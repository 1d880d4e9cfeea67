"""Which agents an agent may send, from which level, and with which tools."""

from typing import Any

import pytest

from support.config_directory import ConfigDirectory
from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedChain
from tarsy.config.resolve.resolver import explain_chain, resolve_chain
from tarsy.config.schema.selection import McpSelection

LOKI = {"transport": {"type": "http", "url": "https://loki/"}}
AGENTS: dict[str, Any] = {
    "Lead": {"description": "Plans"},
    "Logs": {"description": "Reads logs", "mcp_servers": ["loki"], "max_iterations": 7},
    "Metrics": {"description": "Reads metrics"},
}


def written(*, agent: Any = None, chain: Any = None, stage: Any = None, stage_agent: Any = None, chat: Any = None) -> dict[str, Any]:
    """A chain with one agent, and what each level says."""
    entry: dict[str, Any] = {"name": "Lead", **(stage_agent or {})}
    stages: list[dict[str, Any]] = [{"name": "s", "agents": [entry], **(stage or {})}]
    return {
        "mcp_servers": {"loki": LOKI},
        "agents": AGENTS | {"Lead": AGENTS["Lead"] | (agent or {})},
        "agent_chains": {"c": {"alert_types": ["t"], "stages": stages, "chat": chat or {}, **(chain or {})}},
    }


def resolved(directory: ConfigDirectory, tarsy: dict[str, Any], selection: dict[str, Any] | None = None) -> ResolvedChain:
    chosen = McpSelection.model_validate(selection) if selection else None
    return resolve_chain(directory.load(tarsy).config, "c", chosen)


def lead(chain: ResolvedChain) -> ResolvedAgentConfig:
    return chain.stages[0].agents[0]


def sent(agent: ResolvedAgentConfig | None) -> list[str]:
    assert agent
    return [sub.agent_name for sub in agent.sub_agents]


LOGS, METRICS = {"sub_agents": ["Logs"]}, {"sub_agents": ["Metrics"]}


@pytest.mark.parametrize(
    ("levels", "names"),
    [
        ({}, []),
        ({"agent": LOGS}, ["Logs"]),
        ({"agent": LOGS, "chain": METRICS}, ["Metrics"]),
        ({"chain": METRICS, "stage": LOGS}, ["Logs"]),
        ({"stage": METRICS, "stage_agent": LOGS}, ["Logs"]),
        ({"chain": METRICS, "stage_agent": {"sub_agents": []}}, []),
        # No agent sends itself.
        ({"chain": {"sub_agents": ["Lead", "Logs"]}}, ["Logs"]),
    ],
)
def test_the_highest_level_that_names_sub_agents_wins(directory: ConfigDirectory, levels: dict[str, Any], names: list[str]) -> None:
    assert sent(lead(resolved(directory, written(**levels)))) == names


def test_chat_has_those_of_its_block_or_of_the_chain_and_not_those_of_a_stage(directory: ConfigDirectory) -> None:
    assert sent(resolved(directory, written(chain=METRICS, stage=LOGS)).chat) == ["Metrics"]
    assert sent(resolved(directory, written(chain=METRICS, chat=LOGS)).chat) == ["Logs"]


def test_a_reference_overrides_the_definition_for_its_dispatch_alone(directory: ConfigDirectory) -> None:
    reference = {
        "name": "Logs",
        "llm_provider": "openai-default",
        "tool_calling": "react",
        "max_iterations": 3,
        "skills": ["kubernetes-dns"],
    }
    first, second = lead(resolved(directory, written(agent={"sub_agents": [reference, "Metrics"]}))).sub_agents
    assert (first.provider.name, first.tool_calling, first.max_iterations) == ("openai-default", "react", 3)
    assert "kubernetes-dns" in first.skills
    assert (second.provider.name, second.max_iterations) == ("google-default", 20)
    assert lead(resolved(directory, written(agent=LOGS))).sub_agents[0].max_iterations == 7


def test_no_chain_or_stage_gives_a_sub_agent_tools_that_its_definition_does_not(directory: ConfigDirectory) -> None:
    servers = {"mcp_servers": ["kubernetes-server"]}
    chain = resolved(directory, written(chain=servers, stage=servers, stage_agent=servers | {"sub_agents": ["Logs", "Metrics"]}))
    assert [sub.mcp_servers for sub in lead(chain).sub_agents] == [("loki",), ()]
    assert set(chain.mcp_servers) == {"kubernetes-server", "loki"}


def test_an_alerts_choice_of_tools_narrows_those_of_sub_agents_and_adds_none(directory: ConfigDirectory) -> None:
    subs = {"sub_agents": ["Logs", "Metrics", "KubernetesAgent"]}
    selection = {"servers": [{"name": "loki", "tools": ["query"]}], "native_tools": {"google_search": True}}
    chain = resolved(directory, written(agent=subs), selection)
    logs, metrics, kubernetes = lead(chain).sub_agents
    assert [sub.mcp_servers for sub in (logs, metrics, kubernetes)] == [("loki",), (), ()]
    assert dict(logs.tool_filters) == {"loki": ("query",)}
    assert not any(sub.native_tools.get("google_search") for sub in lead(chain).sub_agents)


def test_a_sub_agent_sends_none_itself(directory: ConfigDirectory) -> None:
    tarsy = written(chain={"sub_agents": ["Logs", "Metrics"]})
    tarsy["agents"]["Logs"] = AGENTS["Logs"] | METRICS
    assert [sent(sub) for sub in lead(resolved(directory, tarsy)).sub_agents] == [[], []]


def test_an_orchestrator_that_names_none_may_send_all_that_say_what_they_are_for(directory: ConfigDirectory) -> None:
    tarsy = written(agent={"type": "orchestrator"})
    tarsy["agents"]["Silent"] = {"mcp_servers": ["loki"]}
    built_in = ["KubernetesAgent", "LogAgent", "MetricsAgent", "ChangeAgent", "GeneralWorker"]
    directory.env = {"OPENAI_API_KEY": "k", "KUBECONFIG": "k"}
    # Those that need Gemini are not offered where another model works.
    assert sorted(sent(lead(resolved(directory, tarsy)))) == sorted(["Logs", "Metrics", *built_in])
    directory.env = {"GOOGLE_API_KEY": "k", "KUBECONFIG": "k"}
    assert sorted(sent(lead(resolved(directory, tarsy)))) == sorted(["Logs", "Metrics", "WebResearcher", "CodeExecutor", *built_in])


def test_an_orchestrator_investigates_like_any_other_agent(directory: ConfigDirectory) -> None:
    assert lead(resolved(directory, written(agent={"type": "orchestrator"}))).type == "default"


def test_each_setting_of_an_orchestrator_comes_from_the_highest_level_that_says_it(directory: ConfigDirectory) -> None:
    tarsy = written(
        agent={"orchestrator": {"max_concurrent_agents": 2, "agent_timeout": "60s"}},
        chain={"orchestrator": {"agent_timeout": "2m"}},
        stage_agent={"orchestrator": {"max_concurrent_agents": 4}},
    )
    tarsy["defaults"] = {"orchestrator": {"max_budget": "600s", "max_concurrent_agents": 9}}
    settings = lead(resolved(directory, tarsy)).orchestrator
    assert (settings.max_concurrent_agents, settings.agent_timeout, settings.max_budget) == (4, 120.0, 600.0)
    assert lead(resolved(directory, written())).orchestrator.max_concurrent_agents == 5


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("Logz", 'there is no agent "Logz"'),
        ("Silent", 'agent "Silent" has no description, so other agents cannot know what to send it for'),
        ("SynthesisAgent", 'agent "SynthesisAgent" has type synthesis and cannot be sent by another'),
    ],
)
def test_an_agent_that_cannot_be_sent_is_a_problem_where_it_is_named(directory: ConfigDirectory, entry: str, message: str) -> None:
    for level in ("agent", "chain", "stage", "stage_agent", "chat"):
        tarsy = written(**{level: {"sub_agents": [entry]}})
        tarsy["agents"]["Silent"] = {}
        (problem,) = directory.problems(tarsy)
        assert problem.message == message
        assert "sub_agents[0]" in problem.path


def test_an_agent_made_for_the_tools_of_gemini_says_so_where_another_model_is_given(directory: ConfigDirectory) -> None:
    for tarsy in (
        written(agent={"sub_agents": [{"name": "WebResearcher", "llm_provider": "openai-default"}]}),
        {"agent_chains": {"c": {"alert_types": ["t"], "llm_provider": "openai-default", "stages": [{"name": "s", "agents": [{"name": "WebResearcher"}]}]}}},
    ):  # fmt: skip
        (problem,) = directory.problems(tarsy)
        assert problem.message.startswith("agent WebResearcher works with google_search, url_context, which only Gemini models have")
        assert problem.remedy == "give it one where it is named: llm_provider: google-default"


def test_where_sub_agents_come_from_is_shown(directory: ConfigDirectory) -> None:
    explained = explain_chain(directory.load(written(chain=LOGS)).config, "c")
    assert [agent.title for agent in explained.agents][:2] == ["s / Lead", "s / Lead → Logs"]
    assert explained.agents[0].levels["sub_agents"] == "chain"


def test_the_built_in_chain_deep_plans_and_sends_every_specialist_there_is(directory: ConfigDirectory) -> None:
    directory.env = {"OPENAI_API_KEY": "k", "KUBECONFIG": "k"}
    tarsy = {"mcp_servers": {"loki": LOKI}, "agents": {"LogAgent": {"mcp_servers": ["loki"]}, "Dba": {"description": "Reads the database"}}}
    chain = resolve_chain(directory.load(tarsy).config, "deep")
    top = lead(chain)
    assert (top.agent_name, top.mcp_servers) == ("Orchestrator", ())
    servers = {sub.agent_name: sub.mcp_servers for sub in top.sub_agents}
    assert servers == {
        "KubernetesAgent": ("kubernetes-server",),
        "LogAgent": ("loki",),
        "MetricsAgent": ("kubernetes-server",),
        "ChangeAgent": ("kubernetes-server",),
        "GeneralWorker": (),
        "Dba": (),
    }
    assert chain.chat is not None
    assert set(chain.chat.mcp_servers) == {"kubernetes-server", "loki"}, "questions can be answered with the tools of all of them"
