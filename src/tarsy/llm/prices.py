"""The price list: the operator's own rates, then the vendors' prices in `genai-prices`, which is bundled and read offline.

A model with the name of a vendor's model at another address is probably that vendor's, behind a gateway: it has the vendor's price.
"""

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from decimal import Decimal

from genai_prices.data_snapshot import get_snapshot
from genai_prices.types import ModelInfo, TieredPrices

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
# Vendors by whose names models at other addresses are priced: first those who make a model, because others resell it.
_MAKERS = {"openai": "OpenAI", "anthropic": "Anthropic", "google": "Google", "x-ai": "xAI"}
# In the catalogue as OpenAI's, but anyone may run it.
_OPEN_WEIGHTS = "gpt-oss"


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
        if provider.type is ProviderType.REPLAY or provider.free:
            return FREE
        address = self._address(provider)
        model = _listed(provider, address)
        if model is None and address and (same_name := _vendor_model_named(provider.model, at)):
            _, model = same_name
        price = _price_of(model, at, input_tokens) if model else None
        return FREE if price is None and address and is_local(address, self._env) else price

    def priced_like(self, provider: ResolvedProvider, at: datetime) -> str | None:
        """Return the vendor's model that a model at another address is priced as because it has the same name; None if there is none."""
        if not self._config.enabled or provider.free or provider.model in self._config.model_rates:
            return None
        address = self._address(provider)
        same_name = _vendor_model_named(provider.model, at) if address and _listed(provider, address) is None else None
        return f"{same_name[0]} {same_name[1].id}" if same_name else None

    def _address(self, provider: ResolvedProvider) -> str | None:
        if provider.base_url is None:
            return None
        # An address with an unknown variable is not the vendor's own either.
        with suppress(MissingVariableError):
            return expand(provider.base_url, self._env)
        return provider.base_url


def _listed(provider: ResolvedProvider, address: str | None) -> ModelInfo | None:
    """Return a model as its vendor, or the service at that address, offers it."""
    with suppress(LookupError):
        return get_snapshot().find_provider_model(provider.model, None, None if address else _VENDORS.get(provider.type), address)[1]
    return None


def _vendor_model_named(model: str, at: datetime) -> tuple[str, ModelInfo] | None:
    """Return the vendor that sells a model of that name, and the model. Gateways put the vendor's name before it, as in `openai/gpt-5.2`."""
    name = model.rpartition("/")[2]
    for vendor, title in () if name.startswith(_OPEN_WEIGHTS) else _MAKERS.items():
        with suppress(LookupError):
            _, found = get_snapshot().find_provider_model(name, None, vendor, None)
            return (title, found) if _price_of(found, at, 0) else None
    return None


def _price_of(model: ModelInfo, at: datetime, input_tokens: int) -> Price | None:
    prices = model.get_prices(at)
    input_price, output_price = _tier(prices.input_mtok, input_tokens), _tier(prices.output_mtok, input_tokens)
    cached = _tier(prices.cache_read_mtok, input_tokens)
    if input_price is None or output_price is None:
        return None
    return Price(input_price, input_price if cached is None else cached, output_price)


def _tier(price: Decimal | TieredPrices | None, input_tokens: int) -> Decimal | None:
    """Return the price for a call of this size: above a threshold, some vendors charge more for every token of the call."""
    if price is None or isinstance(price, Decimal):
        return price
    reached = [tier.price for tier in price.tiers if input_tokens > tier.start]
    return reached[-1] if reached else price.base
