"""The load of the benchmarks: a recorded model that takes no time, a tool that does nothing, and a worker pool around them."""

import os
import secrets
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import uuid4

import anyio
from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy.agent.budget.ledger import Ledgers
from tarsy.agent.execution import AgentServices
from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedChain, ResolvedMcpServer, ResolvedStage, ResolvedTransport
from tarsy.config.schema.budget import CostEstimationConfig
from tarsy.config.schema.system import QueueConfig
from tarsy.db.incident.changes import RetryingChanges
from tarsy.db.outbox import Publisher
from tarsy.db.retry import is_transient, retrying
from tarsy.db.run.evidence import StoredResults
from tarsy.db.run.history import SessionHistory
from tarsy.db.run.journal import PostgresJournal
from tarsy.db.session.repository import SessionRepository
from tarsy.db.skill_texts import SkillTextRepository
from tarsy.db.spending import PostgresSpendingStore
from tarsy.db.work.queue import WorkQueue
from tarsy.db.work.recovery import Recovery
from tarsy.domain.conversation import ToolCall
from tarsy.domain.execution import AgentType, ExecutionPlace
from tarsy.domain.live_events import StoredLiveEvent, StreamDelta
from tarsy.domain.llm import LLMBackend, ProviderType, ResolvedProvider
from tarsy.domain.recording import RecordedCall, RecordedChunk, RecordedToolCallChunk, Recording
from tarsy.domain.session import NewSession
from tarsy.domain.step import Committed, Step
from tarsy.domain.tool import Tag, ToolCalling, ToolCatalog, ToolDefinition, ToolListing, ToolResult
from tarsy.domain.usage import TokenUsage
from tarsy.kit.clock import SystemClock
from tarsy.llm.in_process import in_process_client
from tarsy.llm.prices import PriceList
from tarsy.queue.handler import Runner
from tarsy.queue.pool import WorkerPool
from tarsy.session.handlers import session_handlers
from tarsy.session.run_scope import Cancellations
from tarsy.session.runbook import RunbookSource
from tarsy.telemetry.measured_work import MeasuredJournal, MeasuredQueue, Telemetry
from tarsy.telemetry.traced_calls import TracedModel, TracedToolServers
from tarsy.telemetry.traced_runs import TracedHistory
from tarsy.tools.masking.masker import Unmasked

# Turns of the investigation in which the model asks for a tool; one more gives the answer, another the executive summary.
TOOL_TURNS = 8
CALLS_PER_SESSION = TOOL_TURNS + 2
ALERT = "HighErrorRate: service checkout answers 5xx to 12 % of requests since 09:41. " * 20

_INVESTIGATION = "0.investigation/1.Investigator"
_SUMMARY = "1.executive summary/1.Summarizer"


def recording(pause: float = 0.0, turns: int = TOOL_TURNS, first: float | None = None) -> Recording:
    """What the model says; `pause` seconds pass before each answer but the `first`, `turns` times it asks for the tool."""
    before = pause if first is None else first
    calls = [
        RecordedCall(
            track=_INVESTIGATION,
            turn=turn,
            chunks=(
                RecordedChunk(text=f"Step {turn}: I look at the next thing.", after=pause if turn else before),
                RecordedChunk(tool_call=RecordedToolCallChunk(id=f"call-{turn}", name="bench.look", arguments={"at": turn})),
                RecordedChunk(usage=TokenUsage(input_tokens=4000, output_tokens=120, total_tokens=4120)),
            ),
        )
        for turn in range(turns)
    ]
    answer = RecordedChunk(text="The new release leaks connections; roll it back.", after=pause)
    calls.append(RecordedCall(track=_INVESTIGATION, turn=turns, chunks=(answer,)))
    calls.append(RecordedCall(track=_SUMMARY, turn=0, chunks=(RecordedChunk(text="A leak. Roll back.", after=pause),)))
    return Recording(calls=tuple(calls))


def chain(turns: int = TOOL_TURNS) -> ResolvedChain:
    provider = ResolvedProvider(name="recorded", type=ProviderType.REPLAY, model="recorded", recording="bench")
    investigator = ResolvedAgentConfig(
        agent_name="Investigator",
        type=AgentType.DEFAULT,
        llm_backend=LLMBackend.LANGCHAIN,
        tool_calling=ToolCalling.NATIVE,
        provider=provider,
        mcp_servers=("bench",),
        max_iterations=max(turns + 1, 20),
        # A rehearsal's model thinks for minutes before its first answer.
        llm_call_timeout=600,
        iteration_timeout=600,
    )
    summarizer = investigator.model_copy(update={"agent_name": "Summarizer", "type": AgentType.EXEC_SUMMARY, "mcp_servers": ()})
    return ResolvedChain(
        chain_id="bench",
        stages=(ResolvedStage(name="investigation", agents=(investigator,)),),
        executive_summary=summarizer,
        mcp_servers={"bench": ResolvedMcpServer(name="bench", transport=ResolvedTransport(type="stdio", command="unused"))},
    )


