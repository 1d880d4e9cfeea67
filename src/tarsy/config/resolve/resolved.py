"""The configuration of one session after resolving: frozen, complete, and stored with the session."""

from collections.abc import Iterator, Mapping
from operator import not_
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from tarsy.config.schema.configuration import Config
from tarsy.config.schema.mcp_servers import DEFAULT_GROUPS
from tarsy.config.schema.providers import NOT_NATIVE, LLMProviderConfig
from tarsy.config.schema.values import Section
from tarsy.domain.approval import APPROVAL_EXPIRY
from tarsy.domain.budget import UNLIMITED, Ceiling
from tarsy.domain.execution import AgentType
from tarsy.domain.llm import LLMBackend, ProviderType, ResolvedProvider
from tarsy.domain.stage import ParallelType, SuccessPolicy
from tarsy.domain.tool import ApprovalPolicy, ToolCalling
from tarsy.domain.tool_pin import PinMode
from tarsy.domain.verdict import Confidence

Copied = TypeVar("Copied", bound=BaseModel)


def resolved_from(section: Section, kind: type[Copied], /, **resolved: object) -> Copied:
    """Make a `kind` from the fields that `section` has in common with it, and from `resolved`."""
    common = {name: getattr(section, name) for name in kind.model_fields.keys() & type(section).model_fields}
    return kind.model_validate({**common, **resolved})


def _limits_nothing(ceiling: Ceiling) -> bool:
    return ceiling == UNLIMITED


class Resolved(BaseModel):
    """Base class: unknown keys are errors, so that an incompatible snapshot is noticed."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ResolvedFallback(Resolved):
    provider: ResolvedProvider
    backend: LLMBackend


class ResolvedMasking(Resolved):
    enabled: bool = True
    pattern_groups: tuple[str, ...] = DEFAULT_GROUPS
    patterns: tuple[str, ...] = ()
    # (pattern, replacement) pairs of the operator.
    custom_patterns: tuple[tuple[str, str], ...] = ()


class ResolvedSummarization(Resolved):
    enabled: bool = True
    size_threshold_tokens: int = 5000
    summary_max_token_limit: int = 1000
    provider: ResolvedProvider | None = None
    backend: LLMBackend | None = None


class ResolvedOAuth(Resolved):
    token_url: str
    client_id: str
    client_secret: str
    scope: str = ""
    parameters: Mapping[str, str] = {}


class ResolvedTransport(Resolved):
    """How a tool server is reached; strings may contain `{{.VAR}}` and, in headers and the cleanup URL, `{{.SESSION_ID}}`."""

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
    oauth: ResolvedOAuth | None = Field(default=None, exclude_if=lambda client: client is None)


class ResolvedProbe(Resolved):
    tool: str
    arguments: dict[str, Any] = {}


class ResolvedMcpServer(Resolved):
    name: str
    transport: ResolvedTransport
    instructions: str = ""
    # None: all tools of the server.
    tools: tuple[str, ...] | None = None
    approval: ApprovalPolicy = Field(default=ApprovalPolicy.DESTRUCTIVE, exclude_if=lambda policy: policy is ApprovalPolicy.DESTRUCTIVE)
    tool_approval: Mapping[str, ApprovalPolicy] = Field(default={}, exclude_if=lambda policies: not policies)
    # Whether the operator chose `approval`; otherwise every call of an agent that acts needs one.
    approval_is_set: bool = Field(default=False, exclude_if=not_)
    # In seconds.
    approval_expiry: float = Field(default=APPROVAL_EXPIRY, exclude_if=lambda seconds: seconds == APPROVAL_EXPIRY)
    probe: ResolvedProbe | None = Field(default=None, exclude_if=lambda probe: probe is None)
    pin: PinMode = Field(default=PinMode.REPORT, exclude_if=lambda mode: mode is PinMode.REPORT)
    masking: ResolvedMasking = ResolvedMasking()
    summarization: ResolvedSummarization = ResolvedSummarization()

    @property
    def for_actions(self) -> "ResolvedMcpServer":
        """The server as an agent that acts uses it."""
        return self if self.approval_is_set else self.model_copy(update={"approval": ApprovalPolicy.ALWAYS})


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
    """The limits of an agent's sub-agents. Times in seconds; None: the remaining time of the session."""

    max_concurrent_agents: int = 5
    agent_timeout: float | None = None
    max_budget: float | None = None


