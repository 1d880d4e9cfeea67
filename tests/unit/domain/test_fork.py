"""What a fork keeps of the investigation it comes from."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from tarsy.domain.agent import LLMBackend, ProviderType
from tarsy.domain.execution import AgentExecution
from tarsy.domain.fork import ForkPlace, ForkRefusedError, ModelUse, fork_plan, with_model
from tarsy.domain.interaction import LLMInteractionKind
from tarsy.domain.provider import ResolvedProvider, provider_named
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
PLACE = ForkPlace(execution_id="b", turn=2, kind=LLMInteractionKind.ITERATION, at=AT + timedelta(seconds=10))


def test_a_fork_keeps_what_was_before_and_what_others_found_at_the_same_time() -> None:
    plan = fork_plan(STAGES, EXECUTIONS, PLACE)
    assert (plan.stage.id, plan.execution.id, plan.stages) == ("second", "b", ("first",))
    # Of the agents that the forked one sent, those that had come back.
    assert plan.executions == ("a", "a-sent", "b-early", "c", "c-sent")


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        (replace(PLACE, execution_id="q"), "ask again instead"),
        (replace(PLACE, execution_id="b-early"), "fork at the call of the agent that sent it"),
        (replace(PLACE, kind=LLMInteractionKind.CORRECTION), "fork at the step's own call"),
    ],
)
def test_where_no_step_begins_nothing_can_be_forked(place: ForkPlace, reason: str) -> None:
    with pytest.raises(ForkRefusedError, match=reason):
        fork_plan(STAGES, EXECUTIONS, place)


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
