"""The stored history of a session: its stages, their executions and timelines, and which of them later stages receive."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tarsy.domain.citation import CitationCounts
from tarsy.domain.execution import AgentExecution
from tarsy.domain.stage import Stage, StageClose, StageType
from tarsy.domain.status import RunStatus, TimelineStatus
from tarsy.domain.timeline import TimelineEvent, TimelineEventType
from tarsy.domain.verdict import Confidence, JudgedVerdict, capped_by_ceiling, verdict_of

# Metadata keys of a final analysis in the timeline: its verdict, the confidence to show, its citation counts, the objections of the check,
# and the ceiling that forced it.
VERDICT = "verdict"
CONFIDENCE = "confidence"
CITATIONS = "citations"
REMARKS = "remarks"
CEILING = "ceiling"


@dataclass(frozen=True, slots=True)
class ExecutionRecord:
    execution: AgentExecution
    # Ordered by sequence number.
    events: tuple[TimelineEvent, ...] = ()
    # The sub-agents it dispatched, in order of its calls.
    children: tuple["ExecutionRecord", ...] = ()

    @property
    def analysis(self) -> str:
        """Return the agent's last final analysis, or an empty string."""
        return last_text(self.events, TimelineEventType.FINAL_ANALYSIS)

    @property
    def _analysis_metadata(self) -> Mapping[str, Any]:
        concluding = (event for event in reversed(self.events) if event.event_type is TimelineEventType.FINAL_ANALYSIS)
        empty: Mapping[str, Any] = {}
        return next((event.metadata for event in concluding if event.status is TimelineStatus.COMPLETED), empty)

    @property
    def verdict(self) -> JudgedVerdict | None:
        """Return the verdict of the analysis with the confidence to show for it."""
        fields, judged = self._analysis_metadata.get(VERDICT), self._analysis_metadata.get(CONFIDENCE)
        if not fields or not judged:
            return None
        verdict = JudgedVerdict(verdict_of(fields), Confidence(judged["shown"]), judged["reason"])
        return capped_by_ceiling(verdict, ceiling) if (ceiling := self.ceiling) else verdict

    @property
    def ceiling(self) -> str | None:
        """Return the ceiling that forced the analysis, described for people."""
        return self._analysis_metadata.get(CEILING)

    @property
    def citations(self) -> CitationCounts | None:
        """Return the citation counts of the analysis; None for one that is older than citation checks."""
        counts = self._analysis_metadata.get(CITATIONS)
        return CitationCounts(**counts) if counts else None

    @property
    def tree(self) -> tuple["ExecutionRecord", ...]:
        """Return this execution and all sub-agents below it."""
        return (self, *(record for child in self.children for record in child.tree))

    @property
    def conclusion(self) -> str:
        """Return the agent's result: its analysis or, for a summarising agent, its summary."""
        return self.analysis or last_text(self.events, TimelineEventType.EXECUTIVE_SUMMARY)


@dataclass(frozen=True, slots=True)
class StageRecord:
    stage: Stage
    # Ordered by agent index, without sub-agents.
    executions: tuple[ExecutionRecord, ...] = ()


def with_end(records: Sequence[StageRecord], close: StageClose) -> list[StageRecord]:
    """Return the records as they will be once the end of a stage is stored."""
    return [
        replace(one, stage=replace(one.stage, status=close.status, completed_at=close.completed_at, error_message=close.error_message))
        if one.stage.id == close.stage_id
        else one
        for one in records
    ]


def last_text(events: Sequence[TimelineEvent], kind: TimelineEventType) -> str:
    found = (event.content for event in reversed(events) if event.event_type is kind and event.status is TimelineStatus.COMPLETED)
    return next(found, "").strip()


def concluding_stages(stages: Sequence[StageRecord]) -> list[StageRecord]:
    """Return the stages with results that count: a successful synthesis replaces the stage it synthesised."""
    synthesised = {
        record.stage.referenced_stage_id
        for record in stages
        if record.stage.stage_type is StageType.SYNTHESIS and record.stage.status is RunStatus.COMPLETED
    }
    return [record for record in stages if record.stage.stage_type.concludes and record.stage.id not in synthesised]
