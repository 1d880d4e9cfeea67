"""`iteration_strategy` is answered with the lines to write instead, and those lines load."""

import pytest

from support.config_directory import ConfigDirectory
from tarsy.config.resolve.resolver import resolve_chain
from tarsy.domain.execution import AgentType
from tarsy.domain.llm import LLMBackend
from tarsy.domain.tool import ToolCalling

STRATEGIES = ("react", "native-thinking", "langchain", "synthesis", "synthesis-native-thinking", "scoring", "scoring-native-thinking")
# Every level where the key used to stand; @ marks its place.
FILE = """\
defaults:
  llm_provider: google-default
  {defaults}
  scoring:
    enabled: true
    {defaults_scoring}
agents:
  Old:
    description: from an older file
    {agent}
agent_chains:
  c:
    alert_types: [t]
    {chain}
    stages:
      - name: s
        agents:
          - name: KubernetesAgent
            {stage_agent}
          - name: ChatAgent
        synthesis:
          agent: SynthesisAgent
          {synthesis}
    chat:
      agent: ChatAgent
      {chat}
    scoring:
      enabled: true
      {scoring}
"""
PLACES = ("defaults", "defaults_scoring", "agent", "chain", "stage_agent", "synthesis", "chat", "scoring")


def file_with(lines: dict[str, list[str]]) -> str:
    written = FILE
    for place in PLACES:
        line = next(line for line in FILE.splitlines() if line.strip() == f"{{{place}}}")
        indent = " " * (len(line) - len(line.lstrip()))
        written = written.replace(line + "\n", "".join(f"{indent}{new}\n" for new in lines.get(place, [])))
    return written


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_replacement_can_be_pasted_back(directory: ConfigDirectory, strategy: str, place: str) -> None:
    (problem,) = directory.problems(file_with({place: [f"iteration_strategy: {strategy}"]}))
    assert problem.line > 0
    assert problem.path.endswith(".iteration_strategy")
    heading, *lines = problem.remedy.splitlines()
    assert heading == "write instead:"
    assert lines
    config = directory.load(file_with({place: lines})).config
    assert resolve_chain(config, "c")


@pytest.mark.parametrize(
    ("strategy", "kind", "backend", "call_format"),
    [
        ("react", AgentType.DEFAULT, None, ToolCalling.REACT),
        ("native-thinking", AgentType.DEFAULT, LLMBackend.NATIVE_GEMINI, None),
        ("langchain", AgentType.DEFAULT, LLMBackend.LANGCHAIN, None),
        ("synthesis", AgentType.SYNTHESIS, LLMBackend.LANGCHAIN, None),
        ("synthesis-native-thinking", AgentType.SYNTHESIS, LLMBackend.NATIVE_GEMINI, None),
        ("scoring", AgentType.SCORING, LLMBackend.LANGCHAIN, None),
        ("scoring-native-thinking", AgentType.SCORING, LLMBackend.NATIVE_GEMINI, None),
    ],
)
def test_the_replacement_in_an_agents_definition_means_the_same(
    directory: ConfigDirectory, strategy: str, kind: AgentType, backend: LLMBackend | None, call_format: ToolCalling | None
) -> None:
    (problem,) = directory.problems(file_with({"agent": [f"iteration_strategy: {strategy}"]}))
    agent = directory.load(file_with({"agent": problem.remedy.splitlines()[1:]})).config.agents["Old"]
    assert (agent.type, agent.llm_backend, agent.tool_calling) == (kind, backend, call_format)


def test_all_levels_are_reported_in_one_run(directory: ConfigDirectory) -> None:
    problems = directory.problems(file_with({place: ["iteration_strategy: react"] for place in PLACES}))
    assert len(problems) == len(PLACES)


def test_a_level_that_never_chose_a_strategy_is_advised_to_drop_it(directory: ConfigDirectory) -> None:
    (problem,) = directory.problems("queue: {iteration_strategy: react}")
    assert problem.remedy.startswith("remove it")


def test_a_strategy_that_never_was_is_met_with_a_guess(directory: ConfigDirectory) -> None:
    (problem,) = directory.problems("defaults: {iteration_strategy: native-thinkin}")
    assert 'did you mean "native-thinking"?' in problem.remedy
