"""The review of an answer: its text for people, its verdict, the result of checking it, and whether its author is asked for a correction."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tarsy.agent.evidence.checker import CheckedAnalysis, Problem, Seen, check, shown_confidence
from tarsy.agent.evidence.verdict import read_verdict, without_verdict
from tarsy.domain.citation import CitationCounts, CitationStatus, citations
from tarsy.domain.evidence import Evidence
from tarsy.domain.history import CITATIONS, CONFIDENCE, REMARKS, VERDICT
from tarsy.domain.verdict import Verdict, verdict_fields
from tarsy.kit.text import clip

_NOT_CITED = "neither cites a result nor is marked (inference)"
# Enough of a statement to find it again.
_STATEMENT = 200
# A correction that is shorter than this fraction of its draft is a remark about it, not an answer.
_SHORTEST_SHARE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """An answer as it is stored: the text without its verdict, and the result of checking it. Offsets refer to `text`."""

    text: str
    verdict: Verdict | None
    checked: CheckedAnalysis

    @property
    def counts(self) -> CitationCounts:
        checked = self.checked
        return CitationCounts(
            cited=len(checked.citations),
            verified=checked.count(CitationStatus.QUOTE_FOUND),
            id_only=checked.count(CitationStatus.ID_ONLY),
            failed=checked.count(CitationStatus.FAILED),
            uncited=len(checked.uncited),
        )

    @property
    def remarks(self) -> tuple[Problem, ...]:
        """The problems that checking found beside the citations themselves."""
        return (*self.checked.problems, *(Problem(text, _NOT_CITED) for text in self.checked.uncited))

    def lacks_verdict(self, *, asks_verdict: bool) -> bool:
        return asks_verdict and self.verdict is None

    def wants_correction(self, *, asks_verdict: bool, analyses: bool) -> bool:
        """Whether a correction may help. An analysis has to cite; an answer to a question need not."""
        cites_nothing = analyses and not self.checked.citations
        return not self.checked.is_clean or cites_nothing or self.lacks_verdict(asks_verdict=asks_verdict)

    def improves(self, draft: "Review") -> bool:
        """Whether it may replace its draft: it is a whole answer, keeps the verdict, and has no more failed citations."""
        is_whole = len(self.text) * _SHORTEST_SHARE >= len(draft.text)
        keeps_verdict = self.verdict is not None or draft.verdict is None
        return bool(self.text) and is_whole and keeps_verdict and self.counts.failed <= draft.counts.failed

    def metadata(self) -> Mapping[str, Any]:
        """Return the metadata of the answer's timeline event."""
        metadata: dict[str, Any] = {CITATIONS: asdict(self.counts)}
        if self.verdict:
            shown, reason = shown_confidence(self.verdict, self.checked)
            metadata |= {VERDICT: verdict_fields(self.verdict), CONFIDENCE: {"shown": shown.value, "reason": reason}}
        if remarks := self.remarks:
            metadata[REMARKS] = [{"statement": clip(one.statement, _STATEMENT, notice="…"), "complaint": one.complaint} for one in remarks]
        return metadata


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAnswer:
    """An answer before it is checked: the text without its verdict, and the verdict."""

    text: str
    verdict: Verdict | None

    @property
    def cited_ids(self) -> frozenset[str]:
        """The evidence ids that the answer and its verdict name."""
        verdict = self.verdict
        named = (*verdict.evidence, *(name for one in verdict.ruled_out for name in one.evidence)) if verdict else ()
        return frozenset((*named, *(one.evidence_id for one in citations(self.text))))

    def review(self, evidence: Sequence[Evidence]) -> Review:
        """Check the answer against what was seen."""
        return Review(text=self.text, verdict=self.verdict, checked=check(self.text, Seen({one.id: one for one in evidence}), self.verdict))


def read_answer(answer: str) -> ReadAnswer:
    verdict = read_verdict(answer)
    text = without_verdict(answer).strip()
    # An answer that is only a verdict shows at least its mechanism.
    return ReadAnswer(text=text or (verdict.mechanism if verdict else ""), verdict=verdict)
