"""An attempt: the result of one investigation of a case, read from the recording of its session."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tarsy.agent.evidence.checker import Seen, check
from tarsy.agent.evidence.verdict import read_verdict
from tarsy.domain.citation import CheckedCitation, CitationStatus
from tarsy.domain.evidence import ALERT, RUNBOOK, Evidence, agent_prefix, call_id
from tarsy.domain.recording import Recording
from tarsy.domain.usage import TokenUsage
from tarsy.domain.verdict import Verdict, verdict_of


@dataclass(frozen=True, slots=True)
class CitedEvidence:
    """A checked citation, and the whole text of the evidence that it names; empty if there is none."""

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
    # Links of the causal chain that neither cite evidence nor are marked as inferences.
    uncited: int = 0
    # Names, figures and generalisations that no citation supports.
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
    """Return the citations of evidence that contains `text`, ignoring white space."""
    wanted = _plain(text)
    return tuple(one for one in cited if one.counts and wanted in _plain(one.text))


def quotes(one: CitedEvidence, text: str) -> bool:
    """Return whether the quotation itself contains `text`."""
    return _plain(text) in _plain(one.checked.citation.quotation or "")


def _plain(text: str) -> str:
    """Normalise white space: models quote padded rows of tables with single spaces."""
    return " ".join(text.split()).lower()


def attempt_of(recording: Recording, *, seconds: float, error: str = "", cost_usd: float | None = None) -> Attempt:
    """Read a finished session as an attempt."""
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
        cited=tuple(
            CitedEvidence(one, seen[one.citation.evidence_id].text if one.citation.evidence_id in seen else "") for one in checked.citations
        ),
        uncited=len(checked.uncited),
        unsupported=len(checked.failures),
        turns=len(recording.calls),
        tool_calls=len(recording.tools),
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        total_tokens=used.total_tokens,
        cost_usd=cost_usd,
        seconds=seconds,
        error=error,
    )


def evidence_of(recording: Recording) -> Mapping[str, Evidence]:
    """Return everything that the session's agents saw, by evidence id."""
    alert, timeline = recording.alert, recording.outcome.timeline if recording.outcome else ()
    given = ((ALERT, alert.data), (RUNBOOK, alert.runbook)) if alert else ()
    found = [Evidence(id=name, text=text) for name, text in given if text]
    events = [(event, event["metadata"]) for event in timeline if event["metadata"].get("evidence_id")]
    arguments = {metadata["evidence_id"]: event["content"] for event, metadata in events if event["event_type"] == "llm_tool_call"}
    results = [
        Evidence(
            id=metadata["evidence_id"],
            text=event["content"],
            tool=f"{metadata.get('server_name', '')}.{metadata.get('tool_name', '')}",
            arguments=arguments.get(metadata["evidence_id"], ""),
            refused=metadata.get("refused", False),
            failed=metadata.get("is_error", False),
            read_at=datetime.fromisoformat(metadata["read_at"]) if "read_at" in metadata else None,
        )
        for event, metadata in events
        if event["event_type"] == "tool_result"
    ]
    # Sessions of version 1 did not record the ids of their evidence.
    return {one.id: one for one in (*found, *(results or _numbered_evidence(recording)))}


def _numbered_evidence(recording: Recording) -> Iterator[Evidence]:
    """Number the tool results of each conversation in the order in which the model wrote its calls; results of one turn come in any order."""
    conversations: Mapping[str, Sequence[Mapping[str, Any]]] = recording.outcome.conversations if recording.outcome else {}

    def plan_order(track: str) -> tuple[int, int]:
        stage, _, agent = track.partition("/")
        return int(stage.partition(".")[0]), int(agent.partition(".")[0] or 0)

    for place, track in enumerate(sorted(conversations, key=plan_order)):
        results = {tool.call_id: tool for tool in recording.tools if tool.track == track}
        calls: list[Mapping[str, Any]] = [call for message in conversations[track] for call in message.get("tool_calls") or ()]
        for number, wanted in enumerate([str(call["id"]) for call in calls] or list(results), start=1):
            evidence_id, result = call_id(agent_prefix(place), number), results.get(wanted)
            if result:
                yield Evidence(id=evidence_id, text=result.content, tool=result.name, arguments=result.arguments)
            else:
                # A call that reached no server has no result.
                yield Evidence(id=evidence_id, text="", refused=True)
