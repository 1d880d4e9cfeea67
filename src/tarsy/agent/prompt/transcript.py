"""The transcript of an execution, step by step, for the agent or the reviewer that comes after it.

Every step is fenced, and the line that names its author stands outside: no line of a log can pass for a step.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import assert_never

from tarsy.agent.prompt.fence import Fence, escape_fences, reading_back, result_line
from tarsy.domain.status import TimelineStatus
from tarsy.domain.timeline import TimelineEvent, TimelineEventType
from tarsy.kit.text import clip

# A failed result is a result too; one that a crash interrupted is not.
_ENDED = frozenset({TimelineStatus.COMPLETED, TimelineStatus.FAILED, TimelineStatus.TIMED_OUT})
_CLIPPED = "… [{omitted} more characters left out here]"


def transcript(events: Sequence[TimelineEvent], fence: Fence, *, result_limit: int, read_tool: str, with_thinking: bool = False) -> str:
    """Render the steps before the conclusion, oldest first, with `result_limit` characters of each tool result.

    `read_tool` is the tool with which the reader can read a whole result; empty if it has none.
    """
    summarized = {
        call_of(event)
        for event in events
        if event.event_type is TimelineEventType.MCP_TOOL_SUMMARY and event.status is TimelineStatus.COMPLETED
    } - {""}
    calls = {call_of(event): event for event in events if event.event_type is TimelineEventType.LLM_TOOL_CALL}
    results = {call_of(event): event for event in events if event.event_type is TimelineEventType.TOOL_RESULT and event.status in _ENDED}
    renderer = _Renderer(fence, result_limit, read_tool, with_thinking, calls, results)
    shown = (event for event in events if _is_shown(event, summarized, results))
    return "\n\n".join(step for step in map(renderer.step, shown) if step)


def _is_shown(event: TimelineEvent, summarized: set[str], results: Mapping[str, TimelineEvent]) -> bool:
    match event.event_type:
        case TimelineEventType.LLM_TOOL_CALL:
            # Shown with its result. A call that never ended is shown too: that it was made is a fact.
            return call_of(event) not in results
        case TimelineEventType.TOOL_RESULT if call_of(event) in summarized:
            # The agent saw the summary.
            return False
        case TimelineEventType.CODE_EXECUTION:
            # Shown even if the code printed nothing.
            return event.status is TimelineStatus.COMPLETED
        case TimelineEventType.TOOL_RESULT:
            return event.status in _ENDED
        case TimelineEventType.ERROR:
            return event.status in _ENDED and bool(event.content.strip())
        case _:
            return event.status is TimelineStatus.COMPLETED and bool(event.content.strip())


@dataclass(frozen=True, slots=True)
class _Renderer:
    """Renders single steps; calls and results are looked up by their call ids."""

    fence: Fence
    result_limit: int
    read_tool: str
    with_thinking: bool
    calls: Mapping[str, TimelineEvent]
    results: Mapping[str, TimelineEvent]

    def step(self, event: TimelineEvent) -> str:
        kind = event.event_type
        match kind:
            case TimelineEventType.LLM_THINKING:
                step = self._fenced("Thought:", "THOUGHT", event.content) if self.with_thinking else ""
            case TimelineEventType.LLM_RESPONSE:
                # A draft was replaced by the analysis.
                step = "" if event.metadata.get("draft") else self._fenced("Response:", "RESPONSE", event.content)
            case TimelineEventType.LLM_TOOL_CALL:
                step = f"{self._line(event)} has no result."
            case TimelineEventType.TOOL_RESULT | TimelineEventType.MCP_TOOL_SUMMARY:
                step = self._result(event)
            case TimelineEventType.CODE_EXECUTION:
                code = str(event.metadata.get("code") or "").strip()
                ran = "\n".join((*((code,) if code else ()), f"Result: {event.content.strip() or '(no output)'}"))
                step = self._fenced("Code execution:", "CODE", ran, clipped=True)
            case TimelineEventType.GOOGLE_SEARCH_RESULT | TimelineEventType.URL_CONTEXT_RESULT:
                step = self._fenced(f"{kind.value.replace('_', ' ').capitalize()}:", "WEB RESULT", event.content, clipped=True)
            case TimelineEventType.ERROR:
                step = self._fenced("Error:", "ERROR", event.content, clipped=True)
            case TimelineEventType.PROVIDER_FALLBACK | TimelineEventType.WARNING | TimelineEventType.NOTE:
                # Notes are delivered to an agent that investigates directly.
                author = escape_fences(" ".join(str(event.metadata.get("author")).split()))
                head = f"[{evidence_of(event)}] The agent was told by {author}:" if kind is TimelineEventType.NOTE else "Note:"
                step = self._fenced(head, "NOTE", event.content, clipped=True) if self.with_thinking else ""
            case TimelineEventType.FINAL_ANALYSIS | TimelineEventType.EXECUTIVE_SUMMARY | TimelineEventType.USER_QUESTION:
                # Conclusions are shown apart from the steps, questions by the chat.
                step = ""
            case _:
                assert_never(kind)
        return step

    def _result(self, event: TimelineEvent) -> str:
        result = self.results.get(call_of(event), event)
        summary = event.event_type is TimelineEventType.MCP_TOOL_SUMMARY
        failed = " failed:" if result.metadata.get("is_error") and not result.metadata.get("refused") else ""
        line = f"{self._line(result)}{failed}" + (", summarised by a model:" if summary else "")
        if result.metadata.get("refused"):
            line += " has no result:"
        fenced = self._fenced(line, "TOOL RESULT", event.content, clipped=True, scope=evidence_of(result))
        left_out = len(event.content.strip()) > self.result_limit or summary
        how = reading_back(self.read_tool, evidence_of(result)).strip() if left_out and evidence_of(result) else ""
        return f"{fenced}\n[{how}]" if how else fenced

    def _line(self, event: TimelineEvent) -> str:
        call = self.calls.get(call_of(event), event)
        arguments = ""
        if call.event_type is TimelineEventType.LLM_TOOL_CALL:
            written = call.metadata.get("arguments", call.content)
            arguments = written if isinstance(written, str) else json.dumps(written, ensure_ascii=False)
        read_at = event.metadata.get("read_at")
        moment = datetime.fromisoformat(read_at) if isinstance(read_at, str) and not event.metadata.get("refused") else None
        return result_line(evidence_of(call), tool_of(call), arguments, moment)

    def _fenced(self, head: str, label: str, text: str, *, clipped: bool = False, scope: str = "") -> str:
        shown = clip(text.strip(), self.result_limit, notice=_CLIPPED) if clipped else text.strip()
        return f"{head}\n{self.fence.wrap(label, shown, scope=scope)}"


def tool_of(event: TimelineEvent) -> str:
    """Return the full name of the tool that an event is about."""
    tool = str(event.metadata.get("tool_name") or "unknown tool")
    server = str(event.metadata.get("server_name") or "")
    return tool if not server or tool.startswith(f"{server}.") else f"{server}.{tool}"


def call_of(event: TimelineEvent) -> str:
    """Return the id of the call that an event belongs to, or an empty string."""
    return str(event.metadata.get("call_id") or event.metadata.get("tool_call_id") or "")


def evidence_of(event: TimelineEvent) -> str:
    """Return the id by which the result of a call may be cited; empty for calls from before there were ids."""
    return str(event.metadata.get("evidence_id") or "")
