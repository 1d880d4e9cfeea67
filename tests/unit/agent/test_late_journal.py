"""What need not be written at once: it goes with the next step, alone if none comes, and in no case is it lost or late."""

from dataclasses import dataclass, field, replace

import anyio
import pytest

from support.timeline_entries import streaming
from tarsy.agent.late_journal import LateJournal
from tarsy.domain.claim import INVESTIGATION, Claim, ClaimLostError
from tarsy.domain.step import Committed, Step, StoredRun

CLAIM = Claim(INVESTIGATION, "work", "session", "token", "session")
OTHER = replace(CLAIM, id="other", token="other")
NEVER = 3600.0


@dataclass(slots=True)
class Written:
    """A journal that keeps the texts of what was opened, step by step."""

    steps: list[list[str]] = field(default_factory=list[list[str]])
    error: Exception | None = None
    refuses: bool = False
    # Steps wait here, each between two attempts.
    away: anyio.Event | None = None

    # Set when the first step is to be written.
    asked: anyio.Event = field(default_factory=anyio.Event)

    async def commit(self, step: Step) -> Committed:
        self.asked.set()
        if self.away:
            await self.away.wait()
        if self.error:
            raise self.error
        if self.refuses and step.unless_notes:
            return Committed(refused=True)
        self.steps.append([event.content for event in step.opened])
        return Committed()

    async def load(self, execution_id: str) -> StoredRun:
        raise AssertionError(execution_id)


def says(text: str, claim: Claim = CLAIM) -> Step:
    return Step(claim=claim, opened=(replace(streaming(claim), content=text),))


async def test_what_waits_goes_first_in_the_next_step_of_its_claim() -> None:
    below, told = Written(), list[str]()
    journal = LateJournal(below, moment=NEVER)
    journal.soon(says("a"), lambda: told.append("a"))
    journal.soon(says("b"), lambda: told.append("b"))
    await journal.commit(says("other", OTHER))
    assert (below.steps, told) == ([["other"]], [])
    await journal.commit(says("c"))
    await journal.commit(says("d"))
    assert (below.steps, told) == ([["other"], ["a", "b", "c"], ["d"]], ["a", "b"])


async def test_what_no_step_takes_along_is_written_alone() -> None:
    below, written = Written(), anyio.Event()
    journal = LateJournal(below, moment=0.001)
    journal.soon(says("a"), written.set)
    with anyio.fail_after(10):
        await written.wait()
    await journal.commit(says("b"))
    assert below.steps == [["a"], ["b"]]


async def test_no_step_overtakes_what_is_being_written_alone() -> None:
    below, written = Written(away=anyio.Event()), anyio.Event()
    journal = LateJournal(below, moment=0.0)
    journal.soon(says("a"), written.set)
    await below.asked.wait()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(journal.commit, says("b"))
        await anyio.wait_all_tasks_blocked()
        assert below.away
        below.away.set()
    assert below.steps == [["a"], ["b"]]


async def test_what_waited_for_a_step_that_is_refused_goes_with_the_one_that_comes_instead() -> None:
    below, told = Written(refuses=True), list[str]()
    journal = LateJournal(below, moment=NEVER)
    journal.soon(says("a"), lambda: told.append("a"))
    assert (await journal.commit(replace(says("the end"), unless_notes=True))).refused
    assert (below.steps, told) == ([], [])
    await journal.commit(says("a note"))
    assert (below.steps, told) == ([["a", "a note"]], ["a"])


async def test_the_run_hears_what_kept_a_step_from_being_written_alone() -> None:
    below = Written(error=OSError("the disk has died"))
    journal = LateJournal(below, moment=0.0)
    journal.soon(says("a"), lambda: None)
    await below.asked.wait()
    below.error = None
    with pytest.raises(OSError, match="the disk has died"):
        await journal.commit(says("b"))


async def test_a_claim_that_is_lost_meanwhile_is_told_by_the_next_step() -> None:
    below = Written(error=ClaimLostError(CLAIM))
    journal = LateJournal(below, moment=0.0)
    journal.soon(says("a"), lambda: None)
    await below.asked.wait()
    with pytest.raises(ClaimLostError):
        await journal.commit(says("b"))


async def test_a_run_that_is_stopped_writes_its_last_step_though_the_one_before_waits_for_the_database() -> None:
    below = Written(away=anyio.Event())
    journal = LateJournal(below, moment=0.0)
    journal.soon(says("a"), lambda: None)
    await below.asked.wait()

    async def last_step() -> None:
        with anyio.CancelScope(shield=True), anyio.move_on_after(0):
            below.away = None
            await journal.commit(says("the end"))

    with anyio.fail_after(10):
        await last_step()
    assert below.steps == [["the end"]]


def test_two_steps_as_one_keep_their_order_and_the_wishes_of_the_later() -> None:
    noted = replace(says("b"), notes_after=3, unless_notes=True)
    both = says("a").then(noted)
    assert ([event.content for event in both.opened], both.notes_after, both.unless_notes) == (["a", "b"], 3, True)
