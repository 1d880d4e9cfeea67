"""The ports that metrics and traces are wrapped around, in the words of this room. `wiring` proves that they are those of the others."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedMcpServer
from tarsy.domain.chat import ChatUserMessage
from tarsy.domain.claim import Claim, WorkKind
from tarsy.domain.conversation import ToolCall
from tarsy.domain.history import StageRecord
from tarsy.domain.live import StoredLiveEvent
from tarsy.domain.llm import Chunk, GenerateInput, LLMHealth
from tarsy.domain.session import NewSession
from tarsy.domain.step import Committed, Step, StoredRun
from tarsy.domain.tool import ToolCatalog, ToolResult
from tarsy.domain.work import Claimed, Parking, Pulse, Recovered, Release, WorkRules


class Journal(Protocol):
    async def commit(self, step: Step) -> Committed: ...

    async def load(self, execution_id: str) -> StoredRun: ...


class History(Protocol):
    async def stages(self, session_id: str) -> Sequence[StageRecord]: ...

    async def told(self, session_id: str) -> Sequence[StageRecord]: ...

    async def questions(self, session_id: str) -> Sequence[ChatUserMessage]: ...


class Queue(Protocol):
    async def claim(
        self, rules: WorkRules, *, counted: Sequence[WorkKind], max_concurrent_sessions: int
    ) -> tuple[Claimed[Any], list[StoredLiveEvent]] | None: ...

    async def beat(self, claims: Sequence[Claim]) -> Mapping[str, Pulse | Parking]: ...

    async def unwanted(self, claims: Sequence[Claim]) -> Sequence[str]: ...

    async def let_go(self, claim: Claim, wish: Release) -> list[StoredLiveEvent]: ...

    async def finish(self, claim: Claim) -> None: ...


class Recovery(Protocol):
    async def run(self, *, silent_seconds: float, limits: Mapping[WorkKind, int]) -> tuple[list[Recovered], list[StoredLiveEvent]]: ...


class SessionStore(Protocol):
    async def insert(self, session: NewSession, *, max_queue_size: int | None = None) -> None: ...

    async def submitted(self, session_id: str) -> tuple[str, str] | None: ...


class Model(Protocol):
    def generate(self, request: GenerateInput) -> AsyncGenerator[Chunk]: ...

    async def health(self) -> LLMHealth: ...

    async def aclose(self) -> None: ...


class Tools(Protocol):
    async def list_tools(self) -> ToolCatalog: ...

    async def execute(self, call: ToolCall, on_output: Callable[[str], None]) -> ToolResult: ...


class ToolServers(Protocol):
    def open(
        self, agent: ResolvedAgentConfig, servers: Mapping[str, ResolvedMcpServer], *, execution_id: str, track: str
    ) -> AbstractAsyncContextManager[Tools]: ...


class Observer(Protocol):
    """Wraps what a run is made with."""

    def model(self, inner: Model) -> Model: ...

    def tools(self, inner: ToolServers) -> ToolServers: ...

    def journal(self, inner: Journal) -> Journal: ...

    def history(self, inner: History) -> History: ...

    def queue(self, inner: Queue) -> Queue: ...

    def close(self) -> None: ...
