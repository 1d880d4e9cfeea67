"""What the configuration needs to work: itself without mistakes, models that answer, tool servers that start."""

import shutil
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from contextlib import aclosing

import anyio

from tarsy.agent.ports import LLMClient
from tarsy.api.auth import check_bind
from tarsy.api.tokens import TokenSettingError, read_tokens
from tarsy.cli.finding import Finding, fail, ok, warn
from tarsy.config.load.loader import LoadedConfig
from tarsy.config.problems import ConfigError
from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedChain, ResolvedMcpServer, ResolvedProvider
from tarsy.config.resolve.resolved_entries import resolved_server
from tarsy.config.resolve.resolver import resolve_chain
from tarsy.config.resolve.variants import variants_in_use
from tarsy.config.schema.configuration import Config, NoProviderError, vendor_variables, with_any_model
from tarsy.config.schema.providers import LLMProviderConfig
from tarsy.config.templates import variables
from tarsy.domain.agent import LLMBackend, ProviderType
from tarsy.domain.conversation import ConversationMessage, Role
from tarsy.domain.llm import ErrorChunk, ErrorCode, GenerateInput, TextChunk, ThinkingChunk
from tarsy.domain.tool import ToolCatalog
from tarsy.settings import Settings
from tarsy.tools.servers import McpToolServers

# A first start of a server by npx downloads it; a person who waits for longer is better told.
TOOLS_SECONDS = 60.0
CALL_SECONDS = 60.0
NODE_CURE = "install Node.js 20 or later: npx comes with it"


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
        yield warn("model", "none: the sample incidents play a recorded one, other alerts are refused", f"{ways}\nor {error.local_model}")
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
        yield await _call(name, provider, backend, client)


async def _call(name: str, provider: ResolvedProvider, backend: LLMBackend, client: LLMClient) -> Finding:
    messages = (ConversationMessage(Role.USER, "Answer with the single word: ready"),)
    request = GenerateInput(session_id="doctor", execution_id="doctor", messages=messages, provider=provider, backend=backend)
    answer = ""
    with anyio.move_on_after(CALL_SECONDS):
        async with aclosing(client.generate(request)) as chunks:
            async for chunk in chunks:
                if isinstance(chunk, ErrorChunk):
                    return fail("call", f"{name}: {chunk.message}", _call_cure(chunk.code, provider))
                if isinstance(chunk, TextChunk | ThinkingChunk):
                    answer += chunk.content
        return ok("call", f"{name} answers ({len(answer)} characters)")
    return fail("call", f"{name} did not answer within {CALL_SECONDS:.0f} s", "try again, or name another provider")


def _call_cure(code: ErrorCode, provider: ResolvedProvider) -> str:
    match code:
        case ErrorCode.CREDENTIALS:
            return f"check the key in {provider.api_key_env or 'its variable'}"
        case ErrorCode.RATE_LIMITED:
            return "wait, or raise the vendor's limit; fallback_providers keeps investigations going meanwhile"
        case ErrorCode.PROVIDER_UNAVAILABLE | ErrorCode.TIMEOUT | ErrorCode.STALLED:
            return f"check that {provider.base_url or 'the vendor'} can be reached from here"
        case _:
            return f"check that the vendor has the model {provider.model}"


async def check_tools(loaded: LoadedConfig) -> list[Finding]:
    """Start every tool server that some chain or route uses and list its tools, all at the same time."""
    servers = {name: server for chain in chains_in_use(loaded.config) for name, server in chain.mcp_servers.items()}
    servers |= {name: resolved_server(loaded.config, name) for name in variants_in_use(loaded.config)}
    findings: dict[str, Finding] = {}

    async def look(server: ResolvedMcpServer) -> None:
        findings[server.name] = _cannot_start(server, loaded.env) or await _list(server, loaded.env)

    async with anyio.create_task_group() as tasks:
        for server in servers.values():
            tasks.start_soon(look, server, name=f"look at {server.name}")
    return [findings[name] for name in servers]


def _cannot_start(server: ResolvedMcpServer, env: Mapping[str, str]) -> Finding | None:
    transport = server.transport
    command = transport.command
    if command and not variables(command) and shutil.which(command, path=env.get("PATH")) is None:
        cure = NODE_CURE if command == "npx" else f"install {command}, or write its full path"
        return warn("tools", f"{server.name}: the program {command} was not found", cure)
    texts: Iterable[str] = (*transport.args, *transport.env.values(), transport.url or "", transport.bearer_token or "")
    missing = sorted({name for text in texts for name in variables(text)} - env.keys() - {"SESSION_ID"})
    if missing:
        cure = f"set {' and '.join(missing)} in the environment or in .env"
        return warn("tools", f"{server.name}: {', '.join(missing)} is not set", cure)
    return None


async def _list(server: ResolvedMcpServer, env: Mapping[str, str]) -> Finding:
    catalog = ToolCatalog()
    with anyio.move_on_after(TOOLS_SECONDS) as limit:
        async with McpToolServers(env=env).open_servers({server.name: server}, call_timeout=TOOLS_SECONDS, execution_id="doctor") as tools:
            catalog = await tools.list_tools()
    cure = f"try it by hand: tarsy tools list {server.name}"
    if limit.cancelled_caught and not catalog.tools:
        return fail("tools", f"{server.name} did not list its tools within {TOOLS_SECONDS:.0f} s", cure)
    if catalog.warnings:
        return fail("tools", "\n".join(catalog.warnings), cure)
    return ok("tools", f"{server.name}: {len(catalog.tools)} tools")
