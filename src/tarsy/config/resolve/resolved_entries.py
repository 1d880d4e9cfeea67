"""Providers and tool servers in the form that is stored with a session. Pure module."""

from collections.abc import Mapping
from functools import lru_cache

from tarsy.config.resolve.resolved import (
    ResolvedMasking,
    ResolvedMcpServer,
    ResolvedProvider,
    ResolvedSummarization,
    ResolvedTransport,
    resolved_from,
)
from tarsy.config.schema.configuration import Config
from tarsy.config.schema.providers import NOT_NATIVE, LLMProviderConfig
from tarsy.domain.llm import LLMBackend, ProviderType

# How many tokens the common model families take, for providers that do not say it themselves.
# Cautious where a family differs by plan: what every customer gets. Longer prefixes stand before the shorter ones they specialise.
_WINDOWS = (
    ("gemini-", 1_048_576),
    ("claude-", 200_000),
    # 400,000 in all, of which 128,000 are kept for the answer.
    ("gpt-5", 272_000),
    ("gpt-4.1", 1_047_576),
    ("gpt-4", 128_000),
    ("o3", 200_000),
    ("o4", 200_000),
    ("grok-4", 256_000),
    ("grok-3", 131_072),
)
UNKNOWN_MODEL = 128_000


def context_window(model: str) -> int:
    """The window of `model`, also when a proxy has put its own prefix before the name (`openai/gpt-5.2`)."""
    name = model.rsplit("/", maxsplit=1)[-1].lower()
    return next((window for prefix, window in _WINDOWS if name.startswith(prefix)), UNKNOWN_MODEL)


def reaches(backend: LLMBackend, kind: ProviderType, model: str | None) -> bool:
    """Whether the backend's SDK knows the model. Vertex AI also has other vendors' models; a recording plays on any path."""
    if backend is LLMBackend.LANGCHAIN:
        return True
    return kind not in NOT_NATIVE and not (kind is ProviderType.VERTEXAI and "claude" in (model or ""))


def fitting_backend(wanted: LLMBackend, provider: LLMProviderConfig) -> LLMBackend:
    """`wanted`, or `langchain` where the provider has nothing else."""
    return wanted if reaches(wanted, provider.type, provider.model) else LLMBackend.LANGCHAIN


def resolved_provider(name: str, provider: LLMProviderConfig, native_tools: Mapping[str, bool] | None = None) -> ResolvedProvider:
    """A provider with the agent's or alert's native tools laid over its own."""
    tools = {**provider.native_tools.as_switches(), **(native_tools or {})}
    return _provider_with(name, provider, tuple(tools.items()))  # pyright: ignore[reportArgumentType] - pydantic gives a frozen section its hash when it makes the class


# Most agents of a configuration share a few.
@lru_cache(maxsize=256)
def _provider_with(name: str, provider: LLMProviderConfig, tools: tuple[tuple[str, bool], ...]) -> ResolvedProvider:
    model = provider.model or "recording"
    window = provider.context_window or context_window(model)
    return resolved_from(provider, ResolvedProvider, name=name, model=model, native_tools=dict(tools), context_window=window)


def resolved_server(config: Config, name: str) -> ResolvedMcpServer:
    """A tool server; its strings are still templates."""
    server = config.mcp_servers[name]
    masking = server.data_masking
    patterns = tuple((custom.pattern, custom.replacement) for custom in masking.custom_patterns)
    return resolved_from(
        server,
        ResolvedMcpServer,
        name=name,
        transport=resolved_from(server.transport, ResolvedTransport, type=server.transport.type.value),
        masking=resolved_from(masking, ResolvedMasking, custom_patterns=patterns),
        summarization=_summarization(config, name),
    )


def _summarization(config: Config, server_name: str) -> ResolvedSummarization:
    own, common = config.mcp_servers[server_name].summarization, config.defaults.summarization
    provider_name = own.llm_provider or common.llm_provider
    provider = config.llm_providers[provider_name] if provider_name else None
    backend = own.llm_backend or common.llm_backend
    if provider and backend is None:
        backend = fitting_backend(config.defaults.llm_backend or LLMBackend.LANGCHAIN, provider)
    resolved = resolved_provider(provider_name, provider) if provider_name and provider else None
    return resolved_from(own, ResolvedSummarization, provider=resolved, backend=backend)
