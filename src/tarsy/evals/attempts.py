"""An attempt: what one investigation of a case left behind. Pure module."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tarsy.agent.evidence.checker import Seen, check
from tarsy.agent.evidence.verdict import read_verdict
from tarsy.domain.citation import CheckedCitation, CitationStatus
from tarsy.domain.evidence import ALERT, RUNBOOK, Evidence, agent_prefix, call_id
from tarsy.domain.recording import RecordedTool, Recording
from tarsy.domain.usage import TokenUsage
from tarsy.domain.verdict import Verdict, verdict_of


@dataclass(frozen=True, slots=True)
class CitedEvidence:
    """A citation, how checking it came out, and the whole text of the result that it names; empty where there is none."""

    checked: CheckedCitation
    text: str

    @property
    def counts(self) -> bool:
        return self.checked.status is not CitationStatus.FAILED


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    status: str
    analysis: str = ""
    verdict: Verdict | None = None
    cited: tuple[CitedEvidence, ...] = ()
    # Links of the chain of causes that neither cite nor say that they are inferences.
    uncited: int = 0
    # Names, figures and sweeping words that nothing cited supports.
    unsupported: int = 0
    turns: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    # None: the price of the model is not known.
    cost_usd: float | None = None
    seconds: float = 0.0
    error: str = ""

    def count(self, status: CitationStatus) -> int:
        return sum(one.checked.status is status for one in self.cited)


def holding(cited: Sequence[CitedEvidence], text: str) -> tuple[CitedEvidence, ...]:
    """The citations of results that hold `text`, white space aside."""
    wanted = _plain(text)
    return tuple(one for one in cited if one.counts and wanted in _plain(one.text))


def quotes(one: CitedEvidence, text: str) -> bool:
    """Whether the quotation itself holds `text`."""
    return _plain(text) in _plain(one.checked.citation.quotation or "")


def _plain(text: str) -> str:
    """Tables are padded, and a padded row is quoted with single spaces."""
    return " ".join(text.split()).lower()


def attempt_of(recording: Recording, *, seconds: float, error: str = "", cost_usd: float | None = None) -> Attempt:
    """Read a finished session as an attempt at its case."""
    outcome = recording.outcome
    analysis = (outcome.final_analysis if outcome else None) or ""
    # The analysis of a session is kept without its verdict; one of version 1 has it in its text.
    verdict = verdict_of(outcome.verdict) if outcome and outcome.verdict else read_verdict(analysis)
    seen = evidence_of(recording)
    checked = check(analysis, Seen(seen), verdict)
    used = sum((chunk.usage for call in recording.calls for chunk in call.chunks if chunk.usage), TokenUsage())
    return Attempt(
        status=outcome.status if outcome else "unknown",
        analysis=analysis,
        verdict=verdict,
        cited=tuple(CitedEvidence(one, _text_of(seen, one.citation.evidence_id)) for one in checked.citations),
        uncited=len(checked.uncited),
        unsupported=len(checked.problems),
        turns=len(recording.calls),
        tool_calls=len(recording.tools),
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        total_tokens=used.total_tokens,
        cost_usd=cost_usd,
        seconds=seconds,
        error=error,
    )


def _text_of(seen: Mapping[str, Evidence], evidence_id: str) -> str:
    return seen[evidence_id].text if evidence_id in seen else ""


def evidence_of(recording: Recording) -> Mapping[str, Evidence]:
    """Everything that the session's agents saw, by id."""
    given = ((ALERT, recording.alert.data), (RUNBOOK, recording.alert.runbook)) if recording.alert else ()
    found = [Evidence(id=name, text=text) for name, text in given if text]
    if told := list(_told(recording)):
        return {one.id: one for one in (*found, *told)}
    for place, track in enumerate(_tracks(recording)):
        found += _results(recording, track, agent_prefix(place))
    return {one.id: one for one in found}


def _told(recording: Recording) -> Iterator[Evidence]:
    """The results under the ids that the session itself gave them; none in version 1."""
    timeline = recording.outcome.timeline if recording.outcome else ()
    about = [(event, event["metadata"]) for event in timeline if event["metadata"].get("evidence_id")]
    asked = {metadata["evidence_id"]: event["content"] for event, metadata in about if event["event_type"] == "llm_tool_call"}
    for event, metadata in about:
        if event["event_type"] == "tool_result":
            yield Evidence(
                id=metadata["evidence_id"],
                text=event["content"],
                tool=f"{metadata.get('server_name', '')}.{metadata.get('tool_name', '')}",
                arguments=asked.get(metadata["evidence_id"], ""),
                folded=metadata.get("folded", False),
                refused=metadata.get("refused", False),
            )


def _tracks(recording: Recording) -> list[str]:
    """The conversations in the order of the plan."""
    return sorted(recording.outcome.conversations, key=_place) if recording.outcome else []


def _place(track: str) -> tuple[int, int]:
    stage, _, agent = track.partition("/")
    return int(stage.partition(".")[0]), int(agent.partition(".")[0] or 0)


def _results(recording: Recording, track: str, prefix: str) -> Iterator[Evidence]:
    results = {tool.call_id: tool for tool in recording.tools if tool.track == track}
    asked = _asked(recording, track) or list(results)
    for number, wanted in enumerate(asked, start=1):
        yield _seen(call_id(prefix, number), results.get(wanted))


def _asked(recording: Recording, track: str) -> list[str]:
    """The ids of a conversation's calls in the order in which the model wrote them; calls of one turn may come back in any order."""
    messages = recording.outcome.conversations.get(track, ()) if recording.outcome else ()
    calls: list[Mapping[str, Any]] = [call for message in messages for call in message.get("tool_calls") or ()]
    return [str(call["id"]) for call in calls]


def _seen(evidence_id: str, result: RecordedTool | None) -> Evidence:
    if result is None:
        # A call that reached no server showed nothing.
        return Evidence(id=evidence_id, text="", refused=True)
    return Evidence(id=evidence_id, text=result.content, tool=result.name, arguments=result.arguments)
