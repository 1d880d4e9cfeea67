"""The checker: whether the claims of an analysis are supported by what was seen. Code decides.

It proves exactly this: an evidence id was given out, a quotation is in that result, a name or a figure occurs. Everything else is shown as
unproven. A model that judges quotations (`support.py`) can only fail what code has found. docs/evidence.md states the rules.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType

from tarsy.agent.evidence.figures import (
    Dimension,
    Figure,
    TextNumbers,
    ages,
    any_agrees,
    between,
    clock,
    counts,
    counts_before,
    in_words,
    is_converted,
    whole_less,
)
from tarsy.agent.evidence.names import is_instance, is_seen, names
from tarsy.agent.evidence.quotation import SHORTEST_QUOTATION, QuotableText, compares, masks, says_something, states_equality
from tarsy.agent.evidence.reading import parse_reading
from tarsy.agent.evidence.statements import AnalysisSection, Statement, statements, visible
from tarsy.domain.citation import CheckedCitation, Citation, CitationStatus, ClaimSeverity, citations
from tarsy.domain.evidence import Evidence
from tarsy.domain.tool import READ_RESULT_TOOL
from tarsy.domain.tool_arguments import ArgumentProblem
from tarsy.domain.verdict import Verdict, VerdictOutcome

# A correction with more points would not be worked through.
_MOST_PROBLEMS = 40
# Finding the line that a wrong quotation meant is slow: it is done for the first ones only.
_MOST_NEAREST = 20
# Characters searched for one analysis: seconds at worst, and enough for hundreds of quotations from results of ordinary size.
_MOST_SEARCHED = 64_000_000
# Of a longer line, the beginning is compared.
_LONGEST_ROW = 4_000
# Characters searched for names: half a second at worst, thousands of names in results of ordinary size.
_MOST_SEARCHED_FOR_NAMES = 500_000_000
# Characters prepared for search for one analysis: a second or two.
_MOST_READ = 24_000_000
# Characters whose figures are read for one analysis: a tenth of a second, and more than most results have.
_MOST_READ_FOR_FIGURES = 150_000

# A person counts rows up to this number; a larger count was read.
_MOST_COUNTED = 20

_SWEEPS = "says all, every, none, only, always or never without citing what covers it"
_NOT_CITED = "neither cites a result nor is marked (inference)"
# `tarsy.read_result` numbers the lines that it finds.
_LINE_NUMBERS = re.compile(r"^(?:\d+[:-])+")
_REST = re.compile(r"idle|free|avail|unused|remain|success", re.IGNORECASE)
# In these sections, a sweeping word is a claim about the system.
_SWEEPING_SECTIONS = frozenset({AnalysisSection.WHY, AnalysisSection.RULED_OUT, AnalysisSection.IMPACT})


@dataclass(frozen=True, slots=True)
class UnsupportedClaim:
    """A claim that nothing seen supports, with a complaint for the model that made it. `span` is its place; None for the verdict."""

    statement: str
    complaint: str
    severity: ClaimSeverity = ClaimSeverity.FAILURE
    span: tuple[int, int] | None = None


class Support(StrEnum):
    """What supports a statement, at best."""

    VERIFIED = "verified"
    # A right quotation of the alert, a note, the runbook or a skill, which say nothing about the system.
    INPUT = "input"
    ID_ONLY = "id_only"
    INFERENCE = "inference"
    UNCITED = "uncited"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedStatement:
    statement: Statement
    support: Support
    # A figure that the words it cites contradict.
    contradicted: str = ""
    # A figure that no result it cites has, and that is not the time between two times cited.
    unfounded: str = ""
    # Names in it that occur nowhere.
    unseen: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedAnalysis:
    """The result of checking an analysis and its verdict."""

    citations: tuple[CheckedCitation, ...] = ()
    statements: tuple[CheckedStatement, ...] = ()
    problems: tuple[UnsupportedClaim, ...] = ()
    # Names of the verdict that occur nowhere, its object's first.
    unseen: tuple[str, ...] = ()
    # Figures of the verdict's mechanism that are not in the analysis.
    unstated: tuple[str, ...] = ()
    # Why a model failed quotations, by their places in the analysis; by None for the verdict's mechanism.
    judged: Mapping[int | None, str] = field(default_factory=dict[int | None, str])

    def count(self, status: CitationStatus) -> int:
        return sum(one.status is status for one in self.citations)

    @property
    def failures(self) -> tuple[UnsupportedClaim, ...]:
        return tuple(one for one in self.problems if one.severity is ClaimSeverity.FAILURE)

    @property
    def uncited(self) -> tuple[str, ...]:
        return tuple(one.statement.text for one in self.links if one.support is Support.UNCITED)

    @property
    def links(self) -> tuple[CheckedStatement, ...]:
        """The statements of the chain of causes."""
        return tuple(one for one in self.statements if one.statement.section is AnalysisSection.WHY)


@dataclass
class Seen:
    """Everything the session's agents saw, by id; each text is prepared for search once."""

    evidence: Mapping[str, Evidence]
    _texts: dict[str, QuotableText | None] = field(default_factory=dict[str, "QuotableText | None"])
    _names: dict[str, bool] = field(default_factory=dict[str, bool])
    _numbers: dict[str, TextNumbers] = field(default_factory=dict[str, TextNumbers])
    _figures: dict[str, tuple[Figure, ...] | None] = field(default_factory=dict[str, "tuple[Figure, ...] | None"])
    # Characters prepared for search, and characters whose figures were read, so far.
    _read: int = 0
    _read_for_figures: int = 0

    def text(self, evidence_id: str) -> QuotableText | None:
        """Return the text of a result for search; None once the limit for one analysis is reached."""
        if evidence_id not in self._texts:
            self._read += len(self.evidence[evidence_id].text)
            self._texts[evidence_id] = QuotableText(self.evidence[evidence_id].text) if self._read <= _MOST_READ else None
        return self._texts[evidence_id]

    def numbers(self, text: str) -> TextNumbers:
        """Return the numbers of a statement, a quotation or the line around it: several rules read the same words."""
        return self._numbers.setdefault(text, TextNumbers(text))

    def figures(self, evidence_id: str) -> tuple[Figure, ...] | None:
        """Return the figures and bare numbers of a result; None once the limit for one analysis is reached."""
        if evidence_id not in self._figures:
            one = self.source(evidence_id)
            read = TextNumbers(f"{one.answered_arguments}\n{one.text}")
            self._read_for_figures += len(read.text)
            is_within = self._read_for_figures <= _MOST_READ_FOR_FIGURES
            self._figures[evidence_id] = (*read.figures, *ages(read.text), *read.counts) if is_within else None
        return self._figures[evidence_id]

    def holds_name(self, name: str) -> bool:
        """Whether a name occurs in any text that was seen first-hand, or in the call of a tool server that brought it."""
        if name not in self._names:
            # Beyond the limit, a name counts as seen: nothing is reported that was not searched for.
            self._names[name] = len(self._names) * len(self._whole) > _MOST_SEARCHED_FOR_NAMES or is_seen(name, self._whole)
        return self._names[name]

    def holds_word(self, word: str) -> bool:
        """Whether a word occurs in any text other than as a part of a longer name."""
        return re.search(rf"(?<![\w-]){re.escape(word.lower())}(?![\w-])", self._whole) is not None

    @cached_property
    def _whole(self) -> str:
        calls = (f"{one.tool} {one.answered_arguments}" for one in self.evidence.values() if not one.failed and not one.refused)
        return "\n".join((*calls, *(one.text for one in self.evidence.values() if one.is_first_hand)))[:_MOST_READ].lower()

    def source(self, evidence_id: str) -> Evidence:
        """Return the text that a result repeats: what was read again proves as much as when it was first read. Any other text is its own source.

        A result that repeats a text which is not known says nothing about the system, like an input.
        """
        others = dict(self.evidence)
        one = others.pop(evidence_id)
        while one.tool == READ_RESULT_TOOL and not (one.refused or one.failed):
            read = parse_reading(one.arguments)
            source = None if isinstance(read, ArgumentProblem) else others.pop(read["id"].upper(), None)
            one = source or replace(one, tool="", arguments="")
        return one

    @cached_property
    def usable(self) -> frozenset[str]:
        """The ids whose texts prove something: the results of calls that succeeded, and the agents' inputs."""
        sources = {name: self.source(name) for name in self.evidence}
        return frozenset(name for name, one in sources.items() if not one.refused and not one.failed and not one.is_report)

    @cached_property
    def results(self) -> frozenset[str]:
        """The usable results of calls, without the agents' inputs."""
        return frozenset(name for name in self.usable if not self.source(name).is_input)


