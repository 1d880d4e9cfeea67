"""Rules about the chains and servers as they are written: whose an alert type or a name is, and what may be repeated. Pure module.

They look at the parsed data, not at the models, so that a mistake elsewhere in an entry does not hide one of these.
"""

from collections.abc import Iterator
from typing import Any

from tarsy.config.load.source import Source
from tarsy.config.parsed_data import listing_at, mapping, mapping_at
from tarsy.config.problems import Problem
from tarsy.config.schema import builtins
from tarsy.config.schema.values import as_text
from tarsy.domain.tool import BUILT_IN_SERVER


def duplicate_alert_types(data: dict[str, Any], source: Source) -> Iterator[Problem]:
    """Alert types that more than one chain claims, or one chain twice."""
    owners: dict[str, str] = {}
    for chain_id, index, alert_type in _claims(data):
        if alert_type in owners:
            path = ("agent_chains", chain_id, "alert_types", index)
            yield source.problem(path, f'alert type "{alert_type}" already belongs to chain "{owners[alert_type]}"', "keep it in one chain")
        owners.setdefault(alert_type, chain_id)


def misused_replicas(data: dict[str, Any], source: Source) -> Iterator[Problem]:
    """Stages that repeat more than one agent."""
    for chain_id, chain in mapping_at(data, "agent_chains").items():
        for index, stage in enumerate(listing_at(chain, "stages")):
            agents = listing_at(stage, "agents")
            replicas = (mapping(stage) or {}).get("replicas")
            if len(agents) > 1 and isinstance(replicas, int) and replicas > 1:
                path = ("agent_chains", chain_id, "stages", index, "replicas")
                cure = "keep one agent, or list each one as often as it should run"
                yield source.problem(path, f"replicas repeat one agent, but this stage has {len(agents)}", cure)


def reserved_servers(data: dict[str, Any], source: Source) -> Iterator[Problem]:
    """A tool server with the name under which TARSy's own tools stand: its answers would be taken for ours."""
    if BUILT_IN_SERVER in mapping_at(data, "mcp_servers"):
        path = ("mcp_servers", BUILT_IN_SERVER)
        yield source.problem(path, f'"{BUILT_IN_SERVER}" is the name of the built-in tools', "give the server another name")


def yield_alert_types(data: dict[str, Any], source: Source) -> None:
    """Take from the built-in chains what the user's chains claim; a chain that is left without any goes."""
    chains = mapping_at(data, "agent_chains")
    untouched = [chain_id for chain_id in builtins.CHAINS if chain_id in chains and not source.holds(("agent_chains", chain_id))]
    claimed = {alert_type for chain_id, _, alert_type in _claims(data) if chain_id not in untouched}
    for chain_id in untouched:
        left = [alert_type for alert_type in builtins.CHAINS[chain_id]["alert_types"] if alert_type not in claimed]
        if left:
            chains[chain_id] = {**chains[chain_id], "alert_types": left}
        else:
            del chains[chain_id]


def _claims(data: dict[str, Any]) -> Iterator[tuple[str, int, str]]:
    for chain_id, chain in mapping_at(data, "agent_chains").items():
        for index, alert_type in enumerate(listing_at(chain, "alert_types")):
            # `[503]` is read as a number, and taken as the text it looks like.
            if isinstance(alert_type, str | int | float):
                yield chain_id, index, as_text(alert_type)
