"""ContextFormatter: what earlier stages found, told to the agent that comes next. Pure module.

The stage that reads chooses the form. Results stand between START and END comments; comments inside them are escaped.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import assert_never

from tarsy.agent.context.trail import TrailStyle, TrailView, tell_trail
from tarsy.domain.agent import AgentType, ToolCalling
from tarsy.domain.history import ExecutionRecord, StageRecord, concluding_stages, last_text
from tarsy.domain.stage import StageType
from tarsy.domain.timeline import TimelineEventType
from tarsy.kit.text import clip, clip_bytes

START = "<!-- Analysis Result START -->"
END = "<!-- Analysis Result END -->"

# What all earlier stages together may take of the reader's context, in bytes: some 30,000 tokens.
CONTEXT_LIMIT = 120_000
# Some 75,000 tokens: a reader needs the whole story, and room to answer in.
INVESTIGATION_LIMIT = 300_000
_INVESTIGATED = {StageType.INVESTIGATION, StageType.SYNTHESIS, StageType.ACTION}
# Characters left of each tool result, tried in this order until the whole fits; 0 leaves out the trail and keeps the conclusions.
_RESULT_LIMITS = (4_000, 1_500, 400, 0)
_NOTHING = "No analysis was produced."


@dataclass(frozen=True, slots=True)
class ContextFormatter:
    """Tells finished stages to one kind of reader."""

    # None: the style in which each agent itself worked.
    style: TrailStyle | None = None
    with_trail: bool = False
    with_thinking: bool = False
    with_metadata: bool = False

    def format_execution(self, record: ExecutionRecord, result_limit: int = _RESULT_LIMITS[0]) -> str:
        """One agent's work, without markers."""
        analysis = f"## Analysis Result\n\n{record.analysis or _NOTHING}"
        if not self.with_trail:
            return analysis
        if result_limit == 0:
            return f"{analysis}\n\n[The steps that led to it were left out for length.]"
        style = self.style or TrailStyle(record.execution.tool_calling)
        trail = tell_trail(record.events, TrailView(style=style, result_limit=result_limit, with_thinking=self.with_thinking))
        return f"{analysis}\n\n## Investigation History\n\n{trail}" if trail else analysis

    def format_stage_context(self, record: StageRecord, *, limit: int = CONTEXT_LIMIT) -> str:
        """A stage's results, in at most about `limit` bytes."""
        return fitted(lambda result_limit: self.render_stage(record, result_limit), limit)

    def format_previous_stages(self, stages: Sequence[StageRecord], *, limit: int = CONTEXT_LIMIT) -> str:
        """The results of all stages so far that still stand; empty before the first."""
        standing = concluding_stages(stages)
        return fitted(lambda result_limit: "\n\n".join(self.render_stage(record, result_limit) for record in standing), limit)

    def render_stage(self, record: StageRecord, result_limit: int) -> str:
        """A stage with this much of each tool result; 0 for conclusions only."""
        parts = [f"### Results from '{escape(record.stage.stage_name)}' stage:"]
        several = len(record.executions) > 1
        for number, execution in enumerate(record.executions, start=1):
            if several or self.with_metadata:
                parts.append(_heading(number, execution, with_metadata=self.with_metadata))
            parts.append(f"{START}\n{escape(self.format_execution(execution, result_limit))}\n{END}")
        return "\n\n".join(parts)


SIMPLE = ContextFormatter()
REACT_HISTORY = ContextFormatter(style=TrailStyle.REACT, with_trail=True)
NATIVE_PAIRS = ContextFormatter(style=TrailStyle.NATIVE, with_trail=True)
SYNTHESIS = ContextFormatter(with_trail=True, with_thinking=True, with_metadata=True)


def formatter_for(agent_type: AgentType, tool_calling: ToolCalling) -> ContextFormatter:
    """The formatter of the consuming agent."""
    match agent_type:
        case AgentType.SYNTHESIS:
            return SYNTHESIS
        case AgentType.EXEC_SUMMARY | AgentType.SCORING:
            return SIMPLE
        case AgentType.DEFAULT:
            return REACT_HISTORY if tool_calling is ToolCalling.REACT else NATIVE_PAIRS
        case _:
            assert_never(agent_type)


def escape(text: str) -> str:
    """Keep text from opening or closing a comment, and so from ending its own markers."""
    return text.replace("<!--", "&lt;!--").replace("-->", "--&gt;")


def _heading(number: int, record: ExecutionRecord, *, with_metadata: bool) -> str:
    execution = record.execution
    lines = [f"#### Agent {number}: {execution.agent_name}", f"**Status**: {execution.status}"]
    if with_metadata:
        lines.append(
            f"**Model**: {execution.model_name} ({execution.llm_provider}, {execution.llm_backend}, {execution.tool_calling} tool calling)"
        )
    if execution.error_message:
        lines.append(f"**Error**: {clip(' '.join(execution.error_message.split()), 500)}")
    return escape("\n".join(lines))


def fitted(render: Callable[[int], str], limit: int) -> str:
    """Render with less and less of each tool result until the text keeps to `limit` bytes."""
    text = ""
    for result_limit in _RESULT_LIMITS:
        text = render(result_limit)
        if len(text.encode()) <= limit:
            return text
    return clip_bytes(text, limit)


def format_investigation(stages: Sequence[StageRecord], *, limit: int = INVESTIGATION_LIMIT) -> str:
    """Tell what every agent did and found, and the executive summary, in at most about `limit` bytes.

    Chat and scoring stages are no part of the investigation and are left out.
    """
    told = [record for record in stages if record.stage.stage_type in _INVESTIGATED]
    summary = _executive_summary(stages)

    def render(result_limit: int) -> str:
        return "\n\n".join([*(SYNTHESIS.render_stage(record, result_limit) for record in told), *summary])

    return fitted(render, limit)


def _executive_summary(stages: Sequence[StageRecord]) -> list[str]:
    texts = [
        last_text(execution.events, TimelineEventType.EXECUTIVE_SUMMARY) or execution.analysis
        for record in stages
        if record.stage.stage_type is StageType.EXEC_SUMMARY
        for execution in record.executions
    ]
    return [f"### Executive summary:\n\n{escape(text)}" for text in texts[-1:] if text]
