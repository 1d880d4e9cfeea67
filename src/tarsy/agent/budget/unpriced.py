"""Ceilings in US dollars under which the calls of some model are not counted, because its price is not known."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from tarsy.agent.ports import Prices
from tarsy.config.problems import KeyPath
from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedChain
from tarsy.config.resolve.resolver import resolve_chain
from tarsy.config.schema.configuration import Config, NoProviderError
from tarsy.domain.llm import ResolvedProvider

CURE = "give its price under system.cost_estimation.model_rates (with cost estimation enabled), or set a ceiling in tokens"
# Whether there is a price does not depend on the size of the call, only how high it is.
_ANY_SIZE = 1_000


@dataclass(frozen=True, slots=True)
class UnpricedCeiling:
    """A ceiling of the configuration, in words for people, and the models whose calls it does not count."""

    path: KeyPath
    told: str
    models: tuple[str, ...]

    @property
    def message(self) -> str:
        return f"{self.told} does not count calls of {' and '.join(self.models)}, whose price is not known"


async def unpriced_ceilings(config: Config, prices: Prices, at: datetime) -> tuple[UnpricedCeiling, ...]:
    """The ceilings in dollars that cannot be kept: of chains and their parts, and of all sessions in a time."""
    chains = list(_limited_chains(config))
    unknown = {chain.chain_id: await unpriced_models(chain, prices, at) for chain in chains}
    found = [
        UnpricedCeiling(("agent_chains", chain.chain_id), f'the ceiling of chain "{chain.chain_id}" in US dollars', unknown[chain.chain_id])
        for chain in chains
        if limits_dollars(chain)
    ]
    for index, one in enumerate(config.system.budgets):
        covered = [name for chain_id in unknown if _covers(config, one.chain, one.alert_type, chain_id) for name in unknown[chain_id]]
        found.append(UnpricedCeiling(("system", "budgets", index), one.budget.description, tuple(dict.fromkeys(covered))))
    return tuple(one for one in found if one.models)


def _limited_chains(config: Config) -> Iterator[ResolvedChain]:
    """The chains that some ceiling in dollars is for. One without a model is refused before it could cost anything."""
    for chain_id in config.chains:
        try:
            chain = resolve_chain(config, chain_id)
        except NoProviderError:
            continue
        if config.system.budgets or limits_dollars(chain):
            yield chain


def _covers(config: Config, chain: str | None, alert_type: str | None, chain_id: str) -> bool:
    return chain in {None, chain_id} and (alert_type is None or alert_type in config.chains[chain_id].alert_types)


async def unpriced_models(chain: ResolvedChain, prices: Prices, at: datetime) -> tuple[str, ...]:
    """The models that a chain may ask and whose price is not known."""
    asked = {provider.name: provider for provider in _models(chain)}
    return tuple([f"{one.model} ({one.name})" for one in asked.values() if await prices.price(one, at, _ANY_SIZE) is None])


def limits_dollars(chain: ResolvedChain) -> bool:
    """Whether the chain, a stage or an agent of it has a ceiling in dollars."""
    return any(part.budget.usd is not None for part in (chain, *chain.stages, *_agents(chain)))


def unpriced_warning(models: Sequence[str]) -> str:
    """Return the timeline warning of a session that has a ceiling in dollars."""
    return f"A ceiling in dollars does not hold here: calls of {' and '.join(models)}, whose price is not known, are not counted. To have it hold, {CURE}."


def _models(chain: ResolvedChain) -> Iterator[ResolvedProvider]:
    for agent in _agents(chain):
        yield agent.provider
        yield from (fallback.provider for fallback in agent.fallback_providers)
    yield from (server.summarization.provider for server in chain.mcp_servers.values() if server.summarization.provider)


def _agents(chain: ResolvedChain) -> Iterator[ResolvedAgentConfig]:
    for stage in chain.stages:
        yield from (agent for top in stage.agents for agent in top.tree)
        if stage.synthesis:
            yield stage.synthesis
    yield from (agent for agent in (chain.executive_summary, chain.chat, chain.scoring) if agent)