def check(
    analysis: str, seen: Seen, verdict: Verdict | None = None, judged: Mapping[int | None, str] = MappingProxyType({})
) -> CheckedAnalysis:
    """Check an analysis and its verdict against everything that was seen. `judged` is why a model failed quotations, by their places."""
    found = visible(analysis, citations(analysis))
    checker = _Citations(seen)
    claims = statements(analysis, found)
    checked = {id(citation): checker.check(citation) for citation in found}
    for claim in claims:
        masked = [one for one in claim.citations if masks(one.quotation or "") and checked[id(one)].status is CitationStatus.QUOTE_FOUND]
        if masked and not compares(claim.text, [mask for one in masked for mask in masks(one.quotation or "")]):
            # The rest of the words may show something by itself.
            proving = {id(one) for one in masked if says_something(one.quotation or "") and not states_equality(claim.text)}
            checked |= {id(one): _failed(one, "a masked value shows nothing by itself") for one in masked if id(one) not in proving}
    checked |= {id(one): _failed(one, judged[one.start]) for one in found if one.start in judged}
    reviewed = tuple(_checked(claim, analysis, checked, seen) for claim in claims)
    unseen = tuple(dict.fromkeys(_unseen_of(verdict, seen))) if verdict else ()
    problems = sorted(
        (*_problems_of_citations(checked.values(), claims), *(problem for one in reviewed for problem in _problems(one))),
        key=lambda one: one.span or (0, 0),
    )
    unstated = tuple(_unstated_of(verdict, claims, seen)) if verdict else ()
    problems += _problems_of(verdict, unseen, unstated, seen) if verdict else ()
    problems += [UnsupportedClaim("verdict", judged[None])] if None in judged else ()
    problems.sort(key=lambda one: one.severity is not ClaimSeverity.FAILURE)
    return CheckedAnalysis(
        citations=tuple(checked[id(one)] for one in found),
        statements=reviewed,
        problems=tuple(problems[:_MOST_PROBLEMS]),
        unseen=unseen,
        unstated=unstated,
        judged=judged,
    )


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
            return _failed(citation, f"there is no {evidence_id}{self._where_instead(quotation, evidence_id)}")
        one = self._seen.source(evidence_id)
        if one.is_report:
            return _failed(citation, f"{evidence_id} is what an agent said: cite the results that it rests on, such as {evidence_id}.1")
        if one.refused:
            return _failed(citation, f"{evidence_id} was refused: it shows nothing")
        if one.failed:
            return _failed(citation, f"the call {evidence_id} failed: it shows nothing")
        if quotation is None:
            return _id_only(citation, "nothing is quoted")
        return self._find(quotation, citation)

    def _find(self, quotation: str, citation: Citation) -> CheckedCitation:
        text = self._seen.text(citation.evidence_id)
        self._searched += len(text) if text else 0
        if text is None or self._searched > _MOST_SEARCHED:
            return _id_only(citation, "not looked for: there was too much to check")
        found_at = self._place(text, quotation, citation.evidence_id)
        if found_at is None:
            self._nearest += 1
            nearest = text.nearest_line(quotation) if self._nearest <= _MOST_NEAREST else ""
            return _failed(
                citation, f"these words are not in {citation.evidence_id}{self._where_instead(quotation, citation.evidence_id)}", nearest
            )
        if not says_something(quotation) and not masks(quotation):
            return _id_only(citation, f"says too little: {SHORTEST_QUOTATION} characters of words are needed")
        if text.is_header(found_at):
            return _id_only(citation, "the header of a table shows nothing")
        return CheckedCitation(citation=citation, status=CitationStatus.QUOTE_FOUND, found_at=found_at)

    def _place(self, text: QuotableText, quotation: str, evidence_id: str) -> tuple[int, int] | None:
        """Return where the words are. In what was read again, they have to be in its source too: the rest is notices, and what was searched for."""
        found_at, source = text.find(quotation), self._seen.source(evidence_id)
        if found_at is None or source.id == evidence_id:
            return found_at
        self._searched += len(source.text)
        lines = text.whole[slice(*found_at)].split("\n")
        return found_at if all(_LINE_NUMBERS.sub("", line.strip("…")) in source.text for line in lines) else None

    def _where_instead(self, quotation: str | None, evidence_id: str) -> str:
        """Name the result that has the words, if one has; looked for as often as for the nearest line."""
        if quotation is None or not says_something(quotation) or self._nearest > _MOST_NEAREST:
            return ""
        for other in sorted(self._seen.usable - {evidence_id}):
            text = self._seen.text(other)
            self._searched += len(text) if text else 0
            if text is not None and self._searched <= _MOST_SEARCHED and self._place(text, quotation, other):
                return f"; they are in {other}"
        return ""


