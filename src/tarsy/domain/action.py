"""Actions: the calls by which a stage that acts changed something, or would have, and whether that helped."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tarsy.domain.approval import Approval, ApprovalState, CallDecision
from tarsy.domain.history import ExecutionRecord, StageRecord
from tarsy.domain.stage import StageType
from tarsy.domain.status import TimelineStatus
from tarsy.domain.timeline import TimelineEvent, TimelineEventType
from tarsy.domain.tool import BUILT_IN_SERVER, INTERRUPTED_CALL, LOST_CALL
from tarsy.domain.verdict import Confidence, JudgedVerdict, VerdictOutcome, at_most

# Metadata key of the timeline events of a call that may change something, and its value in a dry run.
ACTION = "action"
DRY_RUN = "dry_run"
_SYMPTOM = re.compile(r"^[ \t>*`-]*symptom[\s*`]*:[\s*`]*(gone|persists|unknown)\b", re.IGNORECASE | re.MULTILINE)


class ActionOutcome(StrEnum):
    SUCCEEDED = "succeeded"
    # The tool reported an error.
    FAILED = "failed"
    # A person rejected it, its approval expired, or TARSy refused it.
    NOT_RUN = "not_run"
    DRY_RUN = "dry_run"
    # It did not answer in time, or its worker stopped: it may have taken effect. It is never repeated by itself.
    UNKNOWN = "unknown"
    # It waits for an approval, or it runs.
    PENDING = "pending"


class Verified(StrEnum):
    """Whether the symptom was gone after an action."""

    YES = "yes"
    NO = "no"
    # No call that only reads succeeded after the action, or the agent could not tell.
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """A call that changed something, or would have."""

    evidence_id: str
    # As in `server.tool {"argument": "value"}`, masked.
    call: str
    # None: the policy asked for no approval, or no person gave it.
    approved_by: str | None
    outcome: ActionOutcome
    verified: Verified

    def __str__(self) -> str:
        approved = f", approved by {self.approved_by}" if self.approved_by else ""
        verified = {Verified.YES: ", the symptom is gone", Verified.NO: ", the symptom persists", Verified.UNKNOWN: ""}[self.verified]
        return f"{self.call}: {self.outcome.value.replace('_', ' ')}{approved}{verified}"


def why_not_acted(judged: JudgedVerdict | None, needed: Confidence) -> str | None:
    """Return why a stage that needs this confidence does not act on a verdict; None if it may."""
    if judged is None:
        return "the analysis has no verdict"
    if judged.verdict.outcome is not VerdictOutcome.FAULT:
        return f"the verdict is {judged.verdict.outcome.value.replace('_', ' ')}"
    if at_most(judged.confidence, needed) is not needed:
        because = f" ({judged.confidence_reason.rstrip('.')})" if judged.confidence_reason else ""
        return f"it needs {needed} confidence, and the verdict has {judged.confidence}{because}"
    return None


def actions_of(records: Sequence[StageRecord], approvals: Sequence[Approval] = ()) -> tuple[Action, ...]:
    """Return the actions of a session, in the order of their calls; `approvals` show what became of calls that have no result."""
    decided = {(one.execution_id, one.call_id): one for one in approvals}
    acted = (one for record in records if record.stage.stage_type is StageType.ACTION for one in record.executions)
    return tuple(action for execution in acted for action in _of_execution(execution, decided))


def _of_execution(record: ExecutionRecord, decided: Mapping[tuple[str, str], Approval]) -> list[Action]:
    results = [event for event in record.events if event.event_type is TimelineEventType.TOOL_RESULT]
    # A call that was interrupted has several.
    last = {event.metadata["call_id"]: event for event in results}
    stated = _SYMPTOM.findall(record.conclusion)
    found: list[Action] = []
    for event in record.events:
        if event.event_type is not TimelineEventType.LLM_TOOL_CALL or ACTION not in event.metadata:
            continue
        call_id = event.metadata["call_id"]
        result, approval = last.get(call_id), decided.get((record.execution.id, call_id))
        outcome = _outcome(event, result, approval, is_over=record.execution.status.is_final)
        looked = any(result and one.sequence_number > result.sequence_number and _observes(one) for one in last.values())
        has_run = outcome in {ActionOutcome.SUCCEEDED, ActionOutcome.FAILED, ActionOutcome.UNKNOWN}
        verified = Verified.UNKNOWN
        if has_run and stated and looked:
            verified = {"gone": Verified.YES, "persists": Verified.NO}.get(stated[-1].lower(), Verified.UNKNOWN)
        found.append(
            Action(
                evidence_id=event.metadata["evidence_id"],
                call=f"{event.metadata['server_name']}.{event.metadata['tool_name']} {event.content}",
                approved_by=_approver(result, approval),
                outcome=outcome,
                verified=verified,
            )
        )
    return found


def _approver(result: TimelineEvent | None, approval: Approval | None) -> str | None:
    """Return the person who approved a call, by its result or, if it has none, by its approval."""
    if result and (decided := result.metadata.get("approval")):
        return decided["actor"] if decided["decision"] in {CallDecision.APPROVED, CallDecision.UNKNOWN, CallDecision.OUTDATED} else None
    return approval.decided_by if approval and approval.state is ApprovalState.APPROVED else None


def _observes(result: TimelineEvent) -> bool:
    """Whether a result shows the state of the system: that of a call which only reads, and succeeded."""
    is_foreign = result.metadata.get("server_name") != BUILT_IN_SERVER
    return ACTION not in result.metadata and is_foreign and result.status is TimelineStatus.COMPLETED


def _outcome(call: TimelineEvent, result: TimelineEvent | None, approval: Approval | None, *, is_over: bool) -> ActionOutcome:
    if result is None or result.status is TimelineStatus.STREAMING:
        if not is_over:
            return ActionOutcome.PENDING
        has_begun = result is not None or (approval is not None and approval.started_at is not None)
        return ActionOutcome.UNKNOWN if has_begun else ActionOutcome.NOT_RUN
    if result.metadata.get("is_error") and (INTERRUPTED_CALL in result.content or LOST_CALL in result.content):
        return ActionOutcome.UNKNOWN
    if result.metadata.get("refused"):
        return ActionOutcome.DRY_RUN if call.metadata[ACTION] == DRY_RUN else ActionOutcome.NOT_RUN
    return {TimelineStatus.COMPLETED: ActionOutcome.SUCCEEDED, TimelineStatus.FAILED: ActionOutcome.FAILED}.get(
        result.status, ActionOutcome.UNKNOWN
    )
