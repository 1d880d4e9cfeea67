"""What a case is run with: the installation's chain, on another model, in the case's world, and apart from the installation."""

from pathlib import Path

from support.config_directory import ConfigDirectory
from tarsy.config.resolve.resolver import resolve_chain
from tarsy.demo.chain import SERVER
from tarsy.domain.tool import ToolCalling
from tarsy.evals.cases import SUITE, load_cases, select_cases
from tarsy.evals.chain import chain_for, configuration_digest, with_native_tool_calls
from tarsy.evals.models import scripted_provider
from tarsy.evals.run import isolated
from tarsy.evals.worlds.loading import open_world

(CASE,) = select_cases(load_cases(SUITE), names=["image-tag-missing"])
LEAD = """
system:
  budgets: [{per: day, usd: 1}]
agents:
  Lead: {type: orchestrator, description: Plans, tool_calling: react, sub_agents: [KubernetesAgent, GeneralWorker]}
agent_chains:
  led: {alert_types: [led], stages: [{name: look, agents: [{name: Lead}]}]}
"""


def test_agents_that_are_sent_are_on_the_measured_model_and_in_the_world_too(tmp_path: Path) -> None:
    config = ConfigDirectory(tmp_path).load(LEAD).config
    chain = chain_for(with_native_tool_calls(resolve_chain(config, "led")), CASE, open_world(CASE), scripted_provider("oracle", CASE.name))
    lead, investigations, thinks = chain.stages[0].agents[0].tree
    assert {agent.provider.name for agent in (lead, investigations, thinks)} == {"oracle"}
    assert {agent.tool_calling for agent in (lead, investigations, thinks)} == {ToolCalling.NATIVE}
    assert (lead.mcp_servers, investigations.mcp_servers, thinks.mcp_servers) == ((SERVER,), (SERVER,), ())


def test_the_digest_of_a_configuration_does_not_depend_on_the_model(tmp_path: Path) -> None:
    chain = resolve_chain(ConfigDirectory(tmp_path).load(LEAD).config, "led")
    digests = {
        configuration_digest(chain_for(chain, CASE, open_world(CASE), scripted_provider(script, CASE.name)))
        for script in ("oracle", "naive")
    }
    assert len(digests) == 1


def test_a_run_has_no_part_in_the_budgets_and_traces_of_the_installation(tmp_path: Path) -> None:
    directory = ConfigDirectory(tmp_path)
    directory.env["OTEL_EXPORTER_OTLP_ENDPOINT"] = "http://localhost:4318"
    found = isolated(directory.load(LEAD), jobs=3)
    assert found.config.system.budgets == ()
    assert "OTEL_EXPORTER_OTLP_ENDPOINT" not in found.env
    assert (found.config.queue.worker_count, found.config.queue.max_concurrent_sessions) == (3, 3)