DEFAULT_ORCHESTRATOR = ResolvedOrchestrator()


class ResolvedJudge(Resolved):
    """The model that judges quotations; None: the agent's own."""

    provider: ResolvedProvider | None = None
    backend: LLMBackend | None = None


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
    # The tools that the alert selects of a server.
    tool_filters: Mapping[str, tuple[str, ...]] = {}
    native_tools: Mapping[str, bool] = {}
    custom_instructions: str = ""
    description: str = ""
    # Tool servers that the agent should have, and why it has not. Empty values are left out of snapshots, which replicas of an older version read too.
    absent_servers: Mapping[str, str] = Field(default={}, exclude_if=not_)
    # Names of the chain's skills: those that the agent may load, and those in its prompt.
    skills: tuple[str, ...] = Field(default=(), exclude_if=not_)
    required_skills: tuple[str, ...] = Field(default=(), exclude_if=not_)
    # Resolved sub-agents; they have none themselves.
    sub_agents: tuple["ResolvedAgentConfig", ...] = Field(default=(), exclude_if=not_)
    judge: ResolvedJudge | None = Field(default=None, exclude_if=not_)
    budget: Ceiling = Field(default=UNLIMITED, exclude_if=_limits_nothing)
    # Whether calls that may change something are shown and not made.
    dry_run: bool = Field(default=False, exclude_if=not_)
    orchestrator: ResolvedOrchestrator = Field(default=DEFAULT_ORCHESTRATOR, exclude_if=lambda settings: settings == DEFAULT_ORCHESTRATOR)

    @property
    def tree(self) -> tuple["ResolvedAgentConfig", ...]:
        """The agent and its sub-agents."""
        return (self, *(agent for sub in self.sub_agents for agent in sub.tree))


class ResolvedStage(Resolved):
    name: str
    # One entry per execution: replicas are expanded.
    agents: tuple[ResolvedAgentConfig, ...]
    parallel_type: ParallelType | None = None
    success_policy: SuccessPolicy = SuccessPolicy.ANY
    # Present when more than one agent runs.
    synthesis: ResolvedAgentConfig | None = None
    # For all its agents together.
    budget: Ceiling = Field(default=UNLIMITED, exclude_if=_limits_nothing)
    # Of the verdict; a stage that acts does not begin below it.
    min_confidence: Confidence = Field(default=Confidence.HIGH, exclude_if=lambda confidence: confidence is Confidence.HIGH)

    @property
    def acts(self) -> bool:
        """Whether its agent may change something."""
        return self.agents[0].type is AgentType.ACTION


class ResolvedChallenge(Resolved):
    """When another agent challenges a verdict, and in how many turns."""

    when_below: Confidence | None = None
    max_iterations: int = 6


class ResolvedChain(Resolved):
    """The part of the configuration that a session needs to run, resume, chat, score and replay."""

    chain_id: str
    stages: tuple[ResolvedStage, ...]
    # None: switched off for the chain.
    executive_summary: ResolvedAgentConfig | None
    chat: ResolvedAgentConfig | None = None
    scoring: ResolvedAgentConfig | None = None
    mcp_servers: Mapping[str, ResolvedMcpServer] = {}
    # The stages that act and were left out, because neither a route nor a person chose this chain.
    acting_left_out: tuple[str, ...] = Field(default=(), exclude_if=not_)
    # The skills of all its agents.
    skills: Mapping[str, ResolvedSkill] = Field(default={}, exclude_if=not_)
    # None: verdicts are not challenged.
    challenge: ResolvedChallenge | None = Field(default=None, exclude_if=not_)
    default_runbook: str = ""
    session_timeout: float = 900.0
    # For the whole investigation, lowered by the request of its alert; also for each chat answer and score.
    budget: Ceiling = Field(default=UNLIMITED, exclude_if=_limits_nothing)

    @property
    def investigating(self) -> tuple[ResolvedStage, ...]:
        return tuple(stage for stage in self.stages if not stage.acts)

    @property
    def acting(self) -> tuple[ResolvedStage, ...]:
        return tuple(stage for stage in self.stages if stage.acts)

    @property
    def agents(self) -> Iterator[ResolvedAgentConfig]:
        """All agents that may run for a session: those of the stages with their sub-agents, and those that come after them."""
        for stage in self.stages:
            yield from (agent for top in stage.agents for agent in top.tree)
            if stage.synthesis:
                yield stage.synthesis
        yield from (agent for agent in (self.executive_summary, self.chat, self.scoring) if agent)


