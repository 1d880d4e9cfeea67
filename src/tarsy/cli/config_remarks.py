"""Remarks about a configuration that can be used: `tarsy config check` and `tarsy doctor` print them."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import assert_never

from tarsy.agent.budget.unpriced import REMEDY, unpriced_ceilings
from tarsy.api.tokens import TokenSettingError, read_tokens
from tarsy.config.load.loader import LoadedConfig, providers_source, tarsy_source
from tarsy.config.problems import Problem
from tarsy.config.resolve.resolved import resolved_provider
from tarsy.domain.tool import HOW_TO_ALLOW, ApprovalPolicy
from tarsy.llm.prices import PriceList
from tarsy.settings import API_TOKENS


def approval_remarks(loaded: LoadedConfig) -> Sequence[Problem]:
    """Return a remark for each tool server whose tools may need an approval; only the server itself knows which: the doctor asks it."""
    source = tarsy_source(loaded.directory)
    found: list[Problem] = []
    for name, server in loaded.config.mcp_servers.items():
        path = ("mcp_servers", name, "approval")
        match server.approval:
            case ApprovalPolicy.NEVER:
                continue
            case ApprovalPolicy.DESTRUCTIVE:
                # The built-in servers only read.
                if server.tools is not None or not source.holds(path[:2]):
                    continue
                tools = "calls of tools that may destroy something"
            case ApprovalPolicy.UNLESS_READ_ONLY:
                tools = "calls of tools that do not declare readOnlyHint"
            case ApprovalPolicy.ALWAYS:
                tools = "calls of all tools"
            case _:
                assert_never(server.approval)
        message = f"{tools} need a person's approval (approval: {server.approval})"
        found.append(
            source.problem(path, message, f"`tarsy doctor` lists the tools; to let agents call one without asking, {HOW_TO_ALLOW}")
        )
    return found


async def price_remarks(loaded: LoadedConfig) -> Sequence[Problem]:
    """Return a remark for each ceiling that does not count the calls of some model, because its price is unknown."""
    prices = PriceList(loaded.config.system.cost_estimation, loaded.env)
    found = await unpriced_ceilings(loaded.config, prices, datetime.now(UTC))
    source = tarsy_source(loaded.directory) if found else None
    return [source.problem(one.path, one.message, REMEDY) for one in found] if source else []


def namesake_remarks(loaded: LoadedConfig) -> Sequence[Problem]:
    """Return a remark for each configured model that is priced by its name alone: it may be the vendor's behind a gateway, or cost nothing."""
    prices, source = PriceList(loaded.config.system.cost_estimation, loaded.env), providers_source(loaded.directory)
    remedy = "give its own price under system.cost_estimation.model_rates, or set `free: true`"
    return [
        source.problem(("llm_providers", name, "model"), f"at an address that is not the vendor's, it is priced like {namesake}", remedy)
        for name, provider in loaded.config.llm_providers.items()
        if (namesake := prices.priced_like(resolved_provider(name, provider), datetime.now(UTC)))
    ]


def token_remarks(setting: str | None) -> Sequence[Problem]:
    """Return a remark for each token of the environment that names no role, or one if the setting cannot be read."""
    try:
        tokens = read_tokens(setting)
    except TokenSettingError as error:
        return [Problem(API_TOKENS, 0, "", str(error))]
    message = "{} has no role: it is a responder's token that may also erase sessions and change the configuration, which will end"
    remedy = "write {0}:admin=… or {0}:responder=…"
    return [Problem(API_TOKENS, 0, "", message.format(name), remedy.format(name)) for name in tokens.by_name if name not in tokens.roles]
