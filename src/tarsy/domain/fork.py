"""Pure module: what a fork of an investigation keeps. It shares every step before a call of one of its agents, and goes on from there by itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from tarsy.domain.execution import AgentExecution
from tarsy.domain.interaction import LLMInteractionKind
from tarsy.domain.llm import LLMBackend, ResolvedProvider
from tarsy.domain.stage import Stage, StageType

# What is done about an analysis that is there already: a question is asked anew, a judgement made anew, and a correction is its author's.
_AFTERWARDS = frozenset({StageType.CHAT, StageType.SCORING})
_NOT_BEGUN_BY = frozenset({LLMInteractionKind.SUMMARIZATION, LLMInteractionKind.CORRECTION})


class ForkRefusedError(Exception):
    """An investigation cannot be forked there; the person who asked can choose another place."""


@dataclass(frozen=True, slots=True)
class ModelUse:
    """A model, and the SDK by which it is reached."""

    provider: ResolvedProvider
    backend: LLMBackend


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkPlace:
    """A call that is made anew: which of which execution, and when it began."""

    execution_id: str
    turn: int
    kind: LLMInteractionKind
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatchTurn:
    """The turn in which another agent sent the one that is forked: that agent waits for the report anew, and goes on from there."""

    parent: AgentExecution
    # Of the call that sent it.
    evidence_id: str
    turn: int
    # When the sender called its model next; None: it had not come to that.
    until: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkPlan:
    """What is kept: stages and executions as they are, of one execution what was before its call, and of the one that sent it what was before its report."""

    place: ForkPlace
    stage: Stage
    execution: AgentExecution
    stages: tuple[str, ...]
    executions: tuple[str, ...]
    dispatch: DispatchTurn | None = None


def fork_plan(
    stages: Sequence[Stage], executions: Sequence[AgentExecution], calls: Sequence[ForkPlace], execution_id: str, turn: int
) -> ForkPlan:
    """Decide what a fork at the call `turn` of an execution keeps; `calls` are those that an investigation's conversations consist of.

    Raises:
        ForkRefusedError: saying where it could be forked instead.
    """
    forked = next(one for one in executions if one.id == execution_id)
    stage = next(one for one in stages if one.id == forked.stage_id)
    place = _place(calls, execution_id, turn)
    _check(stage, place)
    sending = _sending(executions, calls, forked)
    before = {one.id for one in stages if one.stage_index < stage.stage_index}
    return ForkPlan(
        place=place,
        stage=stage,
        execution=forked,
        stages=tuple(one.id for one in stages if one.id in before),
        executions=_kept(executions, {*before, stage.id}, place, sending),
        dispatch=sending,
    )


def _place(calls: Sequence[ForkPlace], execution_id: str, turn: int) -> ForkPlace:
    own = [call for call in calls if call.execution_id == execution_id]
    place = next((call for call in own if call.turn == turn), None)
    if place is None:
        raise ForkRefusedError(f"That agent made {len(own)} calls to its model, numbered from 0; it has no call {turn}.")
    return place


def _check(stage: Stage, place: ForkPlace) -> None:
    if stage.stage_type in _AFTERWARDS:
        raise ForkRefusedError("Questions and judgements cannot be forked: ask again instead, or fork a step of the investigation.")
    if place.kind in _NOT_BEGUN_BY:
        raise ForkRefusedError("This call belongs to a step that had begun: fork at the step's own call, the one before it.")


def _sending(executions: Sequence[AgentExecution], calls: Sequence[ForkPlace], sent: AgentExecution) -> DispatchTurn | None:
    """The turn in which an agent was sent; None for one of the plan. A sender calls its model no more until those it has sent are back."""
    sender = next((one for one in executions if one.id == sent.parent_execution_id), None)
    if sender is None or sent.dispatched_by is None:
        return None
    begun = min(call.at for call in calls if call.execution_id == sent.id)
    own = sorted((call for call in calls if call.execution_id == sender.id), key=lambda call: call.turn)
    turn = max(call.turn for call in own if call.at < begun)
    until = next((call.at for call in own if call.turn > turn), None)
    return DispatchTurn(parent=sender, evidence_id=sent.dispatched_by, turn=turn, until=until)


def _kept(executions: Sequence[AgentExecution], stages: set[str], place: ForkPlace, sending: DispatchTurn | None) -> tuple[str, ...]:
    """Those that are kept as they are. Agents that work at the same time do not know of each other: the others keep what they found."""
    kept: set[str] = set()
    going_on = {place.execution_id, *([sending.parent.id] if sending else [])}
    until = sending.until if sending else place.at
    # Those that others sent come after them.
    for one in sorted(executions, key=lambda execution: execution.parent_execution_id is not None):
        if one.id in going_on:
            continue
        if one.parent_execution_id is None:
            is_kept = one.stage_id in stages
        elif one.parent_execution_id in going_on:
            is_kept = _was_sent_before(one, until)
        else:
            is_kept = one.parent_execution_id in kept
        if is_kept:
            kept.add(one.id)
    return tuple(one.id for one in executions if one.id in kept)


def _was_sent_before(one: AgentExecution, until: datetime | None) -> bool:
    # One whose time was over before it began has only an end.
    moment = one.started_at or one.completed_at
    return until is None or (moment is not None and moment < until)


def with_model(snapshot: Mapping[str, Any], use: ModelUse) -> dict[str, Any]:
    """A stored chain, each of whose agents asks another model. It falls back to none: that one is wanted, and no other."""
    return cast("dict[str, Any]", _replaced(dict(snapshot), use))


def _replaced(value: Any, use: ModelUse) -> Any:
    if isinstance(value, list):
        return [_replaced(item, use) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    fields = {key: _replaced(item, use) for key, item in cast("dict[str, Any]", value).items()}
    if not fields.get("provider"):
        return fields
    backends = {name: use.backend.value for name in ("llm_backend", "backend") if name in fields}
    fallbacks: dict[str, Any] = {"fallback_providers": []} if "fallback_providers" in fields else {}
    return {**fields, "provider": use.provider.model_dump(mode="json"), **backends, **fallbacks}
