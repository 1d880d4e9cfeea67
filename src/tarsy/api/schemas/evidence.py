"""Evidence, and the citations of it."""

from datetime import datetime
from uuid import UUID

from tarsy.api.schemas.view import View
from tarsy.db.run.evidence import CheckedText, EvidenceText, PlacedCitation
from tarsy.domain.citation import CitationStatus, ClaimSeverity


class EvidenceItem(View):
    # `A7`, `Q2.1`, `NOTE1`, `ALERT`, `RUNBOOK`.
    id: str
    # These are absent for the alert and the runbook.
    stage_id: UUID | None
    execution_id: UUID | None
    server: str | None
    tool: str | None
    arguments: str | None
    read_at: datetime | None
    # Characters of the stored text.
    size: int
    is_error: bool
    # The call was refused, so a citation of it is not verified.
    refused: bool


class EvidenceList(View):
    evidence: list[EvidenceItem]


class EvidenceDetail(EvidenceItem):
    # As stored: masked, not shortened.
    text: str
    # The text with its repetitions folded, if the agent got it so. A citation's position p beyond len(text) means folded[p - len(text) - 1].
    folded: str | None

    @classmethod
    def of(cls, found: EvidenceText, folded: str | None) -> "EvidenceDetail":
        return cls.build(found.seen, found, folded=folded)


class CitationView(View):
    # The agent that wrote the text.
    execution_id: UUID
    # The whole bracket, in characters of the text: `final_analysis`, or the answer of the requested execution.
    start: int
    end: int
    # One entry for each id of a bracket.
    evidence_id: str
    quotation: str | None
    # Only `quote_found` is verified.
    status: CitationStatus
    # Why it is not verified; empty if it is.
    reason: str
    # If the quotation was not found: the line of the evidence that is most similar to it.
    nearest: str
    # Where the quotation is in the evidence's text.
    found_start: int | None
    found_end: int | None

    @classmethod
    def of(cls, placed: PlacedCitation) -> "CitationView":
        checked = placed.checked
        found_start, found_end = checked.found_at or (None, None)
        return cls.build(placed, checked, checked.citation, found_start=found_start, found_end=found_end)


class RemarkView(View):
    execution_id: UUID
    statement: str
    # A name or number that no cited evidence contains, a sweeping word, or a step of the chain of causes without a citation.
    complaint: str
    # A failure was reported to the model, which could correct it; a remark is only shown.
    severity: ClaimSeverity


class CitationList(View):
    citations: list[CitationView]
    remarks: list[RemarkView]

    @classmethod
    def of(cls, checked: CheckedText) -> "CitationList":
        return cls.build(checked, citations=[CitationView.of(one) for one in checked.citations])
