"""The configuration of one session after resolving: frozen, complete, and stored with the session."""

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict, Field

from tarsy.config.schema.configuration import Config
from tarsy.config.schema.mcp_servers import DEFAULT_GROUPS
from tarsy.config.schema.providers import NOT_NATIVE, LLMProviderConfig
from tarsy.config.schema.values import Section
from tarsy.domain.budget import UNLIMITED, Ceiling
from tarsy.domain.execution import AgentType
from tarsy.domain.llm import LLMBackend, ProviderType, ResolvedProvider
from tarsy.domain.stage import ParallelType, SuccessPolicy
from tarsy.domain.tool import ToolCalling
from tarsy.domain.verdict import Confidence

Copied = TypeVar("Copied", bound=BaseModel)


def resolved_from(section: Section, kind: type[Copied], /, **resolved: object) -> Copied:
    """Take from `section` what it says under the names of `kind`, and the rest from `resolved`."""
    written = {name: getattr(section, name) for name in _common_fields(kind, type(section))}
    return kind.model_validate({**written, **resolved})


@cache
def _common_fields(one: type[BaseModel], other: type[BaseModel]) -> frozenset[str]:
    return frozenset(one.model_fields.keys() & other.model_fields)


def _is_none(said: object) -> bool:
    return said is None


def _is_empty(entries: Mapping[str, object] | tuple[object, ...]) -> bool:
    return not entries


def _limits_nothing(ceiling: Ceiling) -> bool:
    return ceiling == UNLIMITED


class Resolved(BaseModel):
    """Frozen and strict about unknown keys, so that an old snapshot is noticed."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ResolvedFallback(Resolved):
    provider: ResolvedProvider
    backend: LLMBackend


class ResolvedMasking(Resolved):
    enabled: bool = True
    pattern_groups: tuple[str, ...] = DEFAULT_GROUPS
    patterns: tuple[str, ...] = ()
    # (pattern, replacement) pairs of the user's own.
    custom_patterns: tuple[tuple[str, str], ...] = ()


class ResolvedSummarization(Resolved):
    enabled: bool = True
    size_threshold_tokens: int = 5000
    summary_max_token_limit: int = 1000
    provider: ResolvedProvider | None = None
    backend: LLMBackend | None = None


class ResolvedTransport(Resolved):
    """How a tool server is reached; strings may hold `{{.VAR}}` and, in headers and the cleanup URL, `{{.SESSION_ID}}`."""

    type: str
    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    url: str | None = None
    bearer_token: str | None = None
    verify_ssl: bool = True
    timeout: float | None = None
    custom_headers: Mapping[str, str] = {}
    session_cleanup_url: str | None = None
    shared_connection: bool = False


class ResolvedMcpServer(Resolved):
    name: str
    transport: ResolvedTransport
    instructions: str = ""
    # None: every tool the server has.
    tools: tuple[str, ...] | None = None
    masking: ResolvedMasking = ResolvedMasking()
    summarization: ResolvedSummarization = ResolvedSummarization()


class ResolvedSkill(Resolved):
    """A skill as a session refers to it. The texts are stored once for all sessions, under the hash of each."""

    name: str
    description: str
    origin: str
    # The commit, for a skill from Git.
    commit: str = ""
    # Path within the skill → hash of the text.
    files: Mapping[str, str]


class ResolvedOrchestrator(Resolved):
    """How an agent may send others. Times in seconds; None: what is left of the session's."""

    max_concurrent_agents: int = 5
    agent_timeout: float | None = None
    max_budget: float | None = None


USUAL_ORCHESTRATOR = ResolvedOrchestrator()


class ResolvedAgentConfig(Resolved):
    """One agent in one place of a chain. Times in seconds."""

    agent_name: str
    type: AgentType
    llm_backend: LLMBackend
    tool_calling: ToolCalling
    provider: ResolvedProvider
    fallback_providers: tuple[ResolvedFallback, ...] = ()
    max_iterations: int = 20
    iteration_timeout: float = 120.0
    llm_call_timeout: float = 100.0
    tool_call_timeout: float = 60.0
    mcp_servers: tuple[str, ...] = ()
    # Narrows a server's tools further, from the alert's own selection.
    tool_filters: Mapping[str, tuple[str, ...]] = {}
    native_tools: Mapping[str, bool] = {}
    custom_instructions: str = ""
    description: str = ""
    # Tool servers that the agent would have, and why it has not. Left out of snapshots where there are none: replicas of an older version read them.
    absent_servers: Mapping[str, str] = Field(default={}, exclude_if=_is_empty)
    # Names of the chain's skills: those the agent may load, and those its prompt holds. Left out likewise.
    skills: tuple[str, ...] = Field(default=(), exclude_if=_is_empty)
    required_skills: tuple[str, ...] = Field(default=(), exclude_if=_is_empty)
    # Those this one may send, each complete; they send none themselves.
    sub_agents: tuple["ResolvedAgentConfig", ...] = Field(default=(), exclude_if=_is_empty)
    budget: Ceiling = Field(default=UNLIMITED, exclude_if=_limits_nothing)
    orchestrator: ResolvedOrchestrator = Field(default=USUAL_ORCHESTRATOR, exclude_if=lambda said: said == USUAL_ORCHESTRATOR)

    @property
    def tree(self) -> tuple["ResolvedAgentConfig", ...]:
        """Itself, and those it may send."""
        return (self, *(agent for sub in self.sub_agents for agent in sub.tree))


class ResolvedStage(Resolved):
    name: str
    # Replicas are already written out: one entry per execution.
    agents: tuple[ResolvedAgentConfig, ...]
    parallel_type: ParallelType | None = None
    success_policy: SuccessPolicy = SuccessPolicy.ANY
    # Present when more than one agent runs.
    synthesis: ResolvedAgentConfig | None = None
    # Of all its agents together.
    budget: Ceiling = Field(default=UNLIMITED, exclude_if=_limits_nothing)


class ResolvedChallenge(Resolved):
    """When another agent tries to refute a verdict, and in how many turns."""

    when_below: Confidence | None = None
    max_iterations: int = 6


class ResolvedChain(Resolved):
    """All that a session needs from the configuration, for its whole life: run, resume, chat, score, replay."""

    chain_id: str
    stages: tuple[ResolvedStage, ...]
    # None: switched off for the chain.
    executive_summary: ResolvedAgentConfig | None
    chat: ResolvedAgentConfig | None = None
    scoring: ResolvedAgentConfig | None = None
    mcp_servers: Mapping[str, ResolvedMcpServer] = {}
    # Those that some agent of the chain has.
    skills: Mapping[str, ResolvedSkill] = Field(default={}, exclude_if=_is_empty)
    # None: verdicts are not challenged. Left out likewise.
    challenge: ResolvedChallenge | None = Field(default=None, exclude_if=_is_none)
    default_runbook: str = ""
    session_timeout: float = 900.0
    # Of the whole investigation, lowered by what its alert asked for; and of each question about it, and of its judgement.
    budget: Ceiling = Field(default=UNLIMITED, exclude_if=_limits_nothing)


def chain_of(snapshot: Mapping[str, Any]) -> ResolvedChain:
    """The chain that was stored with a session."""
    return _chain_of(orjson.dumps(snapshot))


# The sessions of a process have few chains, and reading one takes as long as a statement.
@lru_cache(maxsize=16)
def _chain_of(snapshot: bytes) -> ResolvedChain:
    return ResolvedChain.model_validate(orjson.loads(snapshot))


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
