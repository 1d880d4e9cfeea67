"""Replays: the hash that identifies a model request, and the differences between two runs."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from tarsy.domain.llm import GenerateInput
from tarsy.domain.recording import RULES_SINCE, RecordedOutcome
from tarsy.kit.text import clip

# Characters of a difference: two lines of a wide terminal.
_SHOWN = 200
# Characters around it: enough to find the place.
_CONTEXT = 40
# Results are summarised concurrently, in a different order in every run.
_CONCURRENT = frozenset({"mcp_tool_summary", "llm_thinking"})
# Metadata of timeline events that depend on the rules of evidence, and those that version 1 does not have.
_OF_RULES = frozenset({"folded", "citations", "verdict", "confidence", "remarks", "corrected", "correction"})
_SINCE_VERSION_2 = _OF_RULES | {"evidence_id", "read_at", "refused"}


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where a replay departs from its recording."""

    where: str
    recorded: str
    replayed: str

    def __str__(self) -> str:
        """Show both texts around the place where they differ, without what they have in common before and after it."""
        start = _common_length(self.recorded, self.replayed)
        end = _common_length(self.recorded[start:][::-1], self.replayed[start:][::-1])

        def around(text: str) -> str:
            first, last = max(0, start - _CONTEXT), max(start, len(text) - end)
            before = ("…" if first else "") + text[first:start]
            after = text[last : last + _CONTEXT] + ("…" if last + _CONTEXT < len(text) else "")
            return before + clip(text[start:last], _SHOWN) + after

        where = f"{self.where}, character {start + 1}" if start > _CONTEXT else self.where
        return f"{where}\n  recorded: {around(self.recorded)}\n  replayed: {around(self.replayed)}"


def _common_length(one: str, other: str) -> int:
    """Return how many characters two texts have in common at their beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (mine, theirs) in pairs if mine != theirs), min(len(one), len(other)))


def differences(recorded: RecordedOutcome, replayed: RecordedOutcome, *, version: int = RULES_SINCE) -> list[Difference]:
    """Return all differences of `replayed` from `recorded`, conversation by conversation.

    In an older recording, the messages to agents are worded differently and answers are checked by other rules: only the agents' own
    messages and the results of tools are compared. Version 1 has neither ids nor times of results.
    """
    if version < RULES_SINCE:
        recorded, replayed = _comparable(recorded, version), _comparable(replayed, version)
    found = [
        Difference(name, str(getattr(recorded, name)), str(getattr(replayed, name)))
        for name in ("status", "final_analysis", "executive_summary", "verdict", "citations")
        if getattr(recorded, name) != getattr(replayed, name)
    ]
    for track in sorted({*recorded.conversations, *replayed.conversations}):
        found += _compare(f"conversation {track}, message", recorded.conversations.get(track, ()), replayed.conversations.get(track, ()))
    found += _compare("timeline, event", _in_fixed_order(recorded.timeline), _in_fixed_order(replayed.timeline))
    return found


def _comparable(outcome: RecordedOutcome, version: int) -> RecordedOutcome:
    """Return the part of an outcome that an older version and this one have in common."""
    left_out = _SINCE_VERSION_2 if version == 1 else _OF_RULES
    conversations = {
        track: tuple(message for message in conversation if message["role"] == "assistant")
        for track, conversation in outcome.conversations.items()
    }
    # Before version 4, every draft and every rejected correction had an entry of its own, and the analysis was the last one.
    entries = (event for event in outcome.timeline if not event["metadata"].keys() & {"draft", "rejected_correction"})
    timeline = tuple(
        {
            **event,
            # What the program itself reads again is not recorded, and was shown in another form.
            "content": "" if event["metadata"].get("tool_name") == "read_result" else event["content"],
            "metadata": {name: value for name, value in event["metadata"].items() if name not in left_out},
        }
        for event in sorted(entries, key=lambda event: event["event_type"] == "final_analysis")
    )
    return outcome.model_copy(update={"conversations": conversations, "timeline": timeline, "verdict": None, "citations": None})


def _in_fixed_order(timeline: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the events of agents in an order that is the same in every run; other events are no part of a replay.

    A result follows its call: after an interruption or a fork it may have been announced later. Concurrent events are sorted.
    """
    events = [event for event in timeline if event["track"]]

    def call(event: Mapping[str, Any]) -> tuple[str, str | None]:
        return event["track"], event.get("metadata", {}).get("call_id")

    calls = {call(event): number for number, event in enumerate(events) if event.get("event_type") == "llm_tool_call"}

    def place(numbered: tuple[int, Mapping[str, Any]]) -> tuple[int, int]:
        number, event = numbered
        return (calls.get(call(event), number) if event.get("event_type") == "tool_result" else number, number)

    placed = [event for _, event in sorted(enumerate(events), key=place)]
    ordered: list[Mapping[str, Any]] = []
    for (_, concurrent), group in groupby(placed, lambda event: (event["track"], event.get("event_type") in _CONCURRENT)):
        together = list(group)
        ordered += sorted(together, key=lambda event: (event["event_type"], event["content"])) if concurrent else together
    return ordered


def _compare(where: str, recorded: Sequence[Mapping[str, Any]], replayed: Sequence[Mapping[str, Any]]) -> Iterator[Difference]:
    for number in range(max(len(recorded), len(replayed))):
        before = recorded[number] if number < len(recorded) else None
        after = replayed[number] if number < len(replayed) else None
        if before is None or after is None:
            yield Difference(f"{where} {number + 1}", _entry_text(before), _entry_text(after))
            continue
        for key in (key for key in (*before, *(after.keys() - before.keys())) if before.get(key) != after.get(key)):
            yield Difference(f"{where} {number + 1}, {key}", str(before.get(key)), str(after.get(key)))


def _entry_text(entry: Mapping[str, Any] | None) -> str:
    return "nothing" if entry is None else ", ".join(f"{key}={value!r}" for key, value in entry.items())


def request_hash(request: GenerateInput) -> str:
    """Hash the messages, the offered tools and the model of a request: the same for every run of the same conversation."""
    # Some vendors generate new call ids in every run: only which result belongs to which call counts.
    ordinals: dict[str, int] = {}

    def ordinal(call_id: str) -> int:
        return ordinals.setdefault(call_id, len(ordinals))

    messages = [
        {
            "role": message.role.value,
            "content": message.content,
            "tool_calls": [[ordinal(call.id), call.name, call.arguments] for call in message.tool_calls],
            "tool_call": None if message.tool_call_id is None else ordinal(message.tool_call_id),
            "tool_name": message.tool_name,
        }
        for message in request.messages
    ]
    tools = [{"name": tool.name, "description": tool.description, "parameters_schema": tool.parameters_schema} for tool in request.tools]
    content = {"messages": messages, "model": request.provider.model, "tools": tools}
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()
