"""Ceilings in US dollars that cannot be enforced, because the price of a model is not known."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from tarsy.agent.ports import Prices
from tarsy.config.problems import KeyPath
from tarsy.config.resolve.resolved import ResolvedChain
from tarsy.config.resolve.resolver import resolve_chain
from tarsy.config.schema.configuration import Config, NoProviderError

REMEDY = "give its price under system.cost_estimation.model_rates (with cost estimation enabled), or set a ceiling in tokens"
# Whether there is a price does not depend on the size of the call, only how high it is.
_ANY_SIZE = 1_000


@dataclass(frozen=True, slots=True)
class UnpricedCeiling:
    """A configured ceiling, and the models whose calls it does not count."""

    path: KeyPath
    description: str
    models: tuple[str, ...]

    @property
    def message(self) -> str:
        return f"{self.description} does not count calls of {' and '.join(self.models)}, whose price is not known"


async def unpriced_ceilings(config: Config, prices: Prices, at: datetime) -> tuple[UnpricedCeiling, ...]:
    """Return the ceilings in dollars that cannot be enforced: of chains and their parts, and of all sessions in a period."""
    chains: list[ResolvedChain] = []
    for chain_id in config.chains:
        # A chain without a model is refused before it could cost anything.
        with suppress(NoProviderError):
            chains.append(resolve_chain(config, chain_id))
    chains = [chain for chain in chains if config.system.budgets or limits_dollars(chain)]
    unknown = {chain.chain_id: await unpriced_models(chain, prices, at) for chain in chains}
    found = [
        UnpricedCeiling(("agent_chains", chain.chain_id), f'the ceiling of chain "{chain.chain_id}" in US dollars', unknown[chain.chain_id])
        for chain in chains
        if limits_dollars(chain)
    ]
    for index, one in enumerate(config.system.budgets):
        covered = [
            name
            for chain_id in unknown
            if one.chain in {None, chain_id} and (one.alert_type is None or one.alert_type in config.chains[chain_id].alert_types)
            for name in unknown[chain_id]
        ]
        found.append(UnpricedCeiling(("system", "budgets", index), one.budget.description, tuple(dict.fromkeys(covered))))
    return tuple(one for one in found if one.models)


async def unpriced_models(chain: ResolvedChain, prices: Prices, at: datetime) -> tuple[str, ...]:
    """Return the models that a chain may call and whose price is not known."""
    models = [model for agent in chain.agents for model in (agent.provider, *(one.provider for one in agent.fallback_providers))]
    models += (agent.judge.provider for agent in chain.agents if agent.judge and agent.judge.provider)
    models += (server.summarization.provider for server in chain.mcp_servers.values() if server.summarization.provider)
    asked = {provider.name: provider for provider in models}
    return tuple([f"{one.model} ({one.name})" for one in asked.values() if await prices.price(one, at, _ANY_SIZE) is None])


def limits_dollars(chain: ResolvedChain) -> bool:
    """Whether the chain, a stage or an agent of it has a ceiling in dollars."""
    return any(part.budget.usd is not None for part in (chain, *chain.stages, *chain.agents))


def unpriced_warning(models: Sequence[str]) -> str:
    """Return the timeline warning of a session that has a ceiling in dollars."""
    return f"A ceiling in dollars does not hold here: calls of {' and '.join(models)}, whose price is not known, are not counted. To have it hold, {REMEDY}."
