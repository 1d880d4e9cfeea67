"""The way an agent went, step by step, told to the agent or the reviewer that comes after it. Pure module.

Every step stands in a fence of its own, and what says whose words they are stands outside: no line of a log can pass for a step.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import assert_never

from tarsy.agent.prompt.fence import Fence, defused, reading_back, result_line
from tarsy.domain.status import TimelineStatus
from tarsy.domain.timeline import TimelineEvent, TimelineEventType
from tarsy.kit.text import clip

# A failed result is a result too; what a crash interrupted is not.
_ENDED = frozenset({TimelineStatus.COMPLETED, TimelineStatus.FAILED, TimelineStatus.TIMED_OUT})
_CLIPPED = "… [{omitted} more characters left out here]"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrailView:
    """What a reader is to see of a trail."""

    fence: Fence
    # Characters of each tool result.
    result_limit: int
    with_thinking: bool = False
    # The tool with which the reader can read a result whole; empty when it has none.
    read_back: str = ""


def tell_trail(events: Sequence[TimelineEvent], view: TrailView) -> str:
    """Tell the steps before the conclusion, oldest first."""
    summarized = {call_of(event) for event in events if _is_summary(event)} - {""}
    calls = {call_of(event): event for event in events if event.event_type is TimelineEventType.LLM_TOOL_CALL}
    results = {call_of(event): event for event in events if event.event_type is TimelineEventType.TOOL_RESULT and event.status in _ENDED}
    teller = _Teller(view, calls, results)
    told = (event for event in events if _is_told(event, summarized, results))
    return "\n\n".join(step for step in map(teller.step, told) if step)


def _is_summary(event: TimelineEvent) -> bool:
    return event.event_type is TimelineEventType.MCP_TOOL_SUMMARY and event.status is TimelineStatus.COMPLETED


def _is_told(event: TimelineEvent, summarized: set[str], results: Mapping[str, TimelineEvent]) -> bool:
    match event.event_type:
        case TimelineEventType.LLM_TOOL_CALL:
            # Told with its result. One that never ended is told all the same: that it was made is a fact.
            return call_of(event) not in results
        case TimelineEventType.TOOL_RESULT if call_of(event) in summarized:
            # The summary is what the agent saw.
            return False
        case TimelineEventType.CODE_EXECUTION:
            # What was run is a fact, also when it printed nothing.
            return event.status is TimelineStatus.COMPLETED
        case TimelineEventType.TOOL_RESULT:
            return event.status in _ENDED
        case TimelineEventType.ERROR:
            return event.status in _ENDED and bool(event.content.strip())
        case _:
            return event.status is TimelineStatus.COMPLETED and bool(event.content.strip())


@dataclass(frozen=True, slots=True)
class _Teller:
    """Tells one step after the other; calls and results are known by their call ids."""

    view: TrailView
    calls: Mapping[str, TimelineEvent]
    results: Mapping[str, TimelineEvent]

    def step(self, event: TimelineEvent) -> str:
        kind = event.event_type
        match kind:
            case TimelineEventType.LLM_THINKING:
                step = self._fenced("Thought:", "THOUGHT", event.content) if self.view.with_thinking else ""
            case TimelineEventType.LLM_RESPONSE:
                # A draft gave way to the analysis that is told.
                step = "" if event.metadata.get("draft") else self._fenced("Response:", "RESPONSE", event.content)
            case TimelineEventType.LLM_TOOL_CALL:
                step = f"{self._line(event)} has no result."
            case TimelineEventType.TOOL_RESULT | TimelineEventType.MCP_TOOL_SUMMARY:
                step = self._result(event)
            case TimelineEventType.CODE_EXECUTION:
                step = self._fenced("Code execution:", "CODE", _executed(event), clipped=True)
            case TimelineEventType.GOOGLE_SEARCH_RESULT | TimelineEventType.URL_CONTEXT_RESULT:
                step = self._fenced(f"{kind.value.replace('_', ' ').capitalize()}:", "WEB RESULT", event.content, clipped=True)
            case TimelineEventType.ERROR:
                step = self._fenced("Error:", "ERROR", event.content, clipped=True)
            case TimelineEventType.PROVIDER_FALLBACK | TimelineEventType.WARNING | TimelineEventType.NOTE:
                # An agent that investigates is told itself what reaches the session from outside.
                step = self._fenced(_remark_head(event), "NOTE", event.content, clipped=True) if self.view.with_thinking else ""
            case TimelineEventType.FINAL_ANALYSIS | TimelineEventType.EXECUTIVE_SUMMARY | TimelineEventType.USER_QUESTION:
                # Conclusions are told apart from the way to them, questions by the chat.
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
        left_out = len(event.content.strip()) > self.view.result_limit or summary
        how = reading_back(self.view.read_back, evidence_of(result)).strip() if left_out and evidence_of(result) else ""
        return f"{fenced}\n[{how}]" if how else fenced

    def _line(self, event: TimelineEvent) -> str:
        call = self.calls.get(call_of(event), event)
        read_at = event.metadata.get("read_at")
        moment = datetime.fromisoformat(read_at) if isinstance(read_at, str) and not event.metadata.get("refused") else None
        return result_line(evidence_of(call), tool_of(call), _arguments(call), moment)

    def _fenced(self, head: str, label: str, text: str, *, clipped: bool = False, scope: str = "") -> str:
        shown = clip(text.strip(), self.view.result_limit, notice=_CLIPPED) if clipped else text.strip()
        return f"{head}\n{self.view.fence.wrap(label, shown, scope=scope)}"


def _executed(event: TimelineEvent) -> str:
    code = str(event.metadata.get("code") or "").strip()
    return "\n".join((*((code,) if code else ()), f"Result: {event.content.strip() or '(no output)'}"))


def _remark_head(event: TimelineEvent) -> str:
    if event.event_type is not TimelineEventType.NOTE:
        return "Note:"
    author = defused(" ".join(str(event.metadata.get("author")).split()))
    return f"[{evidence_of(event)}] The agent was told by {author}:"


def _arguments(event: TimelineEvent) -> str:
    if event.event_type is not TimelineEventType.LLM_TOOL_CALL:
        return ""
    arguments = event.metadata.get("arguments", event.content)
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def tool_of(event: TimelineEvent) -> str:
    """The full name of the tool an event speaks of."""
    tool = str(event.metadata.get("tool_name") or "unknown tool")
    server = str(event.metadata.get("server_name") or "")
    return tool if not server or tool.startswith(f"{server}.") else f"{server}.{tool}"


def call_of(event: TimelineEvent) -> str:
    """The id of the call an event belongs to, or nothing."""
    return str(event.metadata.get("call_id") or event.metadata.get("tool_call_id") or "")


def evidence_of(event: TimelineEvent) -> str:
    """The id by which the result of a call may be cited; nothing for calls from before there were ids."""
    return str(event.metadata.get("evidence_id") or "")