def _id_only(citation: Citation, reason: str) -> CheckedCitation:
    return CheckedCitation(citation=citation, status=CitationStatus.ID_ONLY, reason=reason)


def _failed(citation: Citation, reason: str, nearest: str = "") -> CheckedCitation:
    return CheckedCitation(citation=citation, status=CitationStatus.FAILED, reason=reason, nearest=nearest)


def _checked(claim: Statement, analysis: str, checked: Mapping[int, CheckedCitation], seen: Seen) -> CheckedStatement:
    own = [checked[id(one)] for one in claim.citations]
    support = _support(claim, [*own, *(checked[id(one)] for one in claim.below)], seen)
    contradicted = "" if support is Support.INFERENCE else next(_contradictions(claim, analysis, own, seen), "")
    # What to do names times and values that are not there yet.
    is_action = claim.section is AnalysisSection.ACTIONS
    unfounded = next(_unfounded_figures(claim, own, seen), "") if support is Support.VERIFIED and not is_action else ""
    unseen = tuple(name for name in names(claim.text) if not seen.holds_name(name))
    return CheckedStatement(statement=claim, support=support, contradicted=contradicted, unfounded=unfounded, unseen=unseen)


def _support(claim: Statement, cited: Sequence[CheckedCitation], seen: Seen) -> Support:
    found = [one for one in cited if one.status is CitationStatus.QUOTE_FOUND]
    if any(one.citation.evidence_id in seen.results for one in found):
        return Support.INFERENCE if claim.is_inference else Support.VERIFIED
    if claim.is_inference:
        return Support.INFERENCE
    if found:
        return Support.INPUT
    if any(one.status is CitationStatus.ID_ONLY for one in cited):
        return Support.ID_ONLY
    return Support.FAILED if cited else Support.UNCITED