class TrivialTools:
    """One tool that answers at once, in this process."""

    def open(
        self, agent: ResolvedAgentConfig, servers: Mapping[str, ResolvedMcpServer], *, place: ExecutionPlace, tag: Tag | None = None
    ) -> AbstractAsyncContextManager["TrivialTools"]:
        del servers, place, tag
        return self._opened() if agent.mcp_servers else NoTools().opened()

    @asynccontextmanager
    async def _opened(self) -> AsyncGenerator["TrivialTools"]:
        yield self

    async def list_tools(self) -> ToolCatalog:
        check = ToolDefinition("bench.look", "Looks.", {"type": "object"}, read_only=True)
        return ToolCatalog(
            (check,), (), (ToolListing(server="bench", tools=("look",), error=None, started_at=datetime.now(UTC), duration_ms=0),)
        )

    async def execute(self, call: ToolCall, on_output: Callable[[str], None]) -> ToolResult:
        del on_output
        return ToolResult(call=call, content="pod/checkout-7d9f8b6c5-x2x4z   1/1   Running   3h\n" * 20, started_at=datetime.now(UTC))


class NoTools(TrivialTools):
    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[TrivialTools]:
        yield self

    async def list_tools(self) -> ToolCatalog:
        return ToolCatalog()


class Unwatched:
    """Watches nothing."""

    def publish(self, delta: StreamDelta) -> None: ...

    def progress(self, session_id: str, *, stage_name: str, stage_index: int, stage_count: int) -> None: ...

    def announce(self, events: Sequence[StoredLiveEvent]) -> None: ...


class CountingJournal(PostgresJournal):
    steps = 0

    async def commit(self, step: Step) -> Committed:
        type(self).steps += 1
        return await super().commit(step)


@dataclass(frozen=True, slots=True)
class Load:
    pool: WorkerPool
    sessions: SessionRepository
    turns: int = TOOL_TURNS

    async def submit(self, count: int, alert: str = ALERT, *, over: float = 0.0) -> None:
        """Put sessions into the queue, evenly `over` so many seconds."""
        snapshot = chain(self.turns).model_dump(mode="json")
        for number in range(count):
            session = NewSession(
                id=str(uuid4()),
                alert_data=f"#{number} {alert}",
                alert_type="bench",
                chain_id="bench",
                chain_snapshot=snapshot,
                author="bench",
                nonce=secrets.token_hex(16),
                created_at=datetime.now(UTC),
            )
            await self.sessions.insert(session)
            await anyio.sleep(over / count)

    async def run_waiting(self, look_every: float = 0.02) -> None:
        """Run the pool until nothing waits and nothing runs."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.pool.run)
            open_sessions = 1
            while open_sessions:
                await anyio.sleep(look_every)
                # Like everything else here, it waits its turn for a connection.
                state = await retrying(self.sessions.queue_state)
                open_sessions = state.pending + state.running
            self.pool.drain()


@asynccontextmanager
async def load(
    engine: AsyncEngine,
    *,
    concurrency: int,
    pause: float = 0.0,
    turns: int = TOOL_TURNS,
    first: float | None = None,
    telemetry: Telemetry | None = None,
    limit: int | None = None,
) -> AsyncGenerator[Load]:
    """A worker pool for `concurrency` sessions at once, of `limit` in all processes; measured and traced by `telemetry`."""
    spans = telemetry.spans if telemetry else None
    unwatched, clock, written = Unwatched(), SystemClock(), recording(pause, turns, first)
    llm = in_process_client(env={}, recordings=lambda _name: written, replay_speed=1.0 if pause else 0.0)
    tools, journal, history = TrivialTools(), CountingJournal(engine, unwatched.announce), SessionHistory(engine)
    queue = WorkQueue(Publisher(engine), pod_id=f"bench-{os.getpid()}")
    services = AgentServices(
        llm=TracedModel(llm, spans.tracing) if spans else llm,
        prices=PriceList(CostEstimationConfig(), {}),
        tools=TracedToolServers(tools, spans.tracing) if spans else tools,
        journal=MeasuredJournal(journal, telemetry) if telemetry else journal,
        results=StoredResults(engine),
        changes=RetryingChanges(engine),
        skills=SkillTextRepository(engine),
        live=unwatched,
        mask=Unmasked(),
        clock=clock,
    )
    handlers = session_handlers(
        services,
        history=TracedHistory(history, spans) if spans else history,
        ledgers=Ledgers(store=PostgresSpendingStore(engine), clock=clock),
        runbooks=RunbookSource(),
        progress=unwatched,
        cancellations=Cancellations(),
    )
    config = QueueConfig(worker_count=min(concurrency, 50), max_concurrent_sessions=limit or concurrency, poll_interval_jitter=0.1)
    runner = Runner(
        queue=MeasuredQueue(queue, telemetry) if telemetry else queue,
        cancellations=Cancellations(),
        is_transient=is_transient,
    )
    # More workers than a process is meant to have: what is measured is how little each costs.
    pool = WorkerPool(config.model_copy(update={"worker_count": concurrency}), runner, Recovery(Publisher(engine)), handlers, clock=clock)
    try:
        yield Load(pool, SessionRepository(Publisher(engine)), turns)
    finally:
        await llm.aclose()
