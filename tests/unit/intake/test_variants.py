"""One chain, many clusters: a label of the alert chooses the tool servers, out of those that the operator allows."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest

from support.config_directory import ConfigDirectory
from tarsy.config.resolve.resolved import ResolvedChain, resolved_server
from tarsy.config.resolve.resolver import resolve_chain, with_variants
from tarsy.domain.alert import Alert, AlertStatus, Severity
from tarsy.intake.investigations import with_labelled_servers
from tarsy.intake.policy import policy_of
from tarsy.wiring.installation import watched_servers

CONFIG = """
mcp_servers:
  kubernetes: {transport: {type: http, url: http://nowhere}}
  kubernetes-eu1: {transport: {type: http, url: http://eu1}}
  kubernetes-us1: {transport: {type: http, url: http://us1}}
  metrics: {transport: {type: http, url: http://metrics}}
agents:
  Look: {mcp_servers: [kubernetes, metrics]}
  Other: {mcp_servers: [metrics]}
agent_chains:
  web: {alert_types: [web], stages: [{name: s, agents: [{name: Look}, {name: Other}]}]}
defaults: {alert_type: web}
routes:
  - name: clusters
    group_by: [cluster, alertname]
    tool_servers: {kubernetes: {label: cluster, variants: {eu1: kubernetes-eu1, us1: kubernetes-us1}}}
"""


@pytest.fixture
def directory(tmp_path: Path) -> ConfigDirectory:
    return ConfigDirectory(tmp_path)


def chosen(directory: ConfigDirectory, labels: Mapping[str, str], *, route: str = "clusters") -> ResolvedChain:
    loaded = directory.load(CONFIG)
    routes = policy_of(loaded.config, loaded.env).routes
    alert = Alert(source="t", fingerprint="f", title="t", severity=Severity.HIGH, status=AlertStatus.FIRING, labels=labels, body="b")
    return with_labelled_servers(resolve_chain(loaded.config, "web"), alert, route, routes, partial(resolved_server, loaded.config))


def test_a_label_chooses_the_variant_for_every_agent_that_has_the_server(directory: ConfigDirectory) -> None:
    chain = chosen(directory, {"cluster": "eu1"})
    assert [agent.mcp_servers for agent in chain.stages[0].agents] == [("kubernetes-eu1", "metrics"), ("metrics",)]
    assert [agent.absent_servers for agent in chain.stages[0].agents] == [{}, {}]
    assert chain.chat
    assert chain.chat.mcp_servers == ("kubernetes-eu1", "metrics")
    assert sorted(chain.mcp_servers) == ["kubernetes-eu1", "metrics"]
    assert chain.mcp_servers["kubernetes-eu1"].transport.url == "http://eu1"


def test_an_unknown_value_is_reported_and_not_guessed(directory: ConfigDirectory) -> None:
    chain = chosen(directory, {"cluster": "eu9"})
    check, other = chain.stages[0].agents
    assert (check.mcp_servers, sorted(chain.mcp_servers)) == (("metrics",), ["metrics"])
    assert check.absent_servers["kubernetes"].startswith(
        'Tool server "kubernetes" was left out: the alert\'s label "cluster" says "eu9", '
        "and it has variants only for eu1 (kubernetes-eu1), us1 (kubernetes-us1). "
    )
    assert other.absent_servers == {}


def test_a_missing_label_is_reported_too(directory: ConfigDirectory) -> None:
    assert 'label "cluster" is missing' in chosen(directory, {}).stages[0].agents[0].absent_servers["kubernetes"]


def test_other_routes_leave_the_chain_as_it_is(directory: ConfigDirectory) -> None:
    chain = chosen(directory, {"cluster": "eu1"}, route="another")
    assert chain == resolve_chain(directory.load(CONFIG).config, "web")


def test_a_snapshot_without_missing_servers_is_one_that_an_older_version_reads(directory: ConfigDirectory) -> None:
    plain, lacking = chosen(directory, {"cluster": "eu1"}), chosen(directory, {})
    assert "absent_servers" not in plain.model_dump_json()
    assert ResolvedChain.model_validate(lacking.model_dump(mode="json")) == lacking


def test_variants_are_watched_and_their_variables_are_checked(directory: ConfigDirectory) -> None:
    assert "kubernetes-us1" in watched_servers(directory.load(CONFIG))
    (problem,) = directory.problems(CONFIG.replace("http://us1", '"{{.US1_URL}}"'))
    assert 'MCP server "kubernetes-us1" is used by chain "web", but the environment variable US1_URL is not set' in problem.message


def test_a_route_that_mixes_places_in_one_incident_is_remarked(directory: ConfigDirectory) -> None:
    (remark,) = [one for one in directory.load(CONFIG.replace("cluster, alertname", "alertname")).warnings if "routes" in one.path]
    assert (remark.path, remark.remedy) == ("routes[0].tool_servers.kubernetes", 'add "cluster" to group_by')
    assert [one for one in directory.load(CONFIG).warnings if "routes" in one.path] == []


def test_a_label_chooses_the_variant_for_agents_that_are_sent_too(directory: ConfigDirectory) -> None:
    chain = with_variants(
        _sending(directory), {"kubernetes": "kubernetes-eu1"}, {}, partial(resolved_server, directory.load(CONFIG).config)
    )
    (sub,) = chain.stages[0].agents[0].sub_agents
    assert sub.mcp_servers == chain.stages[0].agents[0].mcp_servers
    assert "kubernetes" not in chain.mcp_servers


def _sending(directory: ConfigDirectory) -> ResolvedChain:
    chain = resolve_chain(directory.load(CONFIG).config, "web")
    stage = chain.stages[0]
    first = stage.agents[0].model_copy(update={"sub_agents": (stage.agents[0],)})
    return chain.model_copy(update={"stages": (stage.model_copy(update={"agents": (first, *stage.agents[1:])}),)})