def _contradictions(claim: Statement, analysis: str, cited: Sequence[CheckedCitation], seen: Seen) -> Iterator[str]:
    """Yield what a statement says that the words it quotes contradict."""
    found = [one for one in cited if one.status is CitationStatus.QUOTE_FOUND]
    if not found:
        return
    if claim.section is not AnalysisSection.ACTIONS:
        yield from _contradicted_figures(claim, found, seen)
    yield from _contradicted_object(claim, found, seen)
    yield from _contradicted_counts(analysis[claim.start : claim.end], claim.start, found, seen)


def _contradicted_figures(claim: Statement, found: Sequence[CheckedCitation], seen: Seen) -> Iterator[str]:
    """Yield the figures that agree with no figure quoted, where one of the same kind is quoted that nothing in the statement agrees with.

    Of the numbers without a unit these are the decimal ones, where a quotation has one: others may be the number of an object, or count rows.
    """
    own, quoted = seen.numbers(claim.text), [seen.numbers(one.citation.quotation or "") for one in found]
    claimed = [*own.figures, *in_words(claim.text), *own.decimals]
    # Of several decimals in the same words, none is what the statement is about.
    shown = [figure for one in quoted for figure in (*one.figures, *(one.decimals if len(one.decimals) == 1 else ()))]
    bare = [figure for one in quoted for figure in one.without_unit]
    shown += [whole_less(one) for one in shown if one.has(Dimension.SHARE)] if any(_shows_rest(one) for one in found) else []
    known = (*shown, *between(_clocks(claimed, shown, found, seen)))
    rivals = {reading.dimension for one in shown if not any(other.agrees(one) for other in claimed) for reading in one.readings}
    in_rows: list[Figure] | None = None
    for figure in claimed:
        if not figure.has(*rivals) or any_agrees(figure, known) or any_agrees(_as_counts(figure), bare):
            continue
        if in_rows is None:
            rows = [seen.numbers(row) for row in dict.fromkeys(_row_of(one, seen) for one in found)]
            in_rows = [other for row in rows for other in (*row.figures, *row.decimals)]
        if not any_agrees(figure, in_rows):
            yield figure.text.strip()


