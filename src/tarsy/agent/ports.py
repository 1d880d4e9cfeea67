"""The ports of agents and sessions: protocols that adapters implement. Type checking `wiring` proves that they fit."""

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol

from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedMcpServer
from tarsy.domain.alert import StoredChange
from tarsy.domain.approval import Approval, ApprovalRequest
from tarsy.domain.budget import Reservation, SpentBy
from tarsy.domain.claim import Claim
from tarsy.domain.conversation import ToolCall
from tarsy.domain.evidence import AnsweredCall, Evidence
from tarsy.domain.execution import ExecutionPlace
from tarsy.domain.live_events import StreamDelta
from tarsy.domain.llm import Chunk, GenerateInput, LLMHealth, ResolvedProvider
from tarsy.domain.period_budget import PeriodBudget, PeriodState
from tarsy.domain.step import Committed, Step, StoredRun
from tarsy.domain.tool import OnOutput, Tag, ToolCatalog, ToolOutcome, ToolResult
from tarsy.domain.usage import Price


class MaskedText(Protocol):
    """Masks a text that arrives in pieces. Each piece is returned as soon as no later one can make it part of a secret."""

    def feed(self, piece: str) -> str: ...

    def finish(self) -> str:
        """Return the rest of the text, once no piece follows."""
        ...


class Mask(Protocol):
    """Hides the secrets in texts. Masking a masked text changes nothing."""

    def __call__(self, text: str, /) -> str: ...

    def stream(self) -> MaskedText: ...

    def tagged(self, tag: Tag | None) -> "Mask":
        """Return the same mask with tags on what it replaces."""
        ...


class LLMClient(Protocol):
    """Streams a model's answer. Closing the iterator, or cancelling its reader, stops the call."""

    def generate(self, request: GenerateInput) -> AsyncGenerator[Chunk]: ...

    async def health(self) -> LLMHealth:
        """Return whether calls can be made at all, whether or not the vendors answer."""
        ...

    async def aclose(self) -> None: ...


class Prices(Protocol):
    """The price list of models."""

    async def price(self, provider: ResolvedProvider, at: datetime, input_tokens: int) -> Price | None:
        """Return the price of a call of this size at that time; None if it is not known."""
        ...


class ToolExecutor(Protocol):
    """The tools of one execution. Failures are results: only cancellation and bugs raise."""

    async def list_tools(self) -> ToolCatalog:
        """Return the tools of all servers. The first call connects to them."""
        ...

    async def execute(self, call: ToolCall, on_output: OnOutput) -> ToolResult:
        """Run one call; `on_output` receives the output of the tool while it runs."""
        ...


class ToolServers(Protocol):
    """Opens the tools of an execution and closes them with it."""

    def open(
        self, agent: ResolvedAgentConfig, servers: Mapping[str, ResolvedMcpServer], *, place: ExecutionPlace, tag: Tag | None = None
    ) -> AbstractAsyncContextManager[ToolExecutor]:
        """Open the tools of an agent for the execution at `place`."""
        ...


class Journal(Protocol):
    """The durable record of a run."""

    async def commit(self, step: Step) -> Committed:
        """Write all of `step` or nothing, publish its live events, and return the notes that the step asks for.

        Raises:
            ClaimLostError: the work belongs to another worker now.
        """
        ...

    async def load(self, execution_id: str) -> StoredRun:
        """Return the stored state of an execution."""
        ...


class ApprovalStore(Protocol):
    """Stores the calls that need an approval, and the decisions."""

    async def request(self, request: ApprovalRequest, claim: Claim) -> tuple[Approval, float]:
        """Store a call that needs an approval, unless it is stored; return it with the decision, and the seconds until it expires.

        Raises:
            ClaimLostError: the work belongs to another worker now.
        """
        ...

    async def start(self, approval: Approval, claim: Claim) -> bool:
        """Record that an approved call runs now. Return False if it was started before: whether it took effect is unknown.

        Raises:
            ClaimLostError: the work belongs to another worker now.
        """
        ...


class LiveText(Protocol):
    """Publishes streamed text to subscribers, without waiting for them."""

    def publish(self, delta: StreamDelta) -> None: ...


class ChangeLog(Protocol):
    """The changes that other systems reported, such as deployments."""

    async def exist_since(self, since: datetime) -> bool: ...

    async def between(
        self, since: datetime, until: datetime, *, labels: Mapping[str, str] | None, search: str, limit: int
    ) -> Sequence[StoredChange]:
        """Return the changes of a period, newest first."""
        ...


class SkillTexts(Protocol):
    """The texts of skills, in the version that a session began with."""

    async def read(self, hashes: Collection[str]) -> Mapping[str, str]:
        """Return texts by hash; those that are not stored are left out."""
        ...


class ResultStore(Protocol):
    """The stored tool results, whole; a conversation may hold only parts of them."""

    async def read(self, execution_id: str, call_id: str) -> ToolOutcome | None:
        """Return the outcome of a call, or None if it has none yet."""
        ...

    async def cited(self, execution_id: str, ids: Collection[str] | None = None) -> Sequence[Evidence]:
        """Return what an execution may cite: its own results, those of its sub-agents, and those of all agents of earlier stages.

        With `ids`, only these.
        """
        ...

    async def answered(self, execution_id: str) -> Sequence[AnsweredCall]:
        """Return the calls of an execution that have a result, in order, without the refused ones."""
        ...


class SpendingStore(Protocol):
    """Stores what sessions have spent and reserved."""

    async def spent(self, session_id: str) -> Sequence[SpentBy]:
        """Return what each execution of a session has spent."""
        ...

    async def is_critical(self, session_id: str) -> bool:
        """Return whether a session investigates an incident that the budgets of periods do not stop."""
        ...

    async def reserve(self, reservation: Reservation, periods: Sequence[PeriodBudget]) -> PeriodState | None:
        """Store a reservation and return None; if it exceeds the budget of a period, store nothing and return the state of that period.

        Raises:
            ClaimLostError: the work belongs to another worker now.
        """
        ...

    async def mark_sent(self, reservation: Reservation) -> None:
        """Record that the request is sent now. If the worker dies before, the reservation is freed; after that it counts as spent.

        Raises:
            ClaimLostError: the work belongs to another worker now.
        """
        ...
