"""The review of an answer: its text for people, its verdict, the result of checking it, and whether its author is asked for a correction."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from tarsy.agent.evidence.checker import CheckedAnalysis, Seen, UnsupportedClaim, check
from tarsy.agent.evidence.confidence import shown_confidence
from tarsy.agent.evidence.correction import SHORTEST_SHARE, FailedStatement, failed_statements, patched
from tarsy.agent.evidence.verdict import ParsedVerdict, parse_verdict, verdict_block, without_verdict
from tarsy.domain.citation import CitationCounts, CitationStatus, ClaimSeverity
from tarsy.domain.evidence import Evidence
from tarsy.domain.history import CITATIONS, CONFIDENCE, REMARKS, VERDICT
from tarsy.domain.verdict import Confidence, Verdict, verdict_fields
from tarsy.kit.text import clip

# Enough of a statement to find it again.
_STATEMENT = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """An answer as it is stored: the text without its verdict, and the result of checking it. Offsets refer to `text`."""

    text: str
    verdict: Verdict | None
    checked: CheckedAnalysis
    # The verdict as it was written.
    verdict_block: str = ""
    # Values of the verdict that are not valid.
    invalid: tuple[str, ...] = ()
    # The confidence to show, and why it is lower than the agent's own. None without a verdict.
    confidence: tuple[Confidence, str] | None = None
    seen: Seen = field(repr=False)
    # Why no model has judged the quotations, although one was to.
    unjudged: str = ""

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
    def problems(self) -> tuple[UnsupportedClaim, ...]:
        invalid = (UnsupportedClaim("verdict", complaint) for complaint in self.invalid)
        unjudged = (UnsupportedClaim("all quotations", self.unjudged, ClaimSeverity.REMARK),) if self.unjudged else ()
        return (*invalid, *self.checked.problems, *unjudged)

    def judged(self, objections: Mapping[int | None, str]) -> "Review":
        """Return the review with the quotations failed that a model objected to, by their places."""
        checked = check(self.text, self.seen, self.verdict, objections)
        confidence = shown_confidence(self.verdict, checked, self.seen) if self.verdict else None
        return replace(self, checked=checked, confidence=confidence)

    @property
    def failed_statements(self) -> tuple[FailedStatement, ...]:
        """The statements that a correction has to replace."""
        return failed_statements(self.checked.failures)

    @property
    def verdict_complaints(self) -> tuple[str, ...]:
        """What a correction has to change in the verdict."""
        return (*self.invalid, *(one.complaint for one in self.checked.failures if one.span is None))

    def lacks_verdict(self, *, asks_verdict: bool) -> bool:
        return asks_verdict and self.verdict is None

    def wants_correction(self, *, asks_verdict: bool, analyses: bool) -> bool:
        """Whether a correction may help. An analysis has to cite; an answer to a question need not."""
        cites_nothing = analyses and not self.checked.citations
        verdict_fails = asks_verdict and bool(self.verdict_complaints)
        return bool(self.failed_statements) or verdict_fails or cites_nothing or self.lacks_verdict(asks_verdict=asks_verdict)

    def patched(self, reply: str) -> str:
        """Return the answer with the replacements of a reply; the reply itself if it is a whole answer instead."""
        text = patched(self.text, self.failed_statements, reply, self.verdict_block)
        return reply if text is None else text

    def improves(self, draft: "Review", *, by_older_rules: bool = False) -> bool:
        """Whether it may replace its draft: another whole answer that keeps the verdict and the verified citations, without more failures.

        By the rules of older recordings, it may also repeat the draft, or have fewer verified citations.
        """
        is_whole = bool(self.text) and len(self.text) * SHORTEST_SHARE >= len(draft.text)
        keeps_verdict = self.verdict is not None or draft.verdict is None
        is_other = (self.text, self.verdict_block) != (draft.text, draft.verdict_block)
        is_kept = by_older_rules or (is_other and self.counts.verified >= draft.counts.verified)
        return is_whole and keeps_verdict and is_kept and self.counts.failed <= draft.counts.failed

    def metadata(self) -> Mapping[str, Any]:
        """Return the metadata of the answer's timeline event."""
        metadata: dict[str, Any] = {CITATIONS: asdict(self.counts)}
        if self.verdict and self.confidence:
            shown, reason = self.confidence
            metadata |= {VERDICT: verdict_fields(self.verdict), CONFIDENCE: {"shown": shown.value, "reason": reason}}
        if problems := self.problems:
            metadata[REMARKS] = [
                {"statement": clip(one.statement, _STATEMENT, notice="…"), "complaint": one.complaint, "severity": one.severity.value}
                for one in problems
            ]
        return metadata


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAnswer:
    """An answer before it is checked: the text without its verdict, and the verdict."""

    text: str
    parsed: ParsedVerdict
    verdict_block: str

    def review(self, evidence: Sequence[Evidence]) -> Review:
        """Check the answer against everything that was seen."""
        seen, verdict = Seen({one.id: one for one in evidence}), self.parsed.verdict
        checked = check(self.text, seen, verdict)
        confidence = shown_confidence(verdict, checked, seen) if verdict else None
        return Review(
            text=self.text,
            verdict=verdict,
            checked=checked,
            verdict_block=self.verdict_block,
            invalid=self.parsed.problems,
            confidence=confidence,
            seen=seen,
        )


def read_answer(answer: str) -> ReadAnswer:
    parsed = parse_verdict(answer)
    text = without_verdict(answer).strip()
    # An answer that is only a verdict shows at least its mechanism.
    return ReadAnswer(text=text or (parsed.verdict.mechanism if parsed.verdict else ""), parsed=parsed, verdict_block=verdict_block(answer))
