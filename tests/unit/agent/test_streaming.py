"""Streamed text: its row is stored before its first words are delivered, also during a database outage."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

import anyio
import pytest

from support.agent_scenario import PROVIDER, Scenario, agent, answers, calls, chain, says, stage, thinks
from support.memory_run import MemoryJournal, MemoryRun
from tarsy.agent.execution import StopReason, StopState
from tarsy.domain.live_events import StreamDelta
from tarsy.domain.llm import Chunk, GenerateInput, LLMHealth, TextChunk
from tarsy.domain.status import RunStatus
from tarsy.domain.step import Committed, Step
from tarsy.domain.timeline import TimelineEventType

TRACK = "0.look/1.Investigator"


@dataclass(slots=True)
class Watched(MemoryJournal):
    """A journal whose database can be away; it keeps the text that is delivered to clients."""

    # While set, steps wait for it as between two attempts.
    away: anyio.Event | None = None
    # Set when a step waits.
    waits: anyio.Event = field(default_factory=anyio.Event)
    delivered: dict[str, str] = field(default_factory=dict[str, str])

    async def commit(self, step: Step) -> Committed:
        if self.away:
            self.waits.set()
            await self.away.wait()
        return await MemoryJournal.commit(self, step)

    def publish(self, delta: StreamDelta) -> None:
        assert delta.event_id in self.events, "a client that got these words could not find the event they belong to"
        assert delta.offset == len(self.delivered.get(delta.event_id, ""))
        self.delivered[delta.event_id] = self.delivered.get(delta.event_id, "") + delta.delta


async def test_the_row_of_a_text_is_stored_before_its_first_words_are_delivered() -> None:
    texts = [
        says(TRACK, 0, thinks("Which pods?"), "I look at ", "the pods.", calls("a", "k8s.pods")),
        says(TRACK, 1, thinks("All well."), "Nothing ", "is wrong."),
        says(TRACK, 2, "Nothing is wrong."),
    ]
    journal = Watched()
    run = MemoryRun(Scenario(chain(stage(agent())), texts, [answers(TRACK, "a", "k8s.pods", "web-1 Running")]), TRACK, journal)
    assert (await run.go_on()).status is RunStatus.COMPLETED
    kinds = {journal.events[event_id].event_type for event_id in journal.delivered}
    assert kinds == {TimelineEventType.LLM_THINKING, TimelineEventType.LLM_RESPONSE, TimelineEventType.FINAL_ANALYSIS}
    assert "".join(journal.delivered.values()).startswith("Which pods?I look at the pods.All well.")


@dataclass(slots=True)
class Model:
    """Streams its first words once `begins` is set, and then waits until it is cancelled."""

    begins: anyio.Event = field(default_factory=anyio.Event)

    async def generate(self, request: GenerateInput) -> AsyncGenerator[Chunk]:
        del request
        await self.begins.wait()
        yield TextChunk("It is the ")
        await anyio.sleep_forever()

    async def health(self) -> LLMHealth:
        return LLMHealth(ok=True, detail="")

    async def aclose(self) -> None:
        """There is nothing to close."""


@pytest.mark.parametrize("comes_back", [True, False])
async def test_a_run_that_is_cancelled_while_the_database_is_away_ends_at_once_and_closes_only_what_is_stored(
    monkeypatch: pytest.MonkeyPatch, *, comes_back: bool
) -> None:
    monkeypatch.setattr("tarsy.agent.agent.LAST_WRITE_SECONDS", 60.0 if comes_back else 0.01)
    model, journal = Model(), Watched()
    config = agent(provider=PROVIDER.model_copy(update={"name": "slow"}))
    run = MemoryRun(Scenario(chain(stage(config)), [], llm=model), TRACK, journal)
    stopping = StopState(parent=StopState(), own_reason=StopReason.CANCELLED)
    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run.run_until_stopped, stopping)
            await anyio.wait_all_tasks_blocked()
            journal.away = anyio.Event()
            model.begins.set()
            await journal.waits.wait()
            tasks.cancel_scope.cancel()
            if comes_back:
                journal.away = None
    assert journal.delivered == {}
    assert all(event.completed_at is not None for event in journal.events.values())
    assert journal.status is (RunStatus.CANCELLED if comes_back else RunStatus.ACTIVE)
