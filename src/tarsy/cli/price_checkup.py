"""Whether ceilings in US dollars can be kept: only where the prices of the models are known."""

from collections.abc import Sequence
from datetime import UTC, datetime

from tarsy.agent.ceilings.unpriced import CURE, unpriced_ceilings
from tarsy.config.load.loader import LoadedConfig, tarsy_source
from tarsy.config.problems import Problem
from tarsy.llm.prices import PriceList


async def price_remarks(loaded: LoadedConfig) -> Sequence[Problem]:
    """A remark for each ceiling that does not count calls of some model."""
    prices = PriceList(loaded.config.system.cost_estimation, loaded.env)
    found = await unpriced_ceilings(loaded.config, prices, datetime.now(UTC))
    source = tarsy_source(loaded.directory) if found else None
    return [source.problem(one.path, one.message, CURE) for one in found] if source else []
