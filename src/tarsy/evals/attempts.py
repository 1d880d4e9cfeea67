"""An attempt: the result of one investigation of a case, read from the recording of its session."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from tarsy.agent.evidence.checker import CheckedAnalysis, Seen, check
from tarsy.agent.evidence.quotation import SHORTEST_QUOTATION, normalised
from tarsy.agent.evidence.verdict import read_verdict
from tarsy.domain.citation import CheckedCitation, CitationStatus
from tarsy.domain.evidence import ALERT, RUNBOOK, Evidence, agent_prefix, call_id
from tarsy.domain.recording import Recording
from tarsy.domain.usage import TokenUsage
from tarsy.domain.verdict import Confidence, Verdict, verdict_of


@dataclass(frozen=True, slots=True)
class CitedEvidence:
    """A checked citation, and the whole text of the tool result that it names; empty if it names none."""

    checked: CheckedCitation
    text: str

    def shows(self, text: str) -> bool:
        """Return whether its verified quotation covers `text` in the result, or as much of it as a quotation needs."""
        if self.checked.status is not CitationStatus.QUOTE_FOUND:
            return False
        result, wanted = _plain(self.text), _plain(text)
        enough = min(len(wanted), SHORTEST_QUOTATION)
        # Words that the quotation leaves out are not quoted.
        quoted = [part for part in map(str.strip, _plain(self.checked.citation.quotation or "").split("...")) if len(part) >= enough]
        at = result.find(wanted)
        while at >= 0:
            # Every part that lies within these bounds has enough in common with the words found.
            if any(part in result[max(0, at + enough - len(part)) : at + len(wanted) - enough + len(part)] for part in quoted):
                return True
            at = result.find(wanted, at + 1)
        return False

    def quotes(self, text: str) -> bool:
        """Return whether the quotation itself contains `text`."""
        return _plain(text) in _plain(self.checked.citation.quotation or "")


@lru_cache(maxsize=256)
def _plain(text: str) -> str:
    return normalised(text).lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    status: str
    analysis: str = ""
    verdict: Verdict | None = None
    # The confidence that TARSy computed and showed; None without a verdict.
    confidence: Confidence | None = None
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


def attempt_of(recording: Recording, *, seconds: float, error: str = "", cost_usd: float | None = None) -> Attempt:
    """Read a finished session as an attempt."""
    outcome = recording.outcome
    analysis = (outcome.final_analysis if outcome else None) or ""
    # The analysis of a session is kept without its verdict; one of version 1 has it in its text.
    verdict = verdict_of(outcome.verdict) if outcome and outcome.verdict else read_verdict(analysis)
    # Version 1 stored no computed confidence: it showed what the agent stated.
    stated = verdict.confidence if verdict else None
    shown = Confidence(outcome.verdict.get("confidence", stated)) if outcome and outcome.verdict else stated
    seen = Seen(evidence_of(recording))
    checked = check(analysis, seen, verdict)
    used = sum((chunk.usage for call in recording.calls for chunk in call.chunks if chunk.usage), TokenUsage())
    return Attempt(
        status=outcome.status if outcome else "unknown",
        analysis=analysis,
        verdict=verdict,
        confidence=shown,
        cited=cited_evidence(checked, seen),
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


def cited_evidence(checked: CheckedAnalysis, seen: Seen) -> tuple[CitedEvidence, ...]:
    """Return the citations of an analysis with the results that they name."""
    texts = {name: seen.evidence[name].text for name in seen.results}
    return tuple(CitedEvidence(one, texts.get(one.citation.evidence_id, "")) for one in checked.citations)


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
