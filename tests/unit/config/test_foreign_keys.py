"""A configuration written for another TARSy loads, or every line that cannot is answered with what to write instead."""

import re
from typing import Any

import pytest

from support.config_directory import ConfigDirectory
from tarsy.config.load.mistakes import section_at, useful_keys
from tarsy.config.problems import Problem
from tarsy.config.schema.documents import ProvidersDocument, TarsyDocument, key_places
from tarsy.config.schema.values import Section

# Every key that the other implementation's example has and that means something here, at every level that has it.
ELSEWHERE: dict[str, Any] = {
    "queue": {
        "worker_count": 5,
        "max_concurrent_sessions": 5,
        "poll_interval": "1s",
        "poll_interval_jitter": "500ms",
        "session_timeout": "40m",
        "graceful_shutdown_timeout": "40m",
        "scoring_shutdown_timeout": "5m",
        "orphan_detection_interval": "5m",
        "orphan_threshold": "5m",
        "heartbeat_interval": "30s",
    },
    "system": {
        "dashboard_url": "https://tarsy.example.com",
        "allowed_ws_origins": ["https://tarsy.example.com"],
        "github": {"token_env": "GITHUB_TOKEN"},
        "runbooks": {"repo_url": "https://github.com/org/runbooks", "cache_ttl": "1m", "allowed_domains": ["github.com"]},
        "slack": {"enabled": True, "token_env": "SLACK_BOT_TOKEN", "channel": "C1"},
        "retention": {"session_retention_days": 365, "event_ttl": "1h", "cleanup_interval": "12h"},
        "cost_estimation": {"enabled": True, "model_rates": {"m": {"input_per_million": 1, "output_per_million": 2}}, "promotions": []},
    },
    "defaults": {
        "llm_provider": "google-default",
        "llm_backend": "google-native",
        "max_iterations": 20,
        "success_policy": "any",
        "alert_type": "outage",
        "alert_masking": {"enabled": True, "pattern_group": "security"},
        "fallback_providers": [{"provider": "gemini-2.5-pro", "backend": "google-native"}],
        "scoring": {
            "enabled": True, "agent": "ScoringAgent", "llm_provider": "google-default", "llm_backend": "langchain",
            "mcp_servers": ["kubernetes-server"], "max_iterations": 3,
        },
        "summarization": {"llm_provider": "google-default", "llm_backend": "google-native"},
        "orchestrator": {"max_concurrent_agents": 5, "agent_timeout": "300s", "max_budget": "600s"},
        "memory": {"enabled": True, "max_inject": 5, "embedding": {"provider": "google", "dimensions": 768}},
        "runbook": "# Look around\n",
    },
    "agents": {
        "Lead": {
            "type": "orchestrator",
            "description": "Plans and sends others",
            "mcp_servers": ["kubernetes-server"],
            "orchestrator": {"max_concurrent_agents": 3},
            "skills": ["kubernetes-dns"],
            "required_skills": ["kubernetes-rollouts"],
            "custom_instructions": "Plan first.",
        },
        "Logs": {"type": "", "description": "Reads logs", "mcp_servers": ["kubernetes-server"], "native_tools": {"google_search": False}},
    },
    "agent_chains": {
        "outage": {
            "alert_types": ["outage"],
            "executive_summary_provider": "google-default",
            "sub_agents": ["KubernetesAgent", "WebResearcher", "CodeExecutor", "GeneralWorker"],
            "stages": [
                {
                    "name": "look",
                    "sub_agents": [{"name": "Logs", "max_iterations": 5}],
                    "agents": [
                        {"name": "Lead", "type": "orchestrator", "sub_agents": ["Logs", {"name": "KubernetesAgent", "skills": []}]},
                        {"name": "KubernetesAgent", "type": "orchestrator", "required_skills": ["kubernetes-dns"]},
                    ],
                    "synthesis": {"agent": "SynthesisAgent", "llm_backend": "google-native", "llm_provider": "google-default"},
                }
            ],
            "chat": {"enabled": True, "agent": "ChatAgent", "sub_agents": ["Logs"], "max_iterations": 20},
            "scoring": {"enabled": True, "mcp_servers": ["kubernetes-server"], "max_iterations": 5},
        }
    },
}  # fmt: skip


def test_what_the_other_example_uses_loads_and_what_has_no_effect_is_reported(directory: ConfigDirectory) -> None:
    warnings = directory.load(ELSEWHERE).warnings
    without = {problem.path for problem in warnings if "has no effect: " in problem.message}
    assert without == {
        "queue.scoring_shutdown_timeout",
        "defaults.scoring.mcp_servers",
        "defaults.scoring.max_iterations",
        "agent_chains.outage.scoring.mcp_servers",
        "agent_chains.outage.scoring.max_iterations",
    }
    later = {problem.path for problem in warnings if problem.message.endswith("is accepted but has no effect yet")}
    assert not any("sub_agents" in path or "orchestrator" in path for path in later)


def one(directory: ConfigDirectory, tarsy: str, providers: str | None = None) -> Problem:
    (problem,) = directory.problems(tarsy, providers)
    return problem


LISTS = "fallback_lists: {mid: [{llm_provider: gemini-2.5-pro, llm_backend: google-native}, {llm_provider: openai-default}]}"
CHAIN = "agent_chains: {{c: {{alert_types: [t], stages: [{{name: s, agents: [{{name: KubernetesAgent{agent}}}]}}]{chain}}}}}"


