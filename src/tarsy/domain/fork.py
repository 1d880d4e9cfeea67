"""Forks: a new session that keeps every step of another one before a given model call, and runs on its own from there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from tarsy.domain.execution import AgentExecution
from tarsy.domain.interaction import SIDE_CALL_KINDS, LLMInteractionKind
from tarsy.domain.llm import LLMBackend, ResolvedProvider
from tarsy.domain.stage import Stage, StageType

# Questions and scores cannot be forked, nor can calls within a step.
_AFTERWARDS = frozenset({StageType.CHAT, StageType.SCORING})
_WITHIN_A_STEP = frozenset({*SIDE_CALL_KINDS, LLMInteractionKind.CORRECTION})


class ForkRefusedError(Exception):
    """An investigation cannot be forked at this call; the caller can choose another one."""


@dataclass(frozen=True, slots=True)
class ModelUse:
    """A model, and the SDK that reaches it."""

    provider: ResolvedProvider
    backend: LLMBackend


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkPlace:
    """A model call of an investigation: its execution, its turn, its kind, and when it began."""

    execution_id: str
    turn: int
    kind: LLMInteractionKind
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatchTurn:
    """The turn in which the parent agent dispatched the forked one. In the fork the parent waits for the new report."""

    parent: AgentExecution
    # Of the dispatching tool call.
    evidence_id: str
    turn: int
    # When the parent made its next model call; None: it made none.
    until: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkPlan:
    """What a fork keeps: `stages` and `executions` unchanged, the forked execution up to its call, and its parent up to the report."""

    place: ForkPlace
    stage: Stage
    execution: AgentExecution
    stages: tuple[str, ...]
    executions: tuple[str, ...]
    dispatch: DispatchTurn | None = None


def fork_plan(
    stages: Sequence[Stage], executions: Sequence[AgentExecution], calls: Sequence[ForkPlace], execution_id: str, turn: int
) -> ForkPlan:
    """Decide what a fork at call `turn` of an execution keeps; `calls` are all model calls of the investigation's conversations.

    Raises:
        ForkRefusedError: with where it could be forked instead.
    """
    forked = next(one for one in executions if one.id == execution_id)
    stage = next(one for one in stages if one.id == forked.stage_id)
    own = [call for call in calls if call.execution_id == execution_id]
    place = next((call for call in own if call.turn == turn), None)
    if place is None:
        raise ForkRefusedError(f"That agent made {len(own)} calls to its model, numbered from 0; it has no call {turn}.")
    if stage.stage_type in _AFTERWARDS:
        raise ForkRefusedError("Questions and scores cannot be forked: ask again instead, or fork a step of the investigation.")
    if place.kind in _WITHIN_A_STEP:
        raise ForkRefusedError("This call belongs to a step that had begun: fork at the step's own call, the one before it.")
    dispatch = _dispatch_of(executions, calls, forked)
    before = {one.id for one in stages if one.stage_index < stage.stage_index}
    return ForkPlan(
        place=place,
        stage=stage,
        execution=forked,
        stages=tuple(one.id for one in stages if one.id in before),
        executions=_kept(executions, {*before, stage.id}, place, dispatch),
        dispatch=dispatch,
    )


def _dispatch_of(executions: Sequence[AgentExecution], calls: Sequence[ForkPlace], child: AgentExecution) -> DispatchTurn | None:
    """Return the turn in which an agent was dispatched; None for an agent of the plan.

    A parent makes no model call until the agents that it dispatched have reported, so its last call before theirs is the one.
    """
    parent = next((one for one in executions if one.id == child.parent_execution_id), None)
    if parent is None or child.dispatched_by is None:
        return None
    begun = min(call.at for call in calls if call.execution_id == child.id)
    own = sorted((call for call in calls if call.execution_id == parent.id), key=lambda call: call.turn)
    turn = max(call.turn for call in own if call.at < begun)
    until = next((call.at for call in own if call.turn > turn), None)
    return DispatchTurn(parent=parent, evidence_id=child.dispatched_by, turn=turn, until=until)


def _kept(executions: Sequence[AgentExecution], stages: set[str], place: ForkPlace, dispatch: DispatchTurn | None) -> tuple[str, ...]:
    """Return the executions that are kept unchanged. Concurrent agents are independent: the others keep their results."""
    kept: set[str] = set()
    continued = {place.execution_id, *([dispatch.parent.id] if dispatch else [])}
    until = dispatch.until if dispatch else place.at
    # Parents first.
    for one in sorted(executions, key=lambda execution: execution.parent_execution_id is not None):
        if one.id in continued:
            continue
        if one.parent_execution_id is None:
            is_kept = one.stage_id in stages
        elif one.parent_execution_id in continued:
            # An execution whose time was up before it began has no start.
            moment = one.started_at or one.completed_at
            is_kept = until is None or (moment is not None and moment < until)
        else:
            is_kept = one.parent_execution_id in kept
        if is_kept:
            kept.add(one.id)
    return tuple(one.id for one in executions if one.id in kept)


def with_model(snapshot: Mapping[str, Any], use: ModelUse) -> dict[str, Any]:
    """Return a stored chain with another model for all its agents, without fallbacks to other models."""
    new: dict[str, Any] = {
        "provider": use.provider.model_dump(mode="json"),
        "llm_backend": use.backend.value,
        "backend": use.backend.value,
        "fallback_providers": [],
    }

    def replaced(value: Any) -> Any:
        if isinstance(value, list):
            return [replaced(item) for item in cast("list[Any]", value)]
        if not isinstance(value, dict):
            return value
        fields = {key: replaced(item) for key, item in cast("dict[str, Any]", value).items()}
        return {key: new.get(key, item) for key, item in fields.items()} if fields.get("provider") else fields

    return replaced(dict(snapshot))
