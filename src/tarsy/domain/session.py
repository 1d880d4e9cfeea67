"""Sessions: one alert and one run of a chain."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from tarsy.domain.citation import CitationCounts
from tarsy.domain.execution import AgentType
from tarsy.domain.llm import ProviderType
from tarsy.domain.status import SessionStatus
from tarsy.domain.verdict import JudgedVerdict

# Larger alerts are rejected, not truncated: half an alert leads to a wrong analysis.
MAX_ALERT_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackThread:
    """The thread in Slack in which a person asked for something; the result is posted there. `ts` is the id of its first message."""

    channel: str
    ts: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSession:
    """A session as it is submitted."""

    id: str
    alert_data: str
    alert_type: str
    chain_id: str
    chain_snapshot: Mapping[str, Any]
    author: str
    # Seeds the fences around untrusted text: unguessable, and the same when the session is replayed.
    nonce: str
    runbook_url: str | None = None
    runbook: str | None = None
    mcp_selection: Mapping[str, Any] | None = None
    # The incident it investigates; None for an alert that was posted directly.
    incident_id: str | None = None
    # For a fork of another session: `session_id`, `stage`, `agent`, `dispatched_by`, `turn`, `model` if it uses another one, and `received_at`.
    fork: Mapping[str, Any] | None = None
    # A text by which the alert's own message in Slack is found.
    slack_message_fingerprint: str | None = None
    slack_thread: SlackThread | None = None
    created_at: datetime

    @property
    def received_at(self) -> datetime:
        """Return when the alert was received; for a fork, when the forked session received it."""
        return datetime.fromisoformat(self.fork["received_at"]) if self.fork else self.created_at


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertSession(NewSession):
    """A stored session with its status and results."""

    status: SessionStatus
    final_analysis: str | None = None
    # The chain ended before its last stage, or the conclusion has a shortcoming.
    analysis_is_partial: bool = False
    # One sentence for people.
    analysis_partial_reason: str | None = None
    executive_summary: str | None = None
    executive_summary_error: str | None = None
    # None: the analysis has none, or is older than verdicts.
    verdict: JudgedVerdict | None = None
    citations: CitationCounts | None = None
    error_message: str | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None
    deleted_at: datetime | None = None

    @property
    def is_recorded(self) -> bool:
        """Return whether the answers of its models come from a recording: a sample, or a replay."""
        return any(agent.get("provider", {}).get("type") == ProviderType.REPLAY for agent in self._agents)

    @property
    def may_act(self) -> bool:
        """Return whether its chain has a stage that may change something."""
        return any(agent.get("type") == AgentType.ACTION for agent in self._agents)

    @property
    def _agents(self) -> Iterator[Mapping[str, Any]]:
        return (agent for stage in self.chain_snapshot.get("stages", ()) for agent in stage["agents"])


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionConclusion:
    """What a session has found. It is published before the executive summary is requested, and again with the end of the session."""

    final_analysis: str | None = None
    analysis_is_partial: bool = False
    # One sentence for people.
    analysis_partial_reason: str | None = None
    verdict: JudgedVerdict | None = None
    citations: CitationCounts | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionClose(SessionConclusion):
    """How a session ends."""

    status: SessionStatus
    completed_at: datetime
    executive_summary: str | None = None
    executive_summary_error: str | None = None
    error_message: str | None = None


def with_cancellation(close: SessionClose, *, cancel_requested: bool) -> SessionClose:
    """Return the end of a session after a request to cancel it: always cancelled, with the analysis that its run has reached."""
    if cancel_requested and close.status is not SessionStatus.CANCELLED:
        has_analysis = close.final_analysis is not None
        reason = close.analysis_partial_reason or ("The session was cancelled in its last moment." if has_analysis else None)
        return replace(close, status=SessionStatus.CANCELLED, analysis_is_partial=has_analysis, analysis_partial_reason=reason)
    return close
