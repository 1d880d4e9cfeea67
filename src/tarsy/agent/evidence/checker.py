"""The checker: whether the claims of an analysis are supported by what was seen. Code decides, never a model.

It proves exactly this: an evidence id was given out, a quotation is in that result, a name or a figure occurs. Everything else is shown as
unproven.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from tarsy.agent.evidence.quotation import SHORTEST_QUOTATION, QuotableText
from tarsy.agent.evidence.statements import Statement, holds_figure, statements
from tarsy.agent.folding import fold
from tarsy.domain.citation import CheckedCitation, Citation, CitationStatus, citations
from tarsy.domain.evidence import ALERT, Evidence
from tarsy.domain.verdict import Confidence, Verdict, VerdictOutcome, at_most

# The section in which every statement has to be cited.
CHAIN_OF_CAUSES = "why"
# A correction with more points would not be worked through.
_MOST_PROBLEMS = 40
# Finding the line that a wrong quotation meant is slow: it is done for as many as a correction lists.
_MOST_NEAREST = 20
# Characters searched for one analysis: seconds at worst, and enough for hundreds of quotations from results of ordinary size.
_MOST_SEARCHED = 64_000_000
# Characters prepared for search for one analysis: a second or two. Folding a character costs as much as preparing eight.
_MOST_READ = 24_000_000
_FOLDING = 8


@dataclass(frozen=True, slots=True)
class Problem:
    """A claim that nothing seen supports, with a complaint for the model that made it."""

    statement: str
    complaint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedAnalysis:
    """The result of checking an analysis."""

    citations: tuple[CheckedCitation, ...] = ()
    # Statements of the chain of causes that neither cite nor are marked as inferences.
    uncited: tuple[str, ...] = ()
    # Names and figures that are in no cited result, and sweeping words without a citation.
    problems: tuple[Problem, ...] = ()
    # Evidence of the verdict that was never seen.
    unseen: tuple[str, ...] = ()

    def count(self, status: CitationStatus) -> int:
        return sum(one.status is status for one in self.citations)

    @property
    def is_clean(self) -> bool:
        return not self.problems and not self.uncited and not self.count(CitationStatus.FAILED)


def seen_text(evidence: Evidence) -> str:
    """Return all that an agent may have seen of a result: the whole, and its folded form if it was folded."""
    return f"{evidence.text}\n{fold(evidence.text).text}" if evidence.folded else evidence.text


@dataclass(frozen=True)
class Seen:
    """Everything the session's agents saw, by id; each text is prepared for search once."""

    evidence: Mapping[str, Evidence]
    _texts: dict[str, QuotableText | None] = field(default_factory=dict[str, "QuotableText | None"])
    _spent: list[int] = field(default_factory=list[int])

    def text(self, evidence_id: str) -> QuotableText | None:
        """Return the text of a result for search; None once the limit for one analysis is reached."""
        if evidence_id not in self._texts:
            evidence = self.evidence[evidence_id]
            self._spent.append(len(evidence.text) * (_FOLDING if evidence.folded else 1))
            affordable = sum(self._spent) <= _MOST_READ
            self._texts[evidence_id] = QuotableText(seen_text(evidence)) if affordable else None
        return self._texts[evidence_id]

    def holds_name(self, evidence_id: str, name: str) -> bool:
        # The call is part of what was seen: its arguments name the object.
        one, text = self.evidence[evidence_id], self.text(evidence_id)
        return text is None or text.holds(name) or name in one.arguments or name in one.tool

    def holds_figure(self, evidence_id: str, figure: str) -> bool:
        text = self.text(evidence_id)
        return text is None or holds_figure(text.whole, figure)

    @cached_property
    def usable(self) -> frozenset[str]:
        return frozenset(one.id for one in self.evidence.values() if not one.refused and not one.is_report)


def check(analysis: str, seen: Seen, verdict: Verdict | None = None) -> CheckedAnalysis:
    """Check an analysis and its verdict against everything that was seen."""
    found = citations(analysis)
    checker = _Citations(seen)
    checked = tuple(checker.check(citation) for citation in found)
    claims = [one for one in statements(analysis, found) if not one.is_inference]
    cited = frozenset(one.evidence_id for one in found) & seen.usable
    unseen = tuple(one for one in (verdict.evidence if verdict else ()) if one not in seen.usable)
    problems = (
        *(Problem(f"verdict: evidence {one}", f"there is no {one} that shows anything") for one in unseen),
        *_name_problems(claims, verdict, cited, seen),
        *_figure_problems(claims, seen),
        *(
            Problem(one.text, "says all, every, none, only, always or never without citing what covers it")
            for one in claims
            if one.sweeps and not one.citations
        ),
    )
    uncited = tuple(one.text for one in claims if one.section == CHAIN_OF_CAUSES and not one.citations)
    return CheckedAnalysis(citations=checked, uncited=uncited, problems=problems[:_MOST_PROBLEMS], unseen=unseen)


