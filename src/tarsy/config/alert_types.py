"""Which chain answers which alert: a type belongs to one chain, and a built-in chain steps back for the user's. Pure module."""

from collections.abc import Iterator
from typing import Any

from tarsy.config import builtins
from tarsy.config.problems import Problem
from tarsy.config.source import Source


def duplicate_alert_types(data: dict[str, Any], source: Source) -> Iterator[Problem]:
    """Alert types that more than one chain claims, or one chain twice."""
    owners: dict[str, str] = {}
    for chain_id, index, alert_type in _claims(data):
        if alert_type in owners:
            path = ("agent_chains", chain_id, "alert_types", index)
            yield source.problem(path, f'alert type "{alert_type}" already belongs to chain "{owners[alert_type]}"', "keep it in one chain")
        owners.setdefault(alert_type, chain_id)


def yield_alert_types(data: dict[str, Any], source: Source) -> None:
    """Take from the built-in chains what the user's chains claim; a chain that is left without any goes."""
    chains = data.get("agent_chains")
    if not isinstance(chains, dict):
        return
    untouched = [chain_id for chain_id in builtins.CHAINS if not source.holds(("agent_chains", chain_id))]
    claimed = {alert_type for chain_id, _, alert_type in _claims(data) if chain_id not in untouched}
    for chain_id in untouched:
        left = [alert_type for alert_type in builtins.CHAINS[chain_id]["alert_types"] if alert_type not in claimed]
        if left:
            chains[chain_id] = {**chains[chain_id], "alert_types": left}
        else:
            del chains[chain_id]


def _claims(data: dict[str, Any]) -> Iterator[tuple[str, int, str]]:
    chains: Any = data.get("agent_chains")
    for chain_id, chain in chains.items() if isinstance(chains, dict) else ():
        alert_types: Any = chain.get("alert_types") if isinstance(chain, dict) else None
        for index, alert_type in enumerate(alert_types if isinstance(alert_types, list) else ()):
            if isinstance(alert_type, str):
                yield chain_id, index, alert_type
