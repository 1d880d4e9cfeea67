"""What a model is told about an answer that did not stand up to checking: once, with the nearest real line for each quotation. Pure module."""

from tarsy.agent.evidence.review import Review
from tarsy.agent.prompt.instructions import VERDICT
from tarsy.domain.citation import CheckedCitation, CitationStatus
from tarsy.kit.text import clip

# More points would not be worked through.
_MOST_POINTS = 30
_LONGEST_POINT = 400


_TASK = (
    "Write the whole answer again, with nothing left out that was right. Correct each point, or withdraw the statement, or mark it "
    "*(inference)*. Quote only what stands in a result, character for character. Do not mention this check."
)


def correction_points(review: Review) -> str:
    """What was found, one point a line; it repeats words of the answer and of results, so it belongs into a fence."""
    failed = [_citation(one) for one in review.checked.citations if one.status is CitationStatus.FAILED]
    remarks = [f"{clip(one.statement, _LONGEST_POINT, notice='…')}: {one.complaint}" for one in review.remarks]
    points = [*failed, *remarks]
    more = [f"and {len(points) - _MOST_POINTS} more"] if len(points) > _MOST_POINTS else []
    return "\n".join(f"- {' '.join(point.split())}" for point in (*points[:_MOST_POINTS], *more))


def correction_task(review: Review, *, asks_verdict: bool) -> str:
    """What is to be done about it."""
    lines = [_TASK]
    if not review.checked.citations:
        lines.append('Nothing in your answer cites a result: cite after each claim, as `[A7: "exact words"]`.')
    if review.lacks_verdict(asks_verdict=asks_verdict):
        lines.append(f"The verdict is missing. {VERDICT}")
    return "\n".join(lines)


def _citation(checked: CheckedCitation) -> str:
    citation = checked.citation
    quoted = f': "{clip(citation.quotation, _LONGEST_POINT, notice="…")}"' if citation.quotation else ""
    nearest = f"; the nearest line there is: {checked.nearest}" if checked.nearest else ""
    return f"[{citation.evidence_id}{quoted}]: {checked.reason}{nearest}"