@pytest.mark.parametrize(
    ("tarsy", "path", "remedy"),
    [
        (LISTS, "fallback_lists", "write the entries where a list is used, as fallback_providers, and remove this"),
        ("label_maps: {m: {labels: []}}", "label_maps", "remove it: sessions have no labels here"),
        ("defaults: {label_map: m}", "defaults.label_map", "remove it: sessions have no labels here"),
        ("system: {prompt_caching: {enabled: true}}", "system.prompt_caching", "remove it: TARSy uses the vendors' caches by itself"),
        ("defaults: {compose: {llm_provider: x}}", "defaults.compose", "remove it: the list of actions is not written by a model"),
        ("defaults: {executive_summary_provider: google-default}", "defaults.executive_summary_provider", "write at every chain:\nexecutive_summary_provider: google-default"),
        ("defaults: {executive_summary: {llm_provider: google-default}}", "defaults.executive_summary", "write at every chain:\nexecutive_summary_provider: google-default"),
        (CHAIN.format(agent="", chain=", executive_summary: {llm_provider: google-default}"), "agent_chains.c.executive_summary.llm_provider", "write at agent_chains.c:\nexecutive_summary_provider: google-default"),
        ("defaults: {agents: {WebResearcher: {llm_provider: google-default, fallback_list: mid}}}", "defaults.agents", "write it where the agent is named in a stage:\n- {name: WebResearcher, llm_provider: google-default}"),
        ("defaults: {summarization: {fallback_list: mid}}", "defaults.summarization.fallback_list", "remove it: the fallback_providers of the stage, the chain or defaults apply here too"),
        (CHAIN.format(agent=", type: scoring", chain=""), "agent_chains.c.stages[0].agents[0].type", "define another agent and name it here:\nagents:\n  KubernetesAgent-scoring: {type: scoring}"),
    ],
)  # fmt: skip
def test_a_key_that_other_programs_know_is_answered_with_what_to_write(
    directory: ConfigDirectory, tarsy: str, path: str, remedy: str
) -> None:
    problem = one(directory, tarsy)
    assert (problem.path, problem.remedy) == (path, remedy)


def test_a_named_list_of_fallbacks_is_answered_with_its_entries_and_those_load(directory: ConfigDirectory) -> None:
    problems = directory.problems(f"{LISTS}\ndefaults: {{fallback_list: mid}}")
    remedy = next(problem.remedy for problem in problems if problem.path == "defaults.fallback_list")
    head, *lines = remedy.splitlines()
    assert head == "write instead:"
    assert lines == ["fallback_providers:", "  - {provider: gemini-2.5-pro, backend: google-native}", "  - {provider: openai-default}"]
    indented = "\n".join(f"  {line}" for line in lines)
    assert [entry.provider for entry in directory.load(f"defaults:\n{indented}").config.defaults.fallback_providers or ()] == [
        "gemini-2.5-pro",
        "openai-default",
    ]


def test_a_providers_key_that_other_programs_know_is_answered_too(directory: ConfigDirectory) -> None:
    problem = one(directory, "", "llm_providers: {m: {type: openai, model: m, reasoning_effort: high}}")
    assert problem.remedy == "remove it: TARSy keeps the model's default"


def test_a_key_in_the_wrong_place_is_sent_to_the_right_one_and_not_to_another_key(directory: ConfigDirectory) -> None:
    # `llm_backend` looks alike, and would be wrong.
    problem = one(directory, "agents: {A: {llm_provider: google-default}}")
    assert problem.message == '"llm_provider" is not a key here'
    assert "llm_backend" not in problem.remedy
    assert problem.remedy.startswith("it belongs in defaults, ")


def test_a_key_that_is_there_already_is_not_what_was_meant(directory: ConfigDirectory) -> None:
    problem = one(directory, "queue: {worker_count: 3, worker_counts: 4}")
    assert '"worker_count"?' not in problem.remedy


DOCUMENTS: tuple[type[Section], ...] = (TarsyDocument, ProvidersDocument)
EVERY_KEY = frozenset(key for document in DOCUMENTS for key in key_places(document))
PLACES = sorted({(document, place) for document in DOCUMENTS for places in key_places(document).values() for place in places}, key=str)


def within(place: str, content: dict[str, Any]) -> dict[str, Any]:
    """A document that says `content` in one section, and nothing else."""
    for part in reversed(place.split(".") if place else []):
        content = {part.removesuffix("[]"): [content] if part.endswith("[]") else content}
    return content


def keys_without_effect(document: type[Section], place: str) -> set[str]:
    path = [
        part for name in (place.split(".") if place else []) for part in ((name.removesuffix("[]"), 0) if name.endswith("[]") else (name,))
    ]
    section = section_at(document, tuple(path))
    assert section is not None, place
    return set(section.model_fields) - useful_keys(section)


@pytest.mark.parametrize(("document", "place"), PLACES, ids=str)
def test_no_key_is_ever_mistaken_for_another_that_would_be_wrong_there(
    directory: ConfigDirectory, document: type[Section], place: str
) -> None:
    """Neither a key of another section, rightly written or with its end missing, nor one that has no effect is what is suggested."""
    here = {key for key, places in key_places(document).items() if place in places}
    effective = here - keys_without_effect(document, place)
    other_place = EVERY_KEY - here
    typed = {key[:-1]: key for key in EVERY_KEY if len(key) > 6 and key[:-1] not in EVERY_KEY}
    written = within(place, dict.fromkeys(sorted(other_place | typed.keys()), 1))
    found = directory.problems(written) if document is TarsyDocument else directory.problems("", written)
    for problem in found:
        key = problem.path.rpartition(".")[2]
        suggested = re.search(r'did you mean "(\w+)"', problem.remedy)
        if suggested and problem.message.startswith("unknown key"):
            assert key not in other_place, f"{problem.path}: {problem.remedy}"
            assert suggested[1] in effective, f"{problem.path}: {problem.remedy}"
            assert typed[key] in here, f"{problem.path}: {problem.remedy}"
