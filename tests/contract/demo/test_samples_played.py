"""Every sample, played through the real pipeline: database, executors, and its simulated cluster over stdio; then replayed from its recording."""

import re
import secrets
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median
from typing import Any
from uuid import uuid4

import anyio
import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine

from support.claims import take
from support.replaying import replayed
from support.warm_tarsy import warm_command, with_forked_clusters
from support.weighing import Weighing
from tarsy.agent.budget.ledger import Ledgers
from tarsy.agent.execution import AgentServices
from tarsy.config.schema.budget import CostEstimationConfig
from tarsy.db.connection import create_engine
from tarsy.db.incident.changes import RetryingChanges
from tarsy.db.outbox import Publisher
from tarsy.db.run.evidence import StoredResults
from tarsy.db.run.history import SessionHistory
from tarsy.db.run.journal import PostgresJournal
from tarsy.db.session.followups import ChatRepository
from tarsy.db.session.recordings import RecordingSource
from tarsy.db.session.repository import SessionRepository
from tarsy.db.skill_texts import SkillTextRepository
from tarsy.db.spending import PostgresSpendingStore
from tarsy.db.tables import llm_interactions, mcp_interactions, messages
from tarsy.demo.samples import Sample, list_samples, recording_loader
from tarsy.domain.claim import CHAT_ANSWER, INVESTIGATION, WorkKind
from tarsy.domain.live_events import StoredLiveEvent, StreamDelta
from tarsy.domain.recording import RecordedCall, Recording
from tarsy.domain.session import NewSession
from tarsy.domain.status import RunStatus, SessionStatus, TimelineStatus
from tarsy.domain.timeline import TimelineEvent, TimelineEventType
from tarsy.kit.clock import SystemClock
from tarsy.llm.in_process import in_process_client
from tarsy.llm.prices import PriceList
from tarsy.llm.providers.replay import RecordingFiles
from tarsy.queue.handler import Handler
from tarsy.session.handlers import session_handlers
from tarsy.session.run_scope import Cancellations, RunScope
from tarsy.session.runbook import RunbookSource
from tarsy.tools import stdio
from tarsy.tools.executor import McpToolServers
from tarsy.tools.masking.masker import Masker
from tarsy.tools.pool import connection_pool

NOT_RECORDED = "And what did you have for lunch?"
MASK = Masker.for_group("security")


class Unwatched:
    """Nothing is watched."""

    def publish(self, delta: StreamDelta) -> None: ...

    def progress(self, session_id: str, *, stage_name: str, stage_index: int, stage_count: int) -> None: ...

    def deliver(self, events: Sequence[StoredLiveEvent]) -> None: ...


@dataclass(frozen=True)
class Pipeline:
    handlers: Mapping[WorkKind, Handler[Any]]
    weighed: Weighing


@asynccontextmanager
async def pipeline_on(engine: AsyncEngine) -> AsyncGenerator[Pipeline]:
    unwatched, clock = Unwatched(), SystemClock()
    llm = Weighing(in_process_client(env={}, recordings=recording_loader(RecordingFiles())))
    # As in the application: the investigation and the answers use one process of the cluster.
    async with aclosing(llm), connection_pool() as connections:
        services = AgentServices(
            llm=llm,
            prices=PriceList(CostEstimationConfig(), {}),
            tools=McpToolServers(env={}, pool=connections),
            journal=PostgresJournal(engine, unwatched.deliver),
            results=StoredResults(engine),
            changes=RetryingChanges(engine),
            skills=SkillTextRepository(engine),
            live=unwatched,
            mask=MASK,
            clock=clock,
        )
        handlers = session_handlers(
            services,
            history=SessionHistory(engine),
            ledgers=Ledgers(store=PostgresSpendingStore(engine), clock=clock),
            runbooks=RunbookSource(),
            progress=unwatched,
            cancellations=Cancellations(),
        )
        yield Pipeline({handler.rules.kind: handler for handler in handlers}, llm)


async def do(engine: AsyncEngine, pipeline: Pipeline, kind: WorkKind) -> None:
    claimed = await take(engine, kind)
    assert claimed
    with anyio.fail_after(90):
        await pipeline.handlers[kind].run(claimed, RunScope())


async def play(engine: AsyncEngine, sample: Sample) -> tuple[str, Recording]:
    """Investigate the sample's alert, which makes a recording, then ask its questions in another order than they were recorded in, and one that was not."""
    session_id = str(uuid4())
    session = NewSession(
        id=session_id,
        alert_data=MASK(sample.alert_data),
        alert_type=sample.alert_type,
        chain_id=sample.chain.chain_id,
        chain_snapshot=sample.chain.model_dump(mode="json"),
        author="test",
        nonce=secrets.token_hex(16),
        created_at=datetime.now(UTC),
    )
    await SkillTextRepository(engine).store(sample.skill_texts)
    await SessionRepository(Publisher(engine)).insert(session)
    async with pipeline_on(engine) as pipeline:
        await do(engine, pipeline, INVESTIGATION)
        check_estimates(pipeline.weighed)
        recording = await RecordingSource(engine).read(session_id)
        for question in (*reversed(sample.questions), NOT_RECORDED):
            await ChatRepository(Publisher(engine)).ask(session_id, question, author="test")
            await do(engine, pipeline, CHAT_ANSWER)
    assert recording is not None
    return session_id, recording


