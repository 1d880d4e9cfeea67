"""What agents and sessions need from the outside, in their own words. The adapters live below; `wiring` proves that they fit."""

from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol

from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedMcpServer
from tarsy.domain.alert import StoredChange
from tarsy.domain.budget import Reservation, SpentBy
from tarsy.domain.conversation import ToolCall
from tarsy.domain.evidence import AnsweredCall, Evidence
from tarsy.domain.live_events import StreamDelta
from tarsy.domain.llm import Chunk, GenerateInput, LLMHealth, ResolvedProvider
from tarsy.domain.period_budget import PeriodBudget, PeriodState
from tarsy.domain.step import Committed, Step, StoredRun
from tarsy.domain.tool import ToolCatalog, ToolOutcome, ToolResult
from tarsy.domain.usage import Price


class MaskedText(Protocol):
    """A text that is masked while it comes: each piece is given back as soon as no later one can make it part of a secret."""

    def feed(self, piece: str) -> str: ...

    def finish(self) -> str:
        """What was held back and has nothing more to wait for."""
        ...


class Mask(Protocol):
    """Hides the secrets in texts. Masking a masked text changes nothing."""

    def __call__(self, text: str, /) -> str: ...

    def stream(self) -> MaskedText: ...


class LLMClient(Protocol):
    """Streams a model's answer. Closing the iterator, or cancelling its reader, stops the call."""

    def generate(self, request: GenerateInput) -> AsyncGenerator[Chunk]: ...

    async def health(self) -> LLMHealth:
        """Whether calls can be made at all; says nothing about the vendors."""
        ...

    async def aclose(self) -> None: ...


class Prices(Protocol):
    """What models cost."""

    async def price(self, provider: ResolvedProvider, at: datetime, input_tokens: int) -> Price | None:
        """The price that holds for a call of this size at that moment; None when it is not known."""
        ...


class ToolExecutor(Protocol):
    """The tools of one execution. Failures are results: only cancellation and bugs raise."""

    async def list_tools(self) -> ToolCatalog:
        """Connect to the servers (once) and say what they offer."""
        ...

    async def execute(self, call: ToolCall, on_output: Callable[[str], None]) -> ToolResult:
        """Run one call; `on_output` gets what the tool says while it runs."""
        ...


class ToolServers(Protocol):
    """Opens the tools of an execution and closes them with it."""

    def open(
        self, agent: ResolvedAgentConfig, servers: Mapping[str, ResolvedMcpServer], *, execution_id: str, track: str
    ) -> AbstractAsyncContextManager[ToolExecutor]:
        """`track` names the execution the same in every run, `execution_id` in this one."""
        ...


class Journal(Protocol):
    """The durable record of a run."""

    async def commit(self, step: Step) -> Committed:
        """Write all of `step` or nothing, and publish what a person should see; answers with the notes that the step asks for.

        Raises:
            ClaimLostError: the work belongs to another worker now.
        """
        ...

    async def load(self, execution_id: str) -> StoredRun:
        """Read back what an execution has stored."""
        ...


class LiveText(Protocol):
    """Carries streaming text to the clients that watch; never waits for them."""

    def publish(self, delta: StreamDelta) -> None: ...


class ChangeLog(Protocol):
    """What was changed around us: deployments and the like."""

    async def exist_since(self, since: datetime) -> bool: ...

    async def between(
        self, since: datetime, until: datetime, *, labels: Mapping[str, str] | None, search: str, limit: int
    ) -> Sequence[StoredChange]:
        """The latest first."""
        ...


class SkillTexts(Protocol):
    """The texts of skills as they were when a session began."""

    async def read(self, hashes: Collection[str]) -> Mapping[str, str]:
        """Text by hash; what is not stored is left out."""
        ...


class ResultStore(Protocol):
    """Keeps whole tool results within reach when the conversation holds only a part of them."""

    async def read(self, execution_id: str, call_id: str) -> ToolOutcome | None:
        """What a call came to, or None when it has not come to anything yet."""
        ...

    async def cited(self, execution_id: str, ids: Collection[str]) -> Sequence[Evidence]:
        """What an execution may cite of these: its own results, those of agents that it sent, and those of the stages before its own, of whichever agent."""
        ...

    async def answered(self, execution_id: str) -> Sequence[AnsweredCall]:
        """The calls of an execution that came to something, in order, without the refused ones."""
        ...


class SpendingStore(Protocol):
    """The durable side of the ledger."""

    async def spent(self, session_id: str) -> Sequence[SpentBy]:
        """What each execution of a session has used."""
        ...

    async def is_critical(self, session_id: str) -> bool:
        """Whether a session investigates an incident that a period's ceiling does not stop."""
        ...

    async def reserve(self, reservation: Reservation, periods: Sequence[PeriodBudget]) -> PeriodState | None:
        """Write a reservation down, unless it passes one of the periods' ceilings: then that one's state.

        Raises:
            ClaimLostError: the work belongs to another worker now.
        """
        ...
