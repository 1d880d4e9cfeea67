"""What the configuration needs to work: itself without mistakes, models that answer, tool servers that start."""

from collections.abc import AsyncGenerator, Iterator, Mapping

import anyio

from tarsy.agent.ports import LLMClient
from tarsy.api.auth import check_bind
from tarsy.api.tokens import TokenSettingError, read_tokens
from tarsy.config.load.loader import LoadedConfig
from tarsy.config.problems import ConfigError
from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedChain, ResolvedMcpServer, ResolvedProvider
from tarsy.config.resolve.resolved_entries import resolved_server
from tarsy.config.resolve.resolver import resolve_chain
from tarsy.config.resolve.variants import variants_in_use
from tarsy.config.schema.configuration import Config, NoProviderError, vendor_variables, with_any_model
from tarsy.config.schema.providers import LLMProviderConfig
from tarsy.domain.agent import LLMBackend, ProviderType
from tarsy.settings import Settings
from tarsy.setup.finding import Finding, fail, ok, warn
from tarsy.setup.model_trial import try_model
from tarsy.setup.tool_trial import try_server


def check_configuration(loaded: LoadedConfig | ConfigError) -> Iterator[Finding]:
    if isinstance(loaded, ConfigError):
        yield from (fail("configuration", str(problem)) for problem in loaded.problems)
        return
    config = loaded.config
    sizes = f"chains: {', '.join(config.chains)}; tool servers: {', '.join(config.mcp_servers)}"
    yield ok("configuration", f"{loaded.place or 'built-in, there is no config/tarsy.yaml'}; {sizes}")
    told_elsewhere = ("no model is configured", "is used by chain")
    yield from (warn("configuration", str(w)) for w in loaded.warnings if not any(part in w.message for part in told_elsewhere))


def check_login(host: str, settings: Settings, config: Config) -> Finding | None:
    """Whether a server at `host` would let the right people in; None where there is no login."""
    try:
        tokens = read_tokens(settings.api_tokens)
    except TokenSettingError as error:
        return fail("login", str(error))
    refusal = check_bind(host, tokens, config.system.trusted_proxies, insecure=False)
    if refusal:
        first, *cures = refusal.splitlines()
        return fail("login", first, "\n".join(cure.strip(" -") for cure in cures))
    return ok("login", f"tokens of {', '.join(tokens.by_name)}") if tokens else None


def check_keys(loaded: LoadedConfig) -> Iterator[Finding]:
    """Which vendors' variables are set, and which model is taken where nothing names one."""
    config, env = loaded.config, loaded.env
    found = [name for names in vendor_variables().values() for name in names if env.get(name, "").strip()]
    default = config.defaults.llm_provider or config.default_provider
    if default is None:
        error = NoProviderError(vendor_variables())
        ways = "\n".join(f"{vendor}: set {' and '.join(names)}" for vendor, names in error.variables.items())
        yield warn(
            "model", "none: sample incidents use a recorded model, and TARSy refuses other alerts", f"{ways}\nor {error.local_model}"
        )
        return
    provider = config.llm_providers[default]
    yield ok("model", f"{default} ({_described(provider)}){'; keys set: ' + ', '.join(found) if found else ''}")


def _described(provider: LLMProviderConfig) -> str:
    return f"{provider.type} {provider.model}" + (f" at {provider.base_url}" if provider.base_url else "")


def chains_in_use(config: Config) -> tuple[ResolvedChain, ...]:
    """Every chain, with any model where there is none: tools can be looked at all the same."""
    followed = with_any_model(config)
    return tuple(resolve_chain(followed, chain_id) for chain_id in config.chains)


def models_in_use(loaded: LoadedConfig) -> Mapping[str, tuple[ResolvedProvider, LLMBackend]]:
    """The models that some chain would ask, as far as their keys are there, each with the SDK it is asked by."""
    found: dict[str, tuple[ResolvedProvider, LLMBackend]] = {}
    for agent in (agent for chain in chains_in_use(loaded.config) for agent in _agents(chain)):
        asked = [(agent.provider, agent.llm_backend), *((fallback.provider, fallback.backend) for fallback in agent.fallback_providers)]
        for provider, backend in asked:
            entry = loaded.config.llm_providers[provider.name]
            if provider.type is not ProviderType.REPLAY and not entry.missing_variables(loaded.env):
                found.setdefault(provider.name, (provider, backend))
    return found


def _agents(chain: ResolvedChain) -> Iterator[ResolvedAgentConfig]:
    for stage in chain.stages:
        yield from stage.agents
        if stage.synthesis:
            yield stage.synthesis
    yield from (agent for agent in (chain.executive_summary, chain.chat, chain.scoring) if agent)


async def check_llm_service(address: str, client: LLMClient) -> Finding:
    health = await client.health()
    if health.ok:
        return ok("LLM service", f"{address} answers")
    return fail("LLM service", health.detail, "start it with: tarsy llm-service, or unset TARSY_LLM_SERVICE_ADDR")


async def check_calls(loaded: LoadedConfig, client: LLMClient) -> AsyncGenerator[Finding]:
    """Ask each model in use for one word."""
    for name, (provider, backend) in models_in_use(loaded).items():
        yield await try_model(name, provider, backend, client)


async def check_tools(loaded: LoadedConfig) -> list[Finding]:
    """Start every tool server that some chain or route uses and list its tools, all at the same time."""
    servers = {name: server for chain in chains_in_use(loaded.config) for name, server in chain.mcp_servers.items()}
    servers |= {name: resolved_server(loaded.config, name) for name in variants_in_use(loaded.config)}
    findings: dict[str, Finding] = {}

    async def look(server: ResolvedMcpServer) -> None:
        findings[server.name] = (await try_server(server, loaded.env)).finding

    async with anyio.create_task_group() as tasks:
        for server in servers.values():
            tasks.start_soon(look, server, name=f"look at {server.name}")
    return [findings[name] for name in servers]
