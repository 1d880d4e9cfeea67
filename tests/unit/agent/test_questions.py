"""What a model is asked is stored with a quick answer, or before it where a note might still change it."""

from dataclasses import dataclass, field

import pytest

from support.agent_scenario import Scenario, chain, helper, says, stage
from support.memory_run import MemoryJournal, MemoryRun
from tarsy.domain.execution import AgentType
from tarsy.domain.status import RunStatus
from tarsy.domain.step import Committed, Step

TRACK = "0.look/1.Helper"


@dataclass(slots=True)
class Patient(MemoryJournal):
    """A journal that keeps what may wait until the next step, and how many messages each step brought."""

    waiting: list[Step] = field(default_factory=list[Step])
    brought: list[int] = field(default_factory=list[int])

    def soon(self, step: Step, written: object) -> None:
        del written  # nobody watches
        self.waiting.append(step)

    async def commit(self, step: Step) -> Committed:
        for earlier in reversed(self.waiting):
            step = earlier.then(step)
        self.waiting = []
        self.brought.append(len(step.messages))
        return await super(Patient, self).commit(step)


@pytest.mark.parametrize(("kind", "first"), [(AgentType.EXEC_SUMMARY, 3), (AgentType.SYNTHESIS, 2)])
async def test_the_question_goes_with_the_answer_unless_a_note_must_be_heard_before(kind: AgentType, first: int) -> None:
    answers = [says(TRACK, 0, "It is the disk."), says(TRACK, 1, "It is the disk.")]
    run = MemoryRun(Scenario(chain(stage(helper("Helper", kind))), answers), TRACK, journal=Patient())
    result = await run.go_on()
    assert (result.status, result.final_analysis) == (RunStatus.COMPLETED, "It is the disk.")
    assert isinstance(run.journal, Patient)
    assert run.journal.brought[0] == first
