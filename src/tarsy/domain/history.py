"""Finished work as it is read back: a stage, its executions, their timelines. And which of it the next stage should hear of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tarsy.domain.citation import CitationCounts
from tarsy.domain.execution import AgentExecution
from tarsy.domain.stage import Stage, StageClose, StageType
from tarsy.domain.status import RunStatus, TimelineStatus
from tarsy.domain.timeline import TimelineEvent, TimelineEventType
from tarsy.domain.verdict import Confidence, JudgedVerdict, capped_by_ceiling, verdict_of

# Under these names the timeline entry of an analysis holds its verdict, the confidence to show for it, what its citations come to, and what
# checking objects to.
VERDICT = "verdict"
CONFIDENCE = "confidence"
CITATIONS = "citations"
REMARKS = "remarks"
# And that of a forced conclusion, which ceiling led to it.
CEILING = "ceiling"


@dataclass(frozen=True, slots=True)
class ExecutionRecord:
    execution: AgentExecution
    # In order of their sequence numbers.
    events: tuple[TimelineEvent, ...] = ()
    # Those it sent, in order of its calls.
    children: tuple["ExecutionRecord", ...] = ()

    @property
    def analysis(self) -> str:
        """The last conclusion the agent came to, or nothing."""
        return last_text(self.events, TimelineEventType.FINAL_ANALYSIS)

    @property
    def _about_analysis(self) -> Mapping[str, Any]:
        concluding = (event for event in reversed(self.events) if event.event_type is TimelineEventType.FINAL_ANALYSIS)
        empty: Mapping[str, Any] = {}
        return next((event.metadata for event in concluding if event.status is TimelineStatus.COMPLETED), empty)

    @property
    def verdict(self) -> JudgedVerdict | None:
        """The verdict that the analysis came with, and what checking made of its confidence."""
        fields, judged = self._about_analysis.get(VERDICT), self._about_analysis.get(CONFIDENCE)
        if not fields or not judged:
            return None
        verdict = JudgedVerdict(verdict_of(fields), Confidence(judged["shown"]), judged["reason"])
        return capped_by_ceiling(verdict, ceiling) if (ceiling := self.ceiling) else verdict

    @property
    def ceiling(self) -> str | None:
        """The ceiling that forced the analysis, in words for people."""
        return self._about_analysis.get(CEILING)

    @property
    def citations(self) -> CitationCounts | None:
        """What the citations of the analysis come to; None for one from before they were checked."""
        counts = self._about_analysis.get(CITATIONS)
        return CitationCounts(**counts) if counts else None

    @property
    def tree(self) -> tuple["ExecutionRecord", ...]:
        """Itself, and all that were sent below it."""
        return (self, *(record for child in self.children for record in child.tree))

    @property
    def conclusion(self) -> str:
        """What the agent was asked for, whichever kind of agent it is."""
        return self.analysis or last_text(self.events, TimelineEventType.EXECUTIVE_SUMMARY)


@dataclass(frozen=True, slots=True)
class StageRecord:
    stage: Stage
    # In order of their agent indexes, without those that they sent.
    executions: tuple[ExecutionRecord, ...] = ()


def with_end(records: Sequence[StageRecord], close: StageClose) -> list[StageRecord]:
    """The records as they read once a stage's end is stored."""
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
    """The stages whose results stand: where a synthesis succeeded, it speaks for the stage it synthesised."""
    spoken_for = {
        record.stage.referenced_stage_id
        for record in stages
        if record.stage.stage_type is StageType.SYNTHESIS and record.stage.status is RunStatus.COMPLETED
    }
    return [record for record in stages if record.stage.stage_type.concludes and record.stage.id not in spoken_for]