def shown_confidence(verdict: Verdict, checked: CheckedAnalysis) -> tuple[Confidence, str]:
    """Return the confidence to show, and why it is lower than claimed; an empty reason if it is not."""
    if verdict.outcome is VerdictOutcome.INCONCLUSIVE:
        return verdict.confidence, ""
    reason = _doubt(verdict, checked)
    capped = at_most(verdict.confidence, Confidence.MEDIUM) if reason else verdict.confidence
    return capped, reason if capped is not verdict.confidence else ""


def _doubt(verdict: Verdict, checked: CheckedAnalysis) -> str:
    failed = {one.citation.evidence_id for one in checked.citations if one.status is CitationStatus.FAILED}
    if under := [evidence_id for evidence_id in verdict.evidence if evidence_id in failed]:
        return f"a citation of {under[0]}, which the verdict rests on, could not be verified"
    if checked.unseen:
        return f"the verdict rests on {checked.unseen[0]}, which shows nothing"
    if not checked.count(CitationStatus.QUOTE_FOUND):
        return "no citation could be verified"
    verified = {one.citation.evidence_id for one in checked.citations if one.status is CitationStatus.QUOTE_FOUND}
    if verdict.evidence and not verified.intersection(verdict.evidence):
        return "nothing that the verdict rests on is quoted"
    return "the verdict names no evidence" if not verdict.evidence else ""


class _Citations:
    """Checks citations one after another, each pair of id and words once, within the limits of one analysis."""

    def __init__(self, seen: Seen) -> None:
        self._seen = seen
        self._known: dict[tuple[str, str | None], CheckedCitation] = {}
        self._searched = 0
        self._nearest = 0

    def check(self, citation: Citation) -> CheckedCitation:
        key = (citation.evidence_id, citation.quotation)
        if key not in self._known:
            self._known[key] = self._check(citation)
        return replace(self._known[key], citation=citation)

    def _check(self, citation: Citation) -> CheckedCitation:
        evidence_id, quotation = citation.evidence_id, citation.quotation
        if evidence_id not in self._seen.evidence:
            return _failed(citation, f"there is no {evidence_id}")
        if self._seen.evidence[evidence_id].is_report:
            return _failed(citation, f"{evidence_id} is what an agent said: cite the results that it rests on, such as {evidence_id}.1")
        if evidence_id not in self._seen.usable:
            return _failed(citation, f"{evidence_id} was refused: it shows nothing")
        if quotation is None:
            return _id_only(citation, "nothing is quoted")
        return self._find(quotation, citation)

    def _find(self, quotation: str, citation: Citation) -> CheckedCitation:
        text = self._seen.text(citation.evidence_id)
        self._searched += len(text) if text else 0
        if text is None or self._searched > _MOST_SEARCHED:
            return _id_only(citation, "not looked for: there was too much to check")
        found_at = text.find(quotation)
        if found_at is None:
            self._nearest += 1
            nearest = text.nearest_line(quotation) if self._nearest <= _MOST_NEAREST else ""
            return _failed(citation, f"these words are not in {citation.evidence_id}", nearest)
        if not text.is_quotable(quotation):
            return _id_only(citation, f"fewer than {SHORTEST_QUOTATION} characters and no whole line")
        return CheckedCitation(citation=citation, status=CitationStatus.QUOTE_FOUND, found_at=found_at)


def _id_only(citation: Citation, reason: str) -> CheckedCitation:
    return CheckedCitation(citation=citation, status=CitationStatus.ID_ONLY, reason=reason)


def _failed(citation: Citation, reason: str, nearest: str = "") -> CheckedCitation:
    return CheckedCitation(citation=citation, status=CitationStatus.FAILED, reason=reason, nearest=nearest)


def _name_problems(claims: Sequence[Statement], verdict: Verdict | None, cited: frozenset[str], seen: Seen) -> tuple[Problem, ...]:
    """Find names in the chain of causes and in the verdict that are in no cited result and not in the alert."""
    places = cited | (frozenset({ALERT}) & seen.usable)
    named = [(one.text, name) for one in claims if one.section == CHAIN_OF_CAUSES for name in one.names]
    if verdict is not None:
        named += [
            (f"verdict: {verdict.mechanism}", name) for name in Statement(text=verdict.mechanism, start=0, section="", citations=()).names
        ]
        if verdict.object is not None and verdict.outcome is VerdictOutcome.FAULT:
            named.append((f"verdict: {verdict.object}", verdict.object.name))
    known: dict[str, bool] = {}
    return tuple(
        Problem(text, f"`{name}` is in nothing that is cited, nor in the alert")
        for text, name in named[:_MOST_PROBLEMS]
        if not known.setdefault(name, any(seen.holds_name(place, name) for place in sorted(places)))
    )


def _figure_problems(claims: Sequence[Statement], seen: Seen) -> tuple[Problem, ...]:
    """Find figures with units that are in none of the results that their statement cites."""
    problems: list[Problem] = []
    for one in claims:
        places = {citation.evidence_id for citation in one.citations} & seen.usable
        if not places:
            continue
        missing = (figure for figure in one.figures if not any(seen.holds_figure(place, figure) for place in sorted(places)))
        problems += (Problem(one.text, f"{figure} is not in what is cited") for figure in missing)
    return tuple(problems)
