"""Prices: the operator's word first, then what is known of vendors, and nothing where nothing is known."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from tarsy.config.schema.budget import CostEstimationConfig
from tarsy.config.schema.providers import is_local
from tarsy.domain.llm import ProviderType, ResolvedProvider
from tarsy.domain.usage import FREE, Price
from tarsy.llm.prices import PriceList

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


async def price(provider: ResolvedProvider, at: datetime = AT, tokens: int = 1000, **config: Any) -> Price | None:
    return await PriceList(CostEstimationConfig.model_validate(config), {"WHERE": "http://gpu.internal:8000"}).price(provider, at, tokens)


def priced_like(model: ResolvedProvider, **config: Any) -> str | None:
    return PriceList(CostEstimationConfig.model_validate(config), {}).priced_like(model, AT)


def provider(kind: ProviderType = ProviderType.OPENAI, model: str = "gpt-5.2", **more: Any) -> ResolvedProvider:
    return ResolvedProvider(name="p", type=kind, model=model, **more)


async def test_prices_of_vendors_are_known_without_asking_them() -> None:
    found = await price(provider())
    assert found is not None
    assert 0 < found.cached_input < found.input < found.output


@pytest.mark.parametrize(
    ("kind", "model"),
    [
        (ProviderType.GOOGLE, "gemini-2.5-flash"),
        (ProviderType.ANTHROPIC, "claude-sonnet-5"),
        (ProviderType.XAI, "grok-4.6"),
        (ProviderType.VERTEXAI, "claude-sonnet-5"),
    ],
)
async def test_every_vendor_that_is_built_in_has_prices(kind: ProviderType, model: str) -> None:
    assert await price(provider(kind, model)) is not None


async def test_a_large_call_costs_what_the_vendor_asks_for_large_calls() -> None:
    gemini = provider(ProviderType.GOOGLE, "gemini-2.5-pro")
    small, large = await price(gemini, tokens=200_000), await price(gemini, tokens=200_001)
    assert small is not None
    assert large is not None
    assert large.input == 2 * small.input


async def test_a_model_that_no_list_knows_has_no_price() -> None:
    assert await price(provider(model="my-own-finetune-7b")) is None
    assert await price(provider(model="my-own-finetune-7b", base_url="https://models.example.com/v1")) is None


@pytest.mark.parametrize("address", ["http://litellm:4000", "{{.WHERE}}/v1", "https://models.example.com/v1"])
@pytest.mark.parametrize(
    ("model", "vendor", "like"),
    [
        ("gpt-5.2", ProviderType.OPENAI, "OpenAI gpt-5.2"),
        ("anthropic/claude-sonnet-5", ProviderType.ANTHROPIC, "Anthropic claude-sonnet-5"),
    ],
)
async def test_a_vendors_model_behind_another_address_has_the_vendors_price_unless_it_is_free(
    model: str, vendor: ProviderType, like: str, address: str
) -> None:
    behind, sold = provider(model=model, base_url=address), provider(vendor, model.rpartition("/")[2])
    assert (await price(behind)) == (await price(sold)) != FREE
    assert priced_like(behind) == like
    assert await price(behind.model_copy(update={"free": True})) == FREE
    assert priced_like(behind.model_copy(update={"free": True})) is None
    assert priced_like(behind, model_rates={model: {"input_per_million": 1, "output_per_million": 4}}) is None
    assert priced_like(behind, enabled=False) is priced_like(sold) is None


@pytest.mark.parametrize("model", ["llama3.1:8b", "qwen3:32b", "gpt-oss:20b", "openai/gpt-oss-120b", "gemma-3-27b-it", "mistral"])
async def test_open_models_in_ones_own_network_cost_nothing(model: str) -> None:
    own = provider(model=model, base_url="http://vllm:8000/v1")
    assert await price(own) == FREE
    assert priced_like(own) is None


async def test_a_model_of_ones_own_and_a_recording_cost_nothing() -> None:
    assert await price(provider(model="llama", base_url="http://localhost:11434/v1")) == FREE
    assert await price(provider(model="llama", base_url="{{.WHERE}}/v1")) == FREE
    assert await price(provider(ProviderType.REPLAY, "gpt-5.2")) == FREE


async def test_the_operators_rates_come_first_and_promotions_before_them() -> None:
    rates = {"gpt-5.2": {"input_per_million": 1, "output_per_million": 4}}
    sale = {"id": "sale", "model": "gpt-5.2", "start": "2026-02-01", "end": "2026-03-02", "input_per_million": 0.5, "output_per_million": 2}
    own = Price(Decimal(1), Decimal(1), Decimal(4))
    assert await price(provider(), model_rates=rates) == own
    reduced = await price(provider(), model_rates=rates, promotions=[sale])
    assert reduced == Price(Decimal("0.5"), Decimal("0.5"), Decimal(2))
    assert await price(provider(), datetime(2026, 3, 2, tzinfo=UTC), model_rates=rates, promotions=[sale]) == own
    local = provider(base_url="http://localhost:1")
    assert await price(local, model_rates=rates) == own


async def test_nothing_is_estimated_where_it_is_switched_off() -> None:
    assert await price(provider(), enabled=False) is None


@pytest.mark.parametrize(
    ("address", "local"),
    [
        ("http://127.0.0.1:8000", True),
        ("http://10.1.2.3/v1", True),
        ("http://[::1]:1", True),
        ("http://vllm:8000", True),
        ("http://vllm.models.svc.cluster.local", True),
        ("https://api.openai.com/v1", False),
        ("https://8.8.8.8", False),
    ],
)
def test_an_address_of_ones_own_network_is_recognised(address: str, local: bool) -> None:  # noqa: FBT001 - a parameter of the test
    assert is_local(address, {}) is local
