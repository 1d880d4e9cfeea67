"""What checking found in an analysis, citation by citation."""

from uuid import UUID

from tarsy.api.schemas.view import View
from tarsy.db.run.evidence import CheckedText, PlacedCitation
from tarsy.domain.citation import CitationStatus


class CitationView(View):
    # The agent whose words these are.
    execution_id: UUID
    # The whole bracket, in characters of the text: `final_analysis`, or the answer of the execution that was asked for.
    start: int
    end: int
    # One entry for each id of a bracket.
    evidence_id: str
    quotation: str | None
    # Only `quote_found` is verified.
    status: CitationStatus
    # Why it is not verified; empty when it is.
    reason: str
    # The real line that is most like a quotation which was not found.
    nearest: str
    # Where in the evidence's text the quotation stands.
    found_start: int | None
    found_end: int | None

    @classmethod
    def of(cls, placed: PlacedCitation) -> "CitationView":
        checked = placed.checked
        found_start, found_end = checked.found_at or (None, None)
        return cls.shown(placed, checked, checked.citation, found_start=found_start, found_end=found_end)


class RemarkView(View):
    execution_id: UUID
    statement: str
    # A name or a figure that is in nothing cited, a sweeping word or a link of the chain of causes without a citation.
    complaint: str


class CitationList(View):
    citations: list[CitationView]
    remarks: list[RemarkView]

    @classmethod
    def of(cls, checked: CheckedText) -> "CitationList":
        return cls.shown(checked, citations=[CitationView.of(one) for one in checked.citations])
