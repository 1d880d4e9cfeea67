"""Pure module: what a fork of an investigation keeps. It shares every step before a call of one of its agents, and goes on from there by itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from tarsy.domain.agent import LLMBackend
from tarsy.domain.execution import AgentExecution
from tarsy.domain.interaction import LLMInteractionKind
from tarsy.domain.provider import ResolvedProvider
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
class ForkPlan:
    """What is kept: stages and executions as they are, and of one execution what was before its call."""

    place: ForkPlace
    stage: Stage
    execution: AgentExecution
    stages: tuple[str, ...]
    executions: tuple[str, ...]


def fork_plan(stages: Sequence[Stage], executions: Sequence[AgentExecution], place: ForkPlace) -> ForkPlan:
    """Decide what a fork at `place` keeps.

    Raises:
        ForkRefusedError: saying where it could be forked instead.
    """
    forked = next(one for one in executions if one.id == place.execution_id)
    stage = next(one for one in stages if one.id == forked.stage_id)
    _check(forked, stage, place)
    before = {one.id for one in stages if one.stage_index < stage.stage_index}
    return ForkPlan(
        place=place,
        stage=stage,
        execution=forked,
        stages=tuple(one.id for one in stages if one.id in before),
        executions=_kept(executions, forked, before, place),
    )


def _check(forked: AgentExecution, stage: Stage, place: ForkPlace) -> None:
    if stage.stage_type in _AFTERWARDS:
        raise ForkRefusedError("Questions and judgements cannot be forked: ask again instead, or fork a step of the investigation.")
    if forked.parent_execution_id is not None:
        raise ForkRefusedError(
            f"{forked.agent_name} was sent by another agent, which waits for its report: fork at the call of the agent that sent it."
        )
    if place.kind in _NOT_BEGUN_BY:
        raise ForkRefusedError("This call belongs to a step that had begun: fork at the step's own call, the one before it.")


def _kept(executions: Sequence[AgentExecution], forked: AgentExecution, before: set[str], place: ForkPlace) -> tuple[str, ...]:
    """Those that are kept as they are. Agents of the same stage do not know of each other: the others keep what they found."""
    kept: set[str] = set()
    # Those that others sent come after them.
    for one in sorted(executions, key=lambda execution: execution.parent_execution_id is not None):
        if one.parent_execution_id is None:
            is_kept = one.stage_id in before or (one.stage_id == forked.stage_id and one.id != forked.id)
        elif one.parent_execution_id == forked.id:
            is_kept = one.started_at is not None and one.started_at < place.at
        else:
            is_kept = one.parent_execution_id in kept
        if is_kept:
            kept.add(one.id)
    return tuple(one.id for one in executions if one.id in kept)


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
