"""Agents and stages that act: where they may stand, and under which policy they work."""

import pytest

from support.config_directory import ConfigDirectory
from tarsy.config.resolve.resolved import ResolvedChain
from tarsy.config.resolve.resolver import resolve_chain
from tarsy.config.schema.selection import McpSelection
from tarsy.domain.execution import AgentType
from tarsy.domain.tool import ApprovalPolicy
from tarsy.domain.verdict import Confidence

# As a configuration of the Go version has it.
CHAIN = """
defaults: {{llm_provider: google-default, llm_backend: google-native}}
mcp_servers:
  cluster: {{transport: {{type: stdio, command: mock}}{server}}}
  logs: {{transport: {{type: stdio, command: mock}}, approval: destructive}}
agents:
  Investigator: {{mcp_servers: [logs], custom_instructions: Gather evidence.}}
  Remediator: {{type: action, mcp_servers: [cluster, logs], custom_instructions: Execute justified remediation.}}
agent_chains:
  c:
    alert_types: [t]
    executive_summary_provider: google-default
    stages: [{stages}]
"""
LOOK, ACT = "{name: look, agents: [{name: Investigator}]}", "{name: act, agents: [{name: Remediator}]}"


def resolved(directory: ConfigDirectory, stages: str = f"{LOOK}, {ACT}", *, server: str = "", selection: str = "") -> ResolvedChain:
    config = directory.load(CHAIN.format(stages=stages, server=server)).config
    chosen = McpSelection.model_validate({"servers": [{"name": name} for name in selection.split()]}) if selection else None
    return resolve_chain(config, "c", chosen)


def test_a_stage_that_acts_needs_high_confidence_and_approval_of_every_call_unless_the_server_has_a_policy(
    directory: ConfigDirectory,
) -> None:
    chain = resolved(directory)
    (act,) = chain.acting
    assert (act.agents[0].type, act.min_confidence, act.agents[0].dry_run) == (AgentType.ACTION, Confidence.HIGH, False)
    assert chain.mcp_servers["cluster"].for_actions.approval is ApprovalPolicy.ALWAYS
    # Chosen, though it is the default for others.
    assert chain.mcp_servers["logs"].for_actions.approval is ApprovalPolicy.DESTRUCTIVE
    assert chain.chat is not None
    assert chain.chat.mcp_servers == ("logs",)
    assert ResolvedChain.model_validate(chain.model_dump(mode="json")) == chain
    assert resolved(directory, server=", approval: never").mcp_servers["cluster"].for_actions.approval is ApprovalPolicy.NEVER


def test_nothing_acts_unless_it_is_configured(directory: ConfigDirectory) -> None:
    config = directory.load().config
    assert config.chains
    assert [chain_id for chain_id in config.chains if resolve_chain(config, chain_id, None).acting] == []


def test_a_stage_may_ask_for_less_or_only_show_what_it_would_do(directory: ConfigDirectory) -> None:
    (act,) = resolved(directory, f"{LOOK}, {{name: act, agents: [{{name: Remediator}}], min_confidence: medium, dry_run: true}}").acting
    assert (act.min_confidence, act.agents[0].dry_run) == (Confidence.MEDIUM, True)


def test_an_alert_can_take_tool_servers_from_an_agent_that_acts_and_give_it_none(directory: ConfigDirectory) -> None:
    chain = resolved(directory, selection="logs kubernetes-server")
    assert chain.acting[0].agents[0].mcp_servers == ("logs",)
    assert chain.investigating[0].agents[0].mcp_servers == ("logs", "kubernetes-server")


@pytest.mark.parametrize(
    ("stages", "path", "message"),
    [
        (f"{ACT}, {LOOK}", "agent_chains.c.stages[0]", "no stage before it investigates"),
        (f"{LOOK}, {ACT}, {LOOK}", "agent_chains.c.stages[2]", "investigates after a stage that acts"),
        (f"{LOOK}, {{name: act, replicas: 2, agents: [{{name: Remediator}}]}}", "agent_chains.c.stages[1]", "more than one agent"),
        (
            f"{LOOK}, {{name: act, agents: [{{name: Remediator}}, {{name: Investigator}}]}}",
            "agent_chains.c.stages[1]",
            "more than one agent",
        ),
        ("{name: look, dry_run: true, agents: [{name: Investigator}]}", "agent_chains.c.stages[0].dry_run", "has no meaning"),
    ],
)
def test_a_stage_that_acts_stands_alone_and_after_the_analysis(directory: ConfigDirectory, stages: str, path: str, message: str) -> None:
    problem = next(one for one in directory.problems(CHAIN.format(stages=stages, server="")) if one.path == path)
    assert message in problem.message


def test_an_agent_that_acts_is_sent_by_no_other_and_answers_no_questions(directory: ConfigDirectory) -> None:
    sent = "{name: look, agents: [{name: Investigator, sub_agents: [Remediator]}]}"
    (problem,) = directory.problems(CHAIN.format(stages=sent, server=""))
    assert "has type action and cannot be sent by another" in problem.message
    asked = CHAIN.format(stages=LOOK, server="") + "    chat: {agent: Remediator}\n"
    (problem,) = directory.problems(asked)
    assert "has type action and cannot hold a conversation" in problem.message
