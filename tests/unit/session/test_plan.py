"""What a chain amounts to, and what follows what."""

from hypothesis import given
from hypothesis import strategies as st

from support.agent_scenario import agent, chain, stage
from tarsy.domain.stage import StageType
from tarsy.domain.status import RunStatus, SessionStatus
from tarsy.session.plan import FinishSession, PlannedStage, StageOutcome, ended_early, next_step, plan

SIZES = st.lists(st.integers(1, 3), min_size=1, max_size=5)


def _chain(sizes: list[int]):  # noqa: ANN202 - the builder's own type
    return chain(*(stage(*(agent(f"A{n}") for n in range(size)), name=f"s{index}") for index, size in enumerate(sizes)))


@given(SIZES)
def test_every_stage_with_several_agents_is_synthesised_and_a_summary_comes_last(sizes: list[int]) -> None:
    stages = plan(_chain(sizes))
    assert [one.index for one in stages] == list(range(len(stages)))
    assert stages[-1].stage_type is StageType.EXEC_SUMMARY
    syntheses = [one for one in stages if one.stage_type is StageType.SYNTHESIS]
    assert len(syntheses) == sum(size > 1 for size in sizes)
    for one in syntheses:
        assert one.references == one.index - 1
        assert len(stages[one.index - 1].agents) > 1


@given(SIZES, st.data())
def test_a_chain_runs_stage_by_stage_until_one_fails(sizes: list[int], data: st.DataObject) -> None:
    stages = plan(_chain(sizes))
    failing = data.draw(st.integers(0, len(stages)))
    done: list[StageOutcome] = []
    while isinstance(step := next_step(stages, done), PlannedStage):
        assert step is stages[len(done)]
        status = RunStatus.FAILED if len(done) == failing else RunStatus.COMPLETED
        conclusion = f"analysis {len(done)}" if status is RunStatus.COMPLETED else ""
        done.append(StageOutcome(step, status, conclusion))
    assert isinstance(step, FinishSession)
    if failing >= len(stages) - 1:
        assert step.status is SessionStatus.COMPLETED
        assert (step.executive_summary is None) == (failing == len(stages) - 1)
    else:
        assert step.status is SessionStatus.FAILED
        assert len(done) == failing + 1, "nothing runs after a failed stage"


@given(SIZES, st.data())
def test_a_session_that_is_stopped_needs_no_time_for_its_summary(sizes: list[int], data: st.DataObject) -> None:
    stages = plan(_chain(sizes))
    ended = stages[: data.draw(st.integers(0, len(stages)))]
    done = [StageOutcome(one, RunStatus.COMPLETED, f"analysis {one.index}") for one in ended]
    late, stopped = (ended_early(stages, done, status, "why") for status in (RunStatus.TIMED_OUT, RunStatus.CANCELLED))
    enough = len(done) >= len(stages) - 1
    assert (late.status, late.partial) == ((SessionStatus.COMPLETED, False) if enough else (SessionStatus.TIMED_OUT, True))
    assert (late.executive_summary_error == "why") == (len(done) == len(stages) - 1)
    assert (stopped.status, stopped.partial, stopped.error) == (SessionStatus.CANCELLED, True, "why")


def test_a_chain_whose_summary_is_switched_off_is_complete_after_its_last_stage() -> None:
    stages = plan(chain(stage(agent("A")), executive_summary=None))
    assert [one.stage_type for one in stages] == [StageType.INVESTIGATION]
    done = [StageOutcome(stages[0], RunStatus.COMPLETED, "the disk")]
    assert next_step(stages, done) == FinishSession(status=SessionStatus.COMPLETED)