def chain_of(snapshot: Mapping[str, Any]) -> ResolvedChain:
    """Return the chain that was stored with a session."""
    return ResolvedChain.model_validate(snapshot)


# Context windows of the common model families in tokens, for providers without one in the configuration: the smallest of a family's plans.
# Longer prefixes come before the shorter ones that they specialise.
_WINDOWS = (
    ("gemini-", 1_048_576),
    ("claude-", 200_000),
    # 400,000 in all, 128,000 of them for the answer.
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
    """Return the window of `model`, whose name may have the prefix of a proxy (`openai/gpt-5.2`)."""
    name = model.rsplit("/", maxsplit=1)[-1].lower()
    return next((window for prefix, window in _WINDOWS if name.startswith(prefix)), UNKNOWN_MODEL)


def reaches(backend: LLMBackend, kind: ProviderType, model: str | None) -> bool:
    """Return whether the backend's SDK can call the model. Vertex AI also has models of other vendors; recordings work with every backend."""
    if backend is LLMBackend.LANGCHAIN:
        return True
    return kind not in NOT_NATIVE and not (kind is ProviderType.VERTEXAI and "claude" in (model or ""))


def fitting_backend(wanted: LLMBackend, provider: LLMProviderConfig | ResolvedProvider) -> LLMBackend:
    """Return `wanted` if it can reach the provider's model, else `langchain`."""
    return wanted if reaches(wanted, provider.type, provider.model) else LLMBackend.LANGCHAIN


def resolved_provider(name: str, provider: LLMProviderConfig, native_tools: Mapping[str, bool] | None = None) -> ResolvedProvider:
    """Resolve a provider; the native tools of the agent or alert override its own."""
    tools = {**provider.native_tools.as_switches(), **(native_tools or {})}
    model = provider.model or "recording"
    window = provider.context_window or context_window(model)
    return resolved_from(provider, ResolvedProvider, name=name, model=model, native_tools=tools, context_window=window)


def resolved_server(config: Config, name: str) -> ResolvedMcpServer:
    """Resolve a tool server. Templates in its strings are not expanded."""
    server = config.mcp_servers[name]
    own, common = server.summarization, config.defaults.summarization
    provider_name = own.llm_provider or common.llm_provider
    provider = config.llm_providers[provider_name] if provider_name else None
    backend = own.llm_backend or common.llm_backend
    if provider and backend is None:
        backend = fitting_backend(config.defaults.llm_backend or LLMBackend.LANGCHAIN, provider)
    resolved = resolved_provider(provider_name, provider) if provider_name and provider else None
    masking, oauth = server.data_masking, server.transport.oauth
    patterns = tuple((custom.pattern, custom.replacement) for custom in masking.custom_patterns)
    return resolved_from(
        server,
        ResolvedMcpServer,
        name=name,
        approval_is_set="approval" in server.model_fields_set,
        transport=resolved_from(
            server.transport, ResolvedTransport, type=server.transport.type.value, oauth=oauth and resolved_from(oauth, ResolvedOAuth)
        ),
        probe=server.probe and resolved_from(server.probe, ResolvedProbe),
        masking=resolved_from(masking, ResolvedMasking, custom_patterns=patterns),
        summarization=resolved_from(own, ResolvedSummarization, provider=resolved, backend=backend),
    )