def check_estimates(weighed: Weighing) -> None:
    """What ceilings reckon with before a call, against what the recorded model counted."""
    for name, ratios in (("first", weighed.first), ("later", weighed.later)):
        print(f"estimate of input by counted input, {name} calls: {min(ratios):.2f} to {max(ratios):.2f}")  # noqa: T201 - the measure itself
    # Before a model has counted for us, rather too high; afterwards close, but for a turn that is denser than those before.
    # The instructions are longer now than when the samples were recorded, and a first call is little else.
    # The lowest is the executive summary's, which reads only the verdict now.
    first = sorted(weighed.first)[1:]
    assert 0.7 <= min(first) <= max(first) <= 2.7
    assert 0.6 <= min(weighed.later) <= max(weighed.later) <= 1.3
    assert 0.8 <= median(weighed.later) <= 1.2


def last_answer(sample: Sample, track_part: str) -> str:
    return text_of([call for call in sample.recording.calls if track_part in call.track][-1])


def text_of(call: RecordedCall) -> str:
    return "".join(chunk.text or "" for chunk in call.chunks)


def _unnumbered(answer: str) -> str:
    return re.sub(r"\bQ\d+\.", "Q.", answer)


def check_timeline(sample: Sample, events: Sequence[TimelineEvent]) -> None:
    assert {event.status for event in events} <= {TimelineStatus.COMPLETED, TimelineStatus.FAILED}
    failed = [event for event in events if event.status is TimelineStatus.FAILED]
    assert len(failed) <= len(sample.incident.planned_errors) * 2
    assert {TimelineEventType.ERROR, TimelineEventType.WARNING}.isdisjoint(event.event_type for event in events)
    forced = [event for event in events if event.metadata.get("forced_conclusion")]
    assert len(forced) == (1 if sample.name == "disk-full" else 0)


async def check_answers(engine: AsyncEngine, session_id: str, sample: Sample) -> None:
    """Each question got the answer that was recorded for it, without an error; another was refused, with what to set."""
    *answered, refused = await ChatRepository(Publisher(engine)).list(session_id)
    reported_stages = [record for record in await SessionHistory(engine).timelines(session_id) if record.stage.id != refused.stage_id]
    events = [event for record in reported_stages for execution in record.executions for event in execution.events]
    check_timeline(sample, events)
    reported = {event.stage_id: event.content for event in events if event.event_type is TimelineEventType.FINAL_ANALYSIS}
    recorded = {call.question: text_of(call) for call in sample.recording.calls}
    # Asked in another order, the answers cite their own results by other numbers.
    assert {message.content: _unnumbered(reported[message.stage_id]) for message in answered} == {
        question: _unnumbered(recorded[question]) for question in sample.questions
    }
    sums = [event.metadata["citations"] for event in events if event.event_type is TimelineEventType.FINAL_ANALYSIS]
    assert [one["failed"] + one["id_only"] + one["uncited"] for one in sums] == [0] * len(sums), "every citation, no exception"
    assert [event.metadata["remarks"] for event in events if event.metadata.get("remarks")] == []
    assert (refused.content, refused.status) == (NOT_RECORDED, RunStatus.FAILED)
    assert all(part in (refused.error_message or "") for part in (*sample.questions, "GOOGLE_API_KEY", "tarsy init local-model"))


@pytest.mark.parametrize("sample", list_samples(), ids=lambda sample: sample.name)
async def test_a_sample_runs_to_its_recorded_end_answers_its_questions_and_replays_to_the_last_byte(
    sample: Sample, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stdio, "server_process", with_forked_clusters(stdio.server_process, warm_command()[-1]))
    engine = create_engine(database_url)
    try:
        session_id, recording = await play(engine, sample)
        session = await SessionRepository(Publisher(engine)).get(session_id)
        assert session.status is SessionStatus.COMPLETED, session.error_message
        assert session.executive_summary == last_answer(sample, ".executive summary/")
        assert session.final_analysis
        assert session.final_analysis in last_answer(sample, f".{sample.chain.stages[-1].name}")
        assert session.verdict is not None
        assert session.verdict.confidence_reason == ""
        assert session.citations is not None
        assert session.citations.cited == session.citations.verified > 5
        assert session.citations.uncited == 0
        await check_answers(engine, session_id, sample)
        async with engine.connect() as connection:
            asked = await connection.execute(sa.select(llm_interactions.c.track, llm_interactions.c.turn, llm_interactions.c.error_code))
            investigation = {(call.track, call.turn, None) for call in sample.recording.calls if call.question is None}
            assert {tuple(row) for row in asked if ".chat/" not in row.track} == investigation
            errors = await connection.execute(sa.select(mcp_interactions.c.call_id).where(mcp_interactions.c.is_error))
            assert set(errors.scalars()) == set(sample.incident.planned_errors)
            stored = await connection.execute(sa.select(messages.c.content))
            assert not any("made-up" in text or "bWFkZS11c" in text or "eyJhbGciOi" in text for text in stored.scalars())
        assert await replayed(database_url, recording) == []
    finally:
        await engine.dispose()
