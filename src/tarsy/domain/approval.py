"""Approvals: tool calls that wait for a person's decision, and what follows from it."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, assert_never

# How long a call waits, in seconds: enough to be called to a screen. After that the situation may be another.
APPROVAL_EXPIRY = 1800.0


class ApprovalState(StrEnum):
    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    # The time was up, or the agent or session ended, before a person decided.
    EXPIRED = "expired"


class CallOutcome(StrEnum):
    """What is known about a call that needs an approval."""

    NOT_RUN = "not_run"
    RUNNING = "running"
    RAN = "ran"
    # Its worker stopped after it had begun, and before its result was stored: it is never repeated.
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequest:
    """The exact call that a person has to decide about."""

    session_id: str
    execution_id: str
    call_id: str
    evidence_id: str
    server: str
    tool: str
    # As JSON, as they are sent to the server.
    arguments: str
    call_hash: str
    # In seconds.
    expiry: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """A call that needs an approval, with the decision. The decision holds for the call with this hash only."""

    id: str
    session_id: str
    execution_id: str
    call_id: str
    evidence_id: str
    server: str
    tool: str
    arguments: str
    call_hash: str
    state: ApprovalState
    requested_at: datetime
    expires_at: datetime
    decided_at: datetime | None = None
    decided_by: str | None = None
    reason: str = ""
    started_at: datetime | None = None
    outcome: CallOutcome = CallOutcome.NOT_RUN


def call_hash(server: str, tool: str, schema: Mapping[str, Any], arguments: str) -> str:
    """Return the hash that a decision is bound to: any change of the server, the tool, its schema or the arguments changes it."""
    content = json.dumps([server, tool, schema, arguments], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()


class CallDecision(StrEnum):
    """What follows for a call that needs an approval."""

    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    # Approved, but the tool has changed since.
    OUTDATED = "outdated"
    # Approved and begun by a worker that stopped before it had a result.
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class CallDecided:
    """What was decided about a tool call that needs an approval, as an input of its run; `actor` is the person, empty if the time was up."""

    evidence_id: str
    decision: CallDecision
    actor: str = ""
    reason: str = ""


def decision_of(approval: Approval, current_hash: str | None) -> CallDecision | None:
    """Return what follows for a call whose hash is now `current_hash` (None: there is no such tool any more); None while it waits."""
    match approval.state:
        case ApprovalState.PENDING:
            return None
        case ApprovalState.REJECTED:
            return CallDecision.REJECTED
        case ApprovalState.EXPIRED:
            return CallDecision.EXPIRED
        case ApprovalState.APPROVED if approval.started_at is not None:
            return CallDecision.UNKNOWN
        case ApprovalState.APPROVED:
            return CallDecision.APPROVED if current_hash == approval.call_hash else CallDecision.OUTDATED
        case _:
            assert_never(approval.state)