def _unfounded_figures(claim: Statement, cited: Sequence[CheckedCitation], seen: Seen) -> Iterator[str]:
    """Yield the figures and large numbers of a statement that no result it cites has, and that are not the time between two times cited.

    Of the times of day these are the converted ones.
    """
    found = [one for one in cited if one.status is CitationStatus.QUOTE_FOUND]
    own = seen.numbers(claim.text)
    claimed = [*own.figures, *in_words(claim.text)]
    quoted = [figure for one in found for read in (seen.numbers(one.citation.quotation or ""),) for figure in (*read.figures, *read.counts)]
    quoted += [whole_less(one) for one in quoted if one.has(Dimension.SHARE, Dimension.COUNT)] if any(map(_shows_rest, found)) else []
    known = (*quoted, *between(_clocks(claimed, quoted, found, seen)))
    shown: list[Figure] | None = None
    for figure in (*claimed, *_large_numbers(own)):
        # Most figures are in the words quoted; the whole results are read for the others alone.
        is_time = figure.has(Dimension.CLOCK) and not is_converted(figure)
        if is_time or any_agrees(figure, known) or any_agrees(_as_counts(figure), quoted):
            continue
        # A figure may be a part of an argument or a name, with a unit that is not in the table.
        if any(_is_written(figure, one.citation.quotation or "") for one in found):
            continue
        if shown is None:
            read = [seen.figures(evidence_id) for evidence_id in dict.fromkeys(one.citation.evidence_id for one in found)]
            if None in read:
                return
            shown = [other for one in read if one is not None for other in one]
        if not any_agrees(figure, shown) and not any_agrees(_as_counts(figure), shown):
            yield figure.text.strip()


def _clocks(claimed: Sequence[Figure], shown: Sequence[Figure], found: Sequence[CheckedCitation], seen: Seen) -> list[Figure]:
    """Return the times that a statement names, quotes, or read its results at."""
    read_at = [clock(at) for one in found if (at := seen.source(one.citation.evidence_id).read_at)]
    return [one for one in (*shown, *claimed, *read_at) if one.has(Dimension.CLOCK)]


def _shows_rest(one: CheckedCitation) -> bool:
    """Whether a quotation shows what is left: from 45 % idle follows 55 % busy."""
    return _REST.search(one.citation.quotation or "") is not None


def _contradicted_object(claim: Statement, found: Sequence[CheckedCitation], seen: Seen) -> Iterator[str]:
    """Yield the pod or node that a statement is about, if all rows quoted are about others."""
    instances = [name.rpartition("/")[2] for name in names(claim.text) if is_instance(name) and seen.holds_name(name)]
    rows = [_row_of(one, seen) for one in found]
    places = "\n".join((*rows, *(seen.source(one.citation.evidence_id).answered_arguments for one in found))).lower()
    others = [name for row in rows for name in names(row) if is_instance(name)]
    if instances and others and not any(is_seen(name, places) for name in instances):
        yield instances[0]


def _contradicted_counts(statement: str, start: int, found: Sequence[CheckedCitation], seen: Seen) -> Iterator[str]:
    """Yield the counts before a quotation that are none of the numbers in the quotations of the statement."""
    numbers = [number for one in found for number in seen.numbers(one.citation.quotation or "").counts]
    for one in found:
        words = (one.citation.quotation or "").lower()
        for figure, counted in counts_before(statement, one.citation.start - start):
            # Not a word that is part of an object's name, as in "two recommender pods".
            is_counted = counted in {"times", "time"} or re.search(rf"(?<![/-]){re.escape(counted[:5])}\w*(?!-)\b", words)
            if is_counted and any(seen.numbers(words).counts) and not any_agrees(figure, numbers):
                yield f"{figure.text} {counted}"


def _large_numbers(numbers: TextNumbers) -> Iterator[Figure]:
    """Yield the numbers without a unit that have decimals or are too large to be a count of rows."""
    return (one for one in numbers.without_unit if "." in one.text or one.readings[0].value > _MOST_COUNTED)


def _as_counts(figure: Figure) -> Figure:
    """Return a figure as the bare number that was written: a quotation may leave the unit out."""
    bare = list(counts(figure.text.strip().split()[0].rstrip("%abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZµμ/")))
    return bare[0] if bare and not figure.has(Dimension.CLOCK, Dimension.COUNT) else figure


