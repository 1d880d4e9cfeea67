"""The price list: the operator's own rates, then the vendors' prices in `genai-prices`, which is bundled and read offline."""

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from decimal import Decimal

from genai_prices.data_snapshot import get_snapshot
from genai_prices.types import TieredPrices

from tarsy.config.schema.budget import CostEstimationConfig, Rate
from tarsy.config.schema.providers import is_local
from tarsy.config.templates import MissingVariableError, expand
from tarsy.domain.llm import ProviderType, ResolvedProvider
from tarsy.domain.usage import FREE, Price

# The catalogue's names; a recording has no vendor.
_VENDORS = {
    ProviderType.GOOGLE: "google",
    ProviderType.OPENAI: "openai",
    ProviderType.ANTHROPIC: "anthropic",
    ProviderType.XAI: "x-ai",
    ProviderType.VERTEXAI: "google-vertex",
}


class PriceList:
    def __init__(self, config: CostEstimationConfig, env: Mapping[str, str]) -> None:
        self._config = config
        self._env = env
        if config.enabled:
            # Loads the catalogue, which takes half a second: better now than between two steps.
            get_snapshot()

    async def price(self, provider: ResolvedProvider, at: datetime, input_tokens: int) -> Price | None:
        """Return the price per token of a call of this size at that time, or None if it is not known."""
        if not self._config.enabled:
            return None
        promotions = (each for each in self._config.promotions if each.model == provider.model and each.holds(at))
        rate: Rate | None = next(promotions, None) or self._config.model_rates.get(provider.model)
        if rate is not None:
            cached = rate.input_per_million if rate.cached_input_per_million is None else rate.cached_input_per_million
            return Price(rate.input_per_million, cached, rate.output_per_million)
        address = provider.base_url
        if address is not None:
            # An address with an unknown variable is not the vendor's own either.
            with suppress(MissingVariableError):
                address = expand(address, self._env)
        if provider.type is ProviderType.REPLAY or (address and is_local(address, self._env)):
            return FREE
        try:
            vendor = None if address else _VENDORS.get(provider.type)
            _, model = get_snapshot().find_provider_model(provider.model, None, vendor, address)
        except LookupError:
            return None
        prices = model.get_prices(at)
        given, made = _tier(prices.input_mtok, input_tokens), _tier(prices.output_mtok, input_tokens)
        cached = _tier(prices.cache_read_mtok, input_tokens)
        if given is None or made is None:
            return None
        return Price(given, given if cached is None else cached, made)


def _tier(price: Decimal | TieredPrices | None, input_tokens: int) -> Decimal | None:
    """Return the price for a call of this size: above a threshold, some vendors charge more for every token of the call."""
    if price is None or isinstance(price, Decimal):
        return price
    reached = [tier.price for tier in price.tiers if input_tokens > tier.start]
    return reached[-1] if reached else price.base
