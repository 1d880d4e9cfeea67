"""The findings of earlier stages, rendered for the agent that comes next.

Everything that agents, tools and models wrote is fenced; headings, ids and times are ours, and stand outside.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tarsy.agent.prompt.fence import Fence
from tarsy.agent.prompt.transcript import transcript
from tarsy.domain.execution import AgentType
from tarsy.domain.history import ExecutionRecord, StageRecord, concluding_stages, last_text
from tarsy.domain.stage import StageType
from tarsy.domain.timeline import TimelineEventType
from tarsy.domain.verdict import JudgedVerdict, Verdict
from tarsy.kit.text import clip, clip_bytes

# The most bytes of all earlier stages together: some 30,000 tokens.
CONTEXT_LIMIT = 120_000
# Some 75,000 tokens: a reader needs the whole story, and room to answer in.
INVESTIGATION_LIMIT = 300_000
_INVESTIGATED = {StageType.INVESTIGATION, StageType.SYNTHESIS, StageType.ACTION, StageType.CHALLENGE}
# Characters left of each tool result, tried in this order until the whole fits; 0 leaves out the transcript and keeps the conclusions.
_RESULT_LIMITS = (4_000, 1_500, 400, 0)
_NOTHING = "No analysis was produced."


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextFormatter:
    """Renders finished stages for one reader."""

    fence: Fence
    with_transcript: bool = False
    # Whether the reader judges the work, and is shown thinking and models too.
    judges: bool = False
    # The tool with which the reader can read a whole result; empty if it has none.
    read_tool: str = ""
    # Bytes of each analysis.
    analysis_limit: int = INVESTIGATION_LIMIT

    def format_execution(self, record: ExecutionRecord, result_limit: int = _RESULT_LIMITS[0]) -> str:
        """Render the analysis of one agent and, if the reader wants it, the transcript that led to it."""
        verdict = verdict_text(record.verdict.verdict if record.verdict else None)
        text = "\n\n".join(part for part in (record.analysis, verdict) if part)
        analysis = "Analysis:\n" + self.fence.wrap("ANALYSIS", clip_bytes(text, self.analysis_limit)) if text else _NOTHING
        if not self.with_transcript:
            return analysis
        if result_limit == 0:
            return f"{analysis}\n\n[The steps that led to it were left out for length.]"
        steps = transcript(record.events, self.fence, result_limit=result_limit, read_tool=self.read_tool, with_thinking=self.judges)
        return f"{analysis}\n\nHow it was found:\n\n{steps}" if steps else analysis

    def format_stage_context(self, record: StageRecord, *, limit: int = CONTEXT_LIMIT) -> str:
        """Render the results of a stage in at most about `limit` bytes."""
        return self._fitted((record,), (), limit)

    def format_previous_stages(self, stages: Sequence[StageRecord], *, limit: int = CONTEXT_LIMIT) -> str:
        """Render the results of all stages that no later one replaces; empty before the first."""
        return self._fitted(concluding_stages(stages), (), limit)

    def format_investigation(self, stages: Sequence[StageRecord], *, limit: int = INVESTIGATION_LIMIT) -> str:
        """Render what every agent did and found, and the executive summary, in at most about `limit` bytes; not chats and scores."""
        summaries = [
            last_text(execution.events, TimelineEventType.EXECUTIVE_SUMMARY) or execution.analysis
            for record in stages
            if record.stage.stage_type is StageType.EXEC_SUMMARY
            for execution in record.executions
        ]
        summary = [f"### Executive summary:\n\n{self.fence.wrap('SUMMARY', text)}" for text in summaries[-1:] if text]
        return self._fitted([record for record in stages if record.stage.stage_type in _INVESTIGATED], summary, limit)

    def _fitted(self, stages: Sequence[StageRecord], end: Sequence[str], limit: int) -> str:
        """Render stages with less and less of each tool result, and at last with a part of each analysis, until they fit `limit` bytes."""
        text = ""
        # A reader that can read results again is shown the beginning of each.
        for result_limit in _RESULT_LIMITS[1:] if self.read_tool else _RESULT_LIMITS:
            text = "\n\n".join((*(self.render_stage(record, result_limit) for record in stages), *end))
            if len(text.encode()) <= limit:
                return text
        share = limit // max(1, sum(len(record.executions) for record in stages))
        brief = replace(self, analysis_limit=share * 9 // 10)
        # Cut inside the fences: a fence that is cut open would include the text after it.
        return "\n\n".join((*(brief.render_stage(record, 0) for record in stages), *end))

    def render_stage(self, record: StageRecord, result_limit: int) -> str:
        """Render a stage with this much of each tool result; 0 for conclusions only."""
        parts = [f"### Results from '{record.stage.stage_name}' stage:"]
        several = len(record.executions) > 1
        for number, execution in enumerate(record.executions, start=1):
            if several or self.judges:
                made = execution.execution
                lines = [f"#### Agent {number}: {made.agent_name}", f"**Status**: {made.status}"]
                if self.judges:
                    model = f"{made.llm_provider}, {made.llm_backend}, {made.tool_calling} tool calling"
                    lines.append(f"**Model**: {made.model_name} ({model})")
                if made.error_message:
                    lines.append(self.fence.wrap("ERROR", clip(" ".join(made.error_message.split()), 500)))
                parts.append("\n".join(lines))
            parts.append(self.format_execution(execution, result_limit))
        return "\n\n".join(parts)


def formatter_for(agent_type: AgentType, fence: Fence, *, read_tool: str) -> ContextFormatter:
    """Return the formatter for an agent of this type; `read_tool` is its tool for reading whole results, if it has one."""
    # A synthesis judges how agents came to their conclusions; an investigator builds on what they saw.
    return ContextFormatter(
        fence=fence,
        with_transcript=agent_type in {AgentType.SYNTHESIS, AgentType.DEFAULT},
        judges=agent_type is AgentType.SYNTHESIS,
        read_tool=read_tool,
    )


def verdict_text(verdict: Verdict | None) -> str:
    """Render a verdict for the agents that read an analysis, which is stored without it; empty without a verdict."""
    if verdict is None:
        return ""
    lines = {
        "outcome": verdict.outcome.value,
        "object": str(verdict.object or ""),
        "mechanism": verdict.mechanism,
        "confidence": verdict.confidence.value,
        "since": verdict.since,
        "still happening": verdict.still_happening.value,
        "evidence": ", ".join(verdict.evidence),
        "ruled out": "; ".join(f"{one.hypothesis} [{', '.join(one.evidence)}]" for one in verdict.ruled_out),
        "category": verdict.category,
    }
    return "Verdict:\n" + "\n".join(f"- {name}: {value}" for name, value in lines.items() if value)


def judged_text(judged: JudgedVerdict) -> str:
    """Render a verdict with the confidence after checking, for the executive summary."""
    shown = replace(judged.verdict, confidence_object=judged.confidence, confidence_mechanism=judged.confidence)
    return verdict_text(shown) + (f"\n- confidence is limited because {judged.confidence_reason}" if judged.confidence_reason else "")
