"""The confidence to show: computed from what was verified. It can only be lower than the agent's own.

Each rule is a function that returns why it limits the confidence, or an empty string. docs/evidence.md states them in this order.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from tarsy.agent.evidence.checker import CheckedAnalysis, CheckedStatement, Seen, Support
from tarsy.agent.evidence.figures import Figure, ages, ago, any_agrees, clock, clocks
from tarsy.agent.evidence.names import is_seen
from tarsy.agent.evidence.statements import AnalysisSection
from tarsy.domain.citation import CheckedCitation, CitationStatus
from tarsy.domain.evidence import ALERT, Evidence
from tarsy.domain.tool import RECENT_CHANGES_TOOL
from tarsy.domain.verdict import Confidence, Verdict, VerdictOutcome, at_most

# Characters of one result that are searched for the time of `since`: tens of thousands of lines.
_MOST_SEARCHED = 4_000_000


@dataclass(frozen=True)
class _Case:
    """A verdict and all that its confidence depends on."""

    verdict: Verdict
    checked: CheckedAnalysis
    seen: Seen

    @cached_property
    def verified(self) -> tuple[CheckedCitation, ...]:
        """The quotations that were found in a result of a call."""
        found = (one for one in self.checked.citations if one.status is CitationStatus.QUOTE_FOUND)
        return tuple(one for one in found if one.citation.evidence_id in self.seen.results)

    @cached_property
    def quoted(self) -> tuple[Evidence, ...]:
        """The results that they were found in, or that these repeat."""
        return tuple(self.seen.source(name) for name in dict.fromkeys(one.citation.evidence_id for one in self.verified))

    @property
    def links(self) -> tuple[CheckedStatement, ...]:
        return self.checked.links

    @property
    def is_fault(self) -> bool:
        return self.verdict.outcome is VerdictOutcome.FAULT

    @cached_property
    def since(self) -> Figure | None:
        """The time of `since`. Seconds that are zero were not stated: YAML wants them written."""
        return next(clocks(re.sub(r"(:\d\d):00(?=\D|$)", r"\1", self.verdict.since, count=1)), None)


def shown_confidence(verdict: Verdict, checked: CheckedAnalysis, seen: Seen) -> tuple[Confidence, str]:
    """Return the confidence to show, and the reason if it is lower than the agent's own."""
    case = _Case(verdict, checked, seen)
    if verdict.outcome is not VerdictOutcome.INCONCLUSIVE:
        for limit, rules in _RULES.items():
            reason = next((reason for rule in rules if (reason := rule(case))), "")
            shown = at_most(verdict.confidence, limit)
            if reason and shown is not verdict.confidence:
                return shown, reason
    return verdict.confidence, ""


def _no_result(case: _Case) -> str:
    return "" if case.seen.results else "no tool brought a result"


def _nothing_verified(case: _Case) -> str:
    return "" if case.verified else "no quotation of a result could be verified"


def _most_failed(case: _Case) -> str:
    return "more citations failed than were verified" if case.checked.count(CitationStatus.FAILED) > len(case.verified) else ""


def _no_chain(case: _Case) -> str:
    return "there is no chain of causes" if case.is_fault and not case.links else ""


def _nothing_observed(case: _Case) -> str:
    observed = any(one.support is Support.VERIFIED for one in case.links)
    return "no link of the chain of causes was observed" if case.links and not observed else ""


def _contradicted(case: _Case) -> str:
    return next((f"the words cited contradict “{one.contradicted}”" for one in case.links if one.contradicted), "")


def _unsupported_link(case: _Case) -> str:
    failed = [one for one in case.links if one.support is Support.FAILED]
    judged = any(cited.start in case.checked.judged for one in failed for cited in one.statement.citations)
    words = "do not support it, judged by a model" if judged else "were not seen"
    return f"a link of the chain of causes cites words that {words}" if failed else ""


