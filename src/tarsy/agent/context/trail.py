"""The way an agent went, step by step, told in the words of its reader, an agent or a reviewer. Pure module."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from tarsy.domain.status import TimelineStatus
from tarsy.domain.timeline import TimelineEvent, TimelineEventType
from tarsy.kit.text import clip

# A failed result is a result too; what a crash interrupted is not.
_ENDED = frozenset({TimelineStatus.COMPLETED, TimelineStatus.FAILED, TimelineStatus.TIMED_OUT})
_CLIPPED = "… [{omitted} more characters of this result left out here]"


class TrailStyle(StrEnum):
    """How tool use is told: as ReAct sections, or as pairs of call and result."""

    REACT = "react"
    NATIVE = "native"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrailView:
    """What a reader is to see of a trail."""

    style: TrailStyle
    # Characters of each tool result.
    result_limit: int
    with_thinking: bool = False


def tell_trail(events: Sequence[TimelineEvent], view: TrailView) -> str:
    """Tell the steps before the conclusion, oldest first."""
    summarized = {call_of(event) for event in events if _is_summary(event)} - {""}
    tools = {call_of(event): tool_of(event) for event in events if event.event_type is TimelineEventType.LLM_TOOL_CALL}
    told = (event for event in events if _is_told(event, summarized))
    steps = (_step(event, tools.get(call_of(event)) or tool_of(event), view) for event in told)
    return "\n\n".join(step for step in steps if step)


def _is_summary(event: TimelineEvent) -> bool:
    return event.event_type is TimelineEventType.MCP_TOOL_SUMMARY and event.status is TimelineStatus.COMPLETED


def _is_told(event: TimelineEvent, summarized: set[str]) -> bool:
    match event.event_type:
        case TimelineEventType.LLM_TOOL_CALL:
            # Told even if it never ended and has no text: that it was made is a fact, its arguments are in the metadata.
            return True
        case TimelineEventType.TOOL_RESULT if call_of(event) in summarized:
            # The summary is what the agent saw.
            return False
        case TimelineEventType.CODE_EXECUTION:
            # What was run is a fact, also when it printed nothing.
            return event.status is TimelineStatus.COMPLETED
        case TimelineEventType.TOOL_RESULT | TimelineEventType.ERROR:
            return event.status in _ENDED and bool(event.content.strip())
        case _:
            return event.status is TimelineStatus.COMPLETED and bool(event.content.strip())


def _step(event: TimelineEvent, tool: str, view: TrailView) -> str:
    kind = event.event_type
    text = clip(event.content.strip(), view.result_limit, notice=_CLIPPED)
    match kind:
        case TimelineEventType.LLM_THINKING:
            step = f"Thought: {event.content.strip()}" if view.with_thinking or _is_spoken_thought(event, view) else ""
        case TimelineEventType.LLM_RESPONSE:
            step = f"Response: {event.content.strip()}"
        case TimelineEventType.LLM_TOOL_CALL:
            step = _call(event, tool, view.style)
        case TimelineEventType.TOOL_RESULT | TimelineEventType.MCP_TOOL_SUMMARY:
            step = _result(event, tool, text, view.style)
        case TimelineEventType.CODE_EXECUTION:
            step = _execution(event, text, view)
        case TimelineEventType.GOOGLE_SEARCH_RESULT | TimelineEventType.URL_CONTEXT_RESULT:
            step = f"{kind.value.replace('_', ' ').capitalize()}: {text}"
        case TimelineEventType.ERROR:
            step = f"Error: {text}"
        case TimelineEventType.PROVIDER_FALLBACK | TimelineEventType.WARNING:
            step = f"Note: {text}" if view.with_thinking else ""
        case TimelineEventType.FINAL_ANALYSIS | TimelineEventType.EXECUTIVE_SUMMARY | TimelineEventType.USER_QUESTION:
            # Conclusions are told apart from the way to them, questions by the chat.
            step = ""
        case _:
            assert_never(kind)
    return step


def _is_spoken_thought(event: TimelineEvent, view: TrailView) -> bool:
    return view.style is TrailStyle.REACT and event.metadata.get("source") == "react"


def _call(event: TimelineEvent, tool: str, style: TrailStyle) -> str:
    arguments = event.metadata.get("arguments", event.content)
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    match style:
        case TrailStyle.REACT:
            return f"Action: {tool}\nAction Input: {text.strip() or '{}'}"
        case TrailStyle.NATIVE:
            return f"Tool call: {tool}({text.strip() or '{}'})"
        case _:
            assert_never(style)


def _execution(event: TimelineEvent, result: str, view: TrailView) -> str:
    code = clip(str(event.metadata.get("code") or "").strip(), view.result_limit, notice=_CLIPPED)
    return "\n".join(("Code execution:", *((code,) if code else ()), f"Result: {result or '(no output)'}"))


def _result(event: TimelineEvent, tool: str, text: str, style: TrailStyle) -> str:
    label = "Observation" if style is TrailStyle.REACT else "Tool result"
    failed = "error: " if event.metadata.get("is_error") else ""
    return f"{label}: {tool}: {failed}{text}"


def tool_of(event: TimelineEvent) -> str:
    """The full name of the tool an event speaks of."""
    tool = str(event.metadata.get("tool_name") or "unknown tool")
    server = str(event.metadata.get("server_name") or "")
    return tool if not server or tool.startswith(f"{server}.") else f"{server}.{tool}"


def call_of(event: TimelineEvent) -> str:
    """The id of the call an event belongs to, or nothing."""
    return str(event.metadata.get("call_id") or event.metadata.get("tool_call_id") or "")
