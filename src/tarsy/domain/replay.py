"""Replays: the hash that identifies a model request, and the differences between two runs."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Any

import orjson

from tarsy.domain.conversation import ConversationMessage
from tarsy.domain.llm import GenerateInput
from tarsy.domain.recording import RecordedOutcome
from tarsy.domain.tool import ToolDefinition
from tarsy.kit.text import clip

# Two lines of a wide terminal.
_SHOWN = 200
# Enough to find the place again.
_CONTEXT = 40
# Several results are summarised at the same time, and every run has its own order of that.
_SIDE_BY_SIDE = frozenset({"mcp_tool_summary", "llm_thinking"})


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where a replay departs from its recording."""

    where: str
    recorded: str
    replayed: str

    def __str__(self) -> str:
        """Both texts around the place where they differ: what they share before and after it is left out."""
        start, end = _shared(self.recorded, self.replayed)
        where = f"{self.where}, character {start + 1}" if start > _CONTEXT else self.where
        return f"{where}\n  recorded: {_around(self.recorded, start, end)}\n  replayed: {_around(self.replayed, start, end)}"


def _shared(one: str, other: str) -> tuple[int, int]:
    """How many characters two texts share at their beginning, and at their end."""
    start = _beginning(one, other)
    return start, _beginning(one[start:][::-1], other[start:][::-1])


def _beginning(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (mine, theirs) in pairs if mine != theirs), min(len(one), len(other)))


def _around(text: str, start: int, end: int) -> str:
    first, last = max(0, start - _CONTEXT), max(start, len(text) - end)
    before = ("…" if first else "") + text[first:start]
    after = text[last : last + _CONTEXT] + ("…" if last + _CONTEXT < len(text) else "")
    return before + clip(text[start:last], _SHOWN) + after


# What an entry of the timeline says of itself since version 2.
_SINCE_VERSION_2 = frozenset(
    {"evidence_id", "read_at", "refused", "folded", "citations", "verdict", "confidence", "remarks", "corrected", "correction"}
)


def differences(recorded: RecordedOutcome, replayed: RecordedOutcome, *, version: int = 2) -> list[Difference]:
    """Everything in which `replayed` departs from `recorded`, conversation by conversation.

    A recording of version 1 knows neither ids nor times of results: what agents were told is worded otherwise since, and is not compared.
    What they said and what tools answered is.
    """
    if version == 1:
        recorded, replayed = _as_version_1(recorded), _as_version_1(replayed)
    found = [
        Difference(name, str(getattr(recorded, name)), str(getattr(replayed, name)))
        for name in ("status", "final_analysis", "executive_summary", "verdict", "citations")
        if getattr(recorded, name) != getattr(replayed, name)
    ]
    for track in sorted({*recorded.conversations, *replayed.conversations}):
        found += _compare(f"conversation {track}, message", recorded.conversations.get(track, ()), replayed.conversations.get(track, ()))
    found += _compare("timeline, event", _without_chance(recorded.timeline), _without_chance(replayed.timeline))
    return found


def _as_version_1(outcome: RecordedOutcome) -> RecordedOutcome:
    """What both versions hold."""
    said = {
        track: tuple(message for message in conversation if message["role"] == "assistant")
        for track, conversation in outcome.conversations.items()
    }
    timeline = tuple(
        {**event, "metadata": {name: value for name, value in event["metadata"].items() if name not in _SINCE_VERSION_2}}
        for event in outcome.timeline
    )
    return outcome.model_copy(update={"conversations": said, "timeline": timeline, "verdict": None, "citations": None})


def _without_chance(timeline: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """What agents said, with an order of its own for what ran side by side. What no agent said is no part of a replay."""
    ordered: list[Mapping[str, Any]] = []
    said = _results_beside_calls([event for event in timeline if event["track"]])
    for (_, side_by_side), events in groupby(said, lambda event: (event["track"], event.get("event_type") in _SIDE_BY_SIDE)):
        together = list(events)
        ordered += sorted(together, key=lambda event: (event["event_type"], event["content"])) if side_by_side else together
    return ordered


def _results_beside_calls(events: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Each result after its call: one that was still awaited when a run was interrupted, or where it was forked, was announced again later."""
    calls = {_call(event): place for place, event in enumerate(events) if event.get("event_type") == "llm_tool_call"}

    def place(numbered: tuple[int, Mapping[str, Any]]) -> tuple[int, int]:
        number, event = numbered
        return (calls.get(_call(event), number) if event.get("event_type") == "tool_result" else number, number)

    return [event for _, event in sorted(enumerate(events), key=place)]


def _call(event: Mapping[str, Any]) -> tuple[str, str | None]:
    return event["track"], event.get("metadata", {}).get("call_id")


def _compare(where: str, recorded: Sequence[Mapping[str, Any]], replayed: Sequence[Mapping[str, Any]]) -> Iterator[Difference]:
    for number in range(max(len(recorded), len(replayed))):
        before = recorded[number] if number < len(recorded) else None
        after = replayed[number] if number < len(replayed) else None
        if before is None or after is None:
            yield Difference(f"{where} {number + 1}", _told(before), _told(after))
            continue
        for key in (key for key in (*before, *(after.keys() - before.keys())) if before.get(key) != after.get(key)):
            yield Difference(f"{where} {number + 1}, {key}", str(before.get(key)), str(after.get(key)))


def _told(entry: Mapping[str, Any] | None) -> str:
    return "nothing" if entry is None else ", ".join(f"{key}={value!r}" for key, value in entry.items())


def request_hash(request: GenerateInput) -> str:
    """Hash the messages, the tools on offer and the model; nothing that differs between two runs of the same conversation."""
    messages, model = list(_messages(request.messages)), request.provider.model
    tools = _offered(_Offer(request.tools))
    try:
        # The same bytes ten times sooner: there are no fractions in messages, which the two would write differently.
        said = orjson.dumps(messages, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        said = _canonical(messages)
    return hashlib.sha256(b'{"messages":%b,"model":%b,"tools":%b}' % (said, _canonical(model), tools)).hexdigest()


@dataclass(frozen=True, slots=True, eq=False)
class _Offer:
    """Tools that are offered. An agent is offered the very same ones with each call, and only itself is told from others."""

    tools: Sequence[ToolDefinition]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Offer) and self.tools is other.tools

    def __hash__(self) -> int:
        return id(self.tools)


# The newest: they are large.
@lru_cache(maxsize=8)
def _offered(offer: _Offer) -> bytes:
    return _canonical([_tool(tool) for tool in offer.tools])


def _canonical(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")


def _messages(messages: Iterable[ConversationMessage]) -> Iterable[Mapping[str, Any]]:
    # Call ids are made up anew by some vendors: only which result belongs to which call counts.
    ordinals: dict[str, int] = {}

    def ordinal(call_id: str) -> int:
        return ordinals.setdefault(call_id, len(ordinals))

    for message in messages:
        yield {
            "role": message.role.value,
            "content": message.content,
            "tool_calls": [[ordinal(call.id), call.name, call.arguments] for call in message.tool_calls],
            "tool_call": None if message.tool_call_id is None else ordinal(message.tool_call_id),
            "tool_name": message.tool_name,
        }


def _tool(tool: ToolDefinition) -> Mapping[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters_schema": tool.parameters_schema}
