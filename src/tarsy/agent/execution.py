"""What one agent execution is given, and what it comes to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tarsy.agent.ceilings.ceilings import Ceilings
from tarsy.agent.cut_short import CutPlace
from tarsy.agent.ports import LiveText, LLMClient, Mask, Prices, ResultStore, RunJournal, ToolExecutor
from tarsy.agent.prompt.builder import PromptBuilder
from tarsy.agent.prompt.inputs import ChatPrompt
from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedMcpServer
from tarsy.domain.claim import INVESTIGATION, Claim
from tarsy.domain.execution import AgentType, Waits
from tarsy.domain.run_input import AnyInput
from tarsy.domain.status import RunStatus
from tarsy.kit.clock import Clock
from tarsy.kit.turnstile import Turnstile


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionContext:
    """Identity, configuration and dependencies of an execution. `previous` is what earlier stages found, as its agent should read it."""

    claim: Claim
    stage_id: str
    execution_id: str
    track: str
    config: ResolvedAgentConfig
    servers: Mapping[str, ResolvedMcpServer]
    prompts: PromptBuilder
    llm: LLMClient
    tools: ToolExecutor
    journal: RunJournal
    live: LiveText
    results: ResultStore
    prices: Prices
    ceilings: Ceilings
    mask: Mask
    clock: Clock
    # Where the model calls of a process take turns when they end.
    turnstile: Turnstile = field(default_factory=Turnstile)
    # What the ids of its tool calls begin with: its letter in the plan, or what a question gives.
    evidence_prefix: str
    # The id under which the result of each of its tool calls may be cited, by call id; the run fills it.
    evidence_ids: dict[str, str] = field(default_factory=dict[str, str])
    # What its agent was given, by the ids under which it may be cited, whole.
    documents: Mapping[str, str] = field(default_factory=dict[str, str])
    # What its agent is told the time by, where that is not the time at which its steps are stored.
    told_clock: Clock | None = None
    # Inputs that it had when it was recorded.
    recorded_inputs: Sequence[AnyInput] = ()
    # Where it was cut short when it was recorded.
    cut: CutPlace | None = None
    previous: str = ""
    chat: ChatPrompt | None = None

    @property
    def session_id(self) -> str:
        return self.claim.session_id

    @property
    def takes_notes(self) -> bool:
        """Whether its agent is told what reaches the session meanwhile: those that investigate are, or that bring their findings together."""
        return self.claim.kind == INVESTIGATION and self.config.type in {AgentType.DEFAULT, AgentType.SYNTHESIS}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionResult:
    """How an execution ended, or that it `waits` to be continued; everything in between is already stored."""

    status: RunStatus
    final_analysis: str = ""
    error: str | None = None
    waits: Waits | None = None
