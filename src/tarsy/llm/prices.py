"""The price list: what the operator says, then what is known of vendors' prices (`genai-prices`, bundled, asked offline)."""

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from functools import lru_cache

from genai_prices.data_snapshot import get_snapshot
from genai_prices.types import ModelInfo, ModelPrice, TieredPrices

from tarsy.config.schema.budget import CostEstimationConfig, Rate
from tarsy.config.schema.providers import is_local
from tarsy.config.templates import MissingVariableError, expand
from tarsy.domain.llm import ProviderType, ResolvedProvider
from tarsy.domain.usage import FREE, Price

# As the catalogue calls them; a recording is no vendor.
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

    async def price(self, provider: ResolvedProvider, at: datetime, input_tokens: int) -> Price | None:
        """What a call of this size costs per token at that moment; None when it is not known."""
        if not self._config.enabled:
            return None
        if own := self._own(provider.model, at):
            return own
        address = self._address(provider)
        if provider.type is ProviderType.REPLAY or (address and is_local(address, self._env)):
            return FREE
        return _known_price(provider, address, at, input_tokens)

    def _own(self, model: str, at: datetime) -> Price | None:
        for promotion in self._config.promotions:
            if promotion.model == model and promotion.holds(at):
                return _price(promotion)
        rate = self._config.model_rates.get(model)
        return _price(rate) if rate else None

    def _address(self, provider: ResolvedProvider) -> str | None:
        if provider.base_url is None:
            return None
        # An address that cannot be made out is not the vendor's own either.
        with suppress(MissingVariableError):
            return expand(provider.base_url, self._env)
        return provider.base_url


def _price(rate: Rate) -> Price:
    cached = rate.input_per_million if rate.cached_input_per_million is None else rate.cached_input_per_million
    return Price(rate.input_per_million, cached, rate.output_per_million)


def _known_price(provider: ResolvedProvider, address: str | None, at: datetime, input_tokens: int) -> Price | None:
    model = _listed(provider.model, None if address else _VENDORS.get(provider.type), address)
    return _at_size(model.get_prices(at), input_tokens) if model else None


# As many as an installation uses, and then some: looking through the catalogue costs as much as storing a step.
@lru_cache(maxsize=128)
def _listed(name: str, vendor: str | None, address: str | None) -> ModelInfo | None:
    """A model's entry in the catalogue."""
    try:
        return get_snapshot().find_provider_model(name, None, vendor, address)[1]
    except LookupError:
        return None


def _at_size(prices: ModelPrice, input_tokens: int) -> Price | None:
    given, made = _tier(prices.input_mtok, input_tokens), _tier(prices.output_mtok, input_tokens)
    cached = _tier(prices.cache_read_mtok, input_tokens)
    if given is None or made is None:
        return None
    return Price(given, given if cached is None else cached, made)


def _tier(price: Decimal | TieredPrices | None, input_tokens: int) -> Decimal | None:
    """The price that holds for a call of this size: beyond a threshold some vendors ask more for every token of the call."""
    if price is None or isinstance(price, Decimal):
        return price
    reached = [tier.price for tier in price.tiers if input_tokens > tier.start]
    return reached[-1] if reached else price.base
