"""A whole finished session as one text: the record that a follow-up chat and a reviewer read. Pure module."""

from collections.abc import Sequence

from tarsy.agent.context.formatter import ContextFormatter, escape, fitted
from tarsy.domain.history import StageRecord, last_text
from tarsy.domain.stage import StageType
from tarsy.domain.timeline import TimelineEventType

# Some 75,000 tokens: a reader needs the whole story, and room to answer in.
INVESTIGATION_LIMIT = 300_000

_TOLD = {StageType.INVESTIGATION, StageType.SYNTHESIS, StageType.ACTION}
_FORMATTER = ContextFormatter(with_trail=True, with_thinking=True, with_metadata=True)


def format_investigation(stages: Sequence[StageRecord], *, limit: int = INVESTIGATION_LIMIT) -> str:
    """Tell what every agent did and found, and the executive summary, in at most about `limit` bytes.

    Chat and scoring stages are no part of the investigation and are left out.
    """
    told = [record for record in stages if record.stage.stage_type in _TOLD]
    summary = _executive_summary(stages)

    def render(result_limit: int) -> str:
        return "\n\n".join([*(_FORMATTER.render_stage(record, result_limit) for record in told), *summary])

    return fitted(render, limit)


def _executive_summary(stages: Sequence[StageRecord]) -> list[str]:
    texts = [
        last_text(execution.events, TimelineEventType.EXECUTIVE_SUMMARY) or execution.analysis
        for record in stages
        if record.stage.stage_type is StageType.EXEC_SUMMARY
        for execution in record.executions
    ]
    return [f"### Executive summary:\n\n{escape(text)}" for text in texts[-1:] if text]
