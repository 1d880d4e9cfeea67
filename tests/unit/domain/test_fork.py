"""What a fork keeps of the investigation it comes from."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from tarsy.domain.execution import AgentExecution
from tarsy.domain.fork import ForkPlace, ForkRefusedError, ModelUse, fork_plan, with_model
from tarsy.domain.interaction import LLMInteractionKind
from tarsy.domain.llm import LLMBackend, ProviderType, ResolvedProvider, provider_named
from tarsy.domain.stage import Stage, StageType
from tarsy.domain.status import RunStatus

AT = datetime(2026, 1, 1, tzinfo=UTC)


def stage(name: str, index: int, kind: StageType = StageType.INVESTIGATION) -> Stage:
    return Stage(
        id=name, session_id="s", stage_name=name, stage_index=index, stage_type=kind, expected_agent_count=1, status=RunStatus.COMPLETED
    )


def execution(name: str, of_stage: str, parent: str | None = None, *, after: float = 0) -> AgentExecution:
    return AgentExecution(
        id=name,
        session_id="s",
        stage_id=of_stage,
        agent_name=name,
        agent_index=1,
        llm_backend="langchain",
        llm_provider="one",
        model_name="m",
        tool_calling="native",
        status=RunStatus.COMPLETED,
        parent_execution_id=parent,
        dispatched_by=f"call of {name}" if parent else None,
        started_at=AT + timedelta(seconds=after),
    )


STAGES = [stage("first", 0), stage("second", 1), stage("third", 2), stage("chat", 3, StageType.CHAT)]
EXECUTIONS = [
    execution("a", "first"),
    execution("a-sent", "first", "a"),
    execution("b", "second"),
    execution("b-early", "second", "b", after=5),
    execution("b-late", "second", "b", after=20),
    execution("c", "second"),
    execution("c-sent", "second", "c", after=30),
    execution("d", "third"),
    execution("q", "chat"),
]


def call(of: str, turn: int, at: float, kind: LLMInteractionKind = LLMInteractionKind.ITERATION) -> ForkPlace:
    return ForkPlace(execution_id=of, turn=turn, kind=kind, at=AT + timedelta(seconds=at))


CALLS = [
    call("b", 0, 1),
    call("b", 1, 4),
    call("b-early", 0, 6),
    call("b-early", 1, 8),
    call("b", 2, 10),
    call("b-late", 0, 21),
    call("b", 3, 25, LLMInteractionKind.CORRECTION),
    call("q", 0, 40),
]


def test_a_fork_keeps_what_was_before_and_what_others_found_at_the_same_time() -> None:
    plan = fork_plan(STAGES, EXECUTIONS, CALLS, "b", 2)
    assert (plan.stage.id, plan.execution.id, plan.stages, plan.dispatch) == ("second", "b", ("first",), None)
    # Of the agents that the forked one sent, those that had come back.
    assert plan.executions == ("a", "a-sent", "b-early", "c", "c-sent")


def test_a_fork_of_an_agent_that_was_sent_keeps_those_sent_with_it_and_its_sender_goes_on_from_there() -> None:
    beside, unbegun = execution("b-beside", "second", "b", after=7), execution("b-unbegun", "second", "b")
    unbegun = replace(unbegun, started_at=None, completed_at=AT + timedelta(seconds=9))
    plan = fork_plan(STAGES, [*EXECUTIONS, beside, unbegun], CALLS, "b-early", 1)
    assert plan.dispatch is not None
    assert (plan.execution.id, plan.dispatch.parent.id, plan.dispatch.evidence_id) == ("b-early", "b", "call of b-early")
    # It was sent by the second call, and the third knew of its report.
    assert (plan.dispatch.turn, plan.dispatch.until) == (1, AT + timedelta(seconds=10))
    assert plan.executions == ("a", "a-sent", "c", "c-sent", "b-beside", "b-unbegun")


def test_a_sender_that_did_not_come_to_its_next_call_had_sent_all_of_them() -> None:
    plan = fork_plan(STAGES, EXECUTIONS, [one for one in CALLS if one.at < AT + timedelta(seconds=10)], "b-early", 0)
    assert plan.dispatch is not None
    assert plan.dispatch.until is None
    assert "b-late" in plan.executions


@pytest.mark.parametrize(
    ("execution_id", "turn", "reason"),
    [("q", 0, "ask again instead"), ("b", 3, "fork at the step's own call"), ("b", 9, "made 4 calls to its model")],
)
def test_where_no_step_begins_nothing_can_be_forked(execution_id: str, turn: int, reason: str) -> None:
    with pytest.raises(ForkRefusedError, match=reason):
        fork_plan(STAGES, EXECUTIONS, CALLS, execution_id, turn)


def test_another_model_is_asked_everywhere_and_no_other_after_it() -> None:
    old = {"name": "old", "type": "openai", "model": "m1"}
    agent = {
        "provider": old,
        "llm_backend": "native-gemini",
        "fallback_providers": [{"provider": old, "backend": "langchain"}],
        "sub_agents": [{"provider": old, "llm_backend": "langchain"}],
    }
    snapshot = {"stages": [{"agents": [agent], "synthesis": None}], "mcp_servers": {"k8s": {"summarization": {"provider": None}}}}
    new = ResolvedProvider(name="new", type=ProviderType.ANTHROPIC, model="m2")
    changed = with_model(snapshot, ModelUse(new, LLMBackend.LANGCHAIN))
    assert provider_named(changed, "old") is None
    assert provider_named(changed, "new") == new
    [asked] = changed["stages"][0]["agents"]
    assert (asked["llm_backend"], asked["fallback_providers"]) == ("langchain", [])
    assert changed["mcp_servers"] == snapshot["mcp_servers"]
    assert provider_named(snapshot, "old") is not None