def _is_written(figure: Figure, text: str) -> bool:
    """Whether a text has the figure in the same letters, whatever they mean there."""
    return re.search(rf"(?<!\d){re.escape(figure.text.strip())}(?!\d)", text) is not None


def _row_of(one: CheckedCitation, seen: Seen) -> str:
    """Return the line that a quotation stands in: its words may leave out the value, or the name."""
    text = seen.text(one.citation.evidence_id)
    if text is None or one.found_at is None:
        return ""
    start, end = text.whole.rfind("\n", 0, one.found_at[0]) + 1, text.whole.find("\n", one.found_at[1])
    return text.whole[start : end if end >= 0 else len(text.whole)][:_LONGEST_ROW]


def _problems_of_citations(checked: Iterable[CheckedCitation], claims: Sequence[Statement]) -> Iterator[UnsupportedClaim]:
    for one in checked:
        if one.status is CitationStatus.FAILED:
            claim = next((claim for claim in claims if claim.start <= one.citation.start < claim.end), None)
            nearest = f"; the nearest line there is: {one.nearest}" if one.nearest else ""
            quoted = f': "{one.citation.quotation}"' if one.citation.quotation else ""
            yield UnsupportedClaim(
                claim.text if claim else "",
                f"[{one.citation.evidence_id}{quoted}]: {one.reason}{nearest}",
                span=(claim.start, claim.end) if claim else (one.citation.start, one.citation.end),
            )


def _problems(one: CheckedStatement) -> Iterator[UnsupportedClaim]:
    claim = one.statement
    in_why, span = claim.section is AnalysisSection.WHY, (claim.start, claim.end)
    if in_why and one.support is Support.UNCITED:
        yield UnsupportedClaim(claim.text, _NOT_CITED, span=span)
    if one.contradicted:
        yield UnsupportedClaim(claim.text, f"{one.contradicted}: the words cited say something else", span=span)
    elif one.unfounded:
        complaint = f"{one.unfounded} is in no result that it cites: mark what you computed (inference)"
        yield UnsupportedClaim(claim.text, complaint, ClaimSeverity.REMARK, span)
    for name in one.unseen:
        yield UnsupportedClaim(
            claim.text, f"{name} occurs in nothing that was seen", ClaimSeverity.FAILURE if in_why else ClaimSeverity.REMARK, span
        )
    if claim.section in _SWEEPING_SECTIONS and claim.sweeps and one.support in {Support.UNCITED, Support.FAILED}:
        yield UnsupportedClaim(claim.text, _SWEEPS, ClaimSeverity.REMARK, span)


def _unseen_of(verdict: Verdict, seen: Seen) -> Iterator[str]:
    if verdict.object is not None and verdict.outcome is not VerdictOutcome.INCONCLUSIVE:
        name, namespace = verdict.object.name, verdict.object.namespace
        if name and not seen.holds_name(name):
            yield name
        # No part of a longer name: a bucket `acme-media` is no sign of a namespace `media`.
        if namespace and not seen.holds_word(namespace):
            yield namespace
    yield from (name for name in names(verdict.mechanism) if not seen.holds_name(name))


def _unstated_of(verdict: Verdict, claims: Sequence[Statement], seen: Seen) -> Iterator[str]:
    texts = [text for claim in claims for text in (claim.text, *(one.quotation or "" for one in claim.citations))]
    stated = [figure for text in texts for read in (seen.numbers(text),) for figure in (*read.figures, *read.counts)]
    mechanism = seen.numbers(verdict.mechanism)
    for figure in (*mechanism.figures, *_large_numbers(mechanism)):
        # The port of an address is no count, but it is written there.
        if not any_agrees(figure, stated) and not any(_is_written(figure, text) for text in texts):
            yield figure.text


def _problems_of(verdict: Verdict, unseen: Sequence[str], unstated: Sequence[str], seen: Seen) -> list[UnsupportedClaim]:
    cited = (*verdict.evidence, *(name for one in verdict.ruled_out for name in one.evidence))
    return [
        *(UnsupportedClaim("verdict", f"there is no {one} that shows anything") for one in dict.fromkeys(cited) if one not in seen.usable),
        *(UnsupportedClaim("verdict", f"{name} occurs in nothing that was seen") for name in unseen),
        *(UnsupportedClaim("verdict", f"{figure} is not in the analysis", ClaimSeverity.REMARK) for figure in unstated),
    ]
