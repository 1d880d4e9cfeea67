"""Pure module: who worked on a session, as lines of text: stages, their agents, those they sent."""

from collections.abc import Iterator, Sequence

from tarsy.domain.history import ExecutionRecord, StageRecord
from tarsy.kit.text import clip

# One line of a wide terminal.
_LONGEST = 160


def tree_lines(stages: Sequence[StageRecord]) -> Iterator[str]:
    for record in stages:
        yield f"{record.stage.stage_name}  ({record.stage.status})"
        for execution in record.executions:
            yield from _agent_lines(execution, "  ")


def _agent_lines(record: ExecutionRecord, indent: str) -> Iterator[str]:
    execution = record.execution
    sent = f"[{execution.dispatched_by}] " if execution.dispatched_by else ""
    yield f"{indent}{sent}{execution.agent_name}  ({execution.status}, {execution.model_name})"
    if execution.task:
        yield f"{indent}  task: {_short(execution.task)}"
    for child in record.children:
        yield from _agent_lines(child, f"{indent}  ")
    if ended := record.conclusion or execution.error_message:
        yield f"{indent}  {'said' if record.conclusion else 'why'}: {_short(ended)}"


def _short(text: str) -> str:
    return clip(" ".join(text.split()), _LONGEST, notice="…")