def _judged(case: _Case) -> str:
    return f"the mechanism is not supported: {case.checked.judged[None]}" if None in case.checked.judged else ""


def _unseen_name(case: _Case) -> str:
    unseen = (*case.checked.unseen, *(name for one in case.links for name in one.unseen))
    return f"{unseen[0]} was never seen" if unseen else ""


def _unseen_since(case: _Case) -> str:
    since = case.since
    is_seen = since is None or any(any_agrees(since, _times(one)) for one in case.seen.evidence.values() if one.is_first_hand)
    return f"{case.verdict.since} was never seen" if case.is_fault and not is_seen else ""


def _useless_evidence(case: _Case) -> str:
    useless = [name for name in case.verdict.evidence if name not in case.seen.usable]
    return f"the verdict rests on {useless[0]}, which shows nothing" if useless else ""


def _incomplete(case: _Case) -> str:
    incomplete = case.is_fault and (case.verdict.object is None or not case.verdict.mechanism)
    return "the verdict names no object or no mechanism" if incomplete else ""


_WEAK_LINK: Mapping[Support, str] = {
    Support.INFERENCE: "is an inference",
    Support.UNCITED: "is not cited",
    Support.INPUT: "rests on the alert, a note, the runbook or a skill",
    Support.ID_ONLY: "quotes nothing",
}


def _weak_link(case: _Case) -> str:
    weak = next((one for one in case.links if one.support in _WEAK_LINK), None)
    return f"a link of the chain of causes {_WEAK_LINK[weak.support]}" if weak else ""


def _unfounded_figure(case: _Case) -> str:
    unfounded = next((one.unfounded for one in case.links if one.unfounded), "")
    if unfounded:
        return f"{unfounded} is in no result that its link of the chain of causes cites"
    return f"{case.checked.unstated[0]} in the mechanism is not in the analysis" if case.checked.unstated else ""


def _object_not_quoted(case: _Case) -> str:
    name = case.verdict.object.name if case.is_fault and case.verdict.object else ""
    words = (*(one.citation.quotation or "" for one in case.verified), *(one.answered_arguments for one in case.quoted))
    return f"{name} is in no verified quotation" if name and not is_seen(name, "\n".join(words).lower()) else ""


def _nothing_ruled_out(case: _Case) -> str:
    ruled_out = (one for one in case.checked.statements if one.statement.section is AnalysisSection.RULED_OUT)
    excluded = any(one.support is Support.VERIFIED for one in ruled_out)
    return "nothing is ruled out by a verified quotation" if case.is_fault and not excluded else ""


def _since_not_cited(case: _Case) -> str:
    alert = [case.seen.evidence[ALERT]] if ALERT in case.seen.evidence else []
    is_cited = case.since is not None and any(any_agrees(case.since, _times(one)) for one in (*case.quoted, *alert))
    return "“since” is in nothing that is cited" if case.is_fault and not is_cited else ""


def _times(evidence: Evidence) -> Iterator[Figure]:
    """Yield the times of day that a result shows, and those that follow from its ages."""
    # The first line of a list of changes states the times that the agent asked for.
    text = evidence.text.partition("\n")[2] if evidence.tool == RECENT_CHANGES_TOOL else evidence.text
    text = text[:_MOST_SEARCHED]
    yield from clocks(text)
    if evidence.read_at:
        at = clock(evidence.read_at)
        for age in ages(text):
            yield from ago(at, age)


_RULES: Mapping[Confidence, tuple[Callable[[_Case], str], ...]] = {
    Confidence.LOW: (
        _no_result,
        _nothing_verified,
        _most_failed,
        _no_chain,
        _nothing_observed,
        _contradicted,
        _unsupported_link,
        _judged,
        _unseen_name,
        _unseen_since,
        _useless_evidence,
        _incomplete,
    ),
    Confidence.MEDIUM: (_weak_link, _unfounded_figure, _object_not_quoted, _nothing_ruled_out, _since_not_cited),
}
