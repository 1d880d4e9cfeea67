"""What agents saw, under the ids by which they cite it."""

from datetime import datetime
from uuid import UUID

from tarsy.api.schemas.view import View
from tarsy.db.run.evidence import EvidenceText, SeenEvidence


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
    # The call was not made: it shows nothing, and citing it is not verified.
    refused: bool


class EvidenceList(View):
    evidence: list[EvidenceItem]

    @classmethod
    def of(cls, seen: list[SeenEvidence]) -> "EvidenceList":
        return cls(evidence=[EvidenceItem.model_validate(one) for one in seen])


class EvidenceDetail(EvidenceItem):
    # As stored: masked, not shortened.
    text: str
    # Where its agent saw it with its repetitions folded: that form. Places of citations behind the end of `text` are in it, one character further on.
    folded: str | None

    @classmethod
    def of(cls, found: EvidenceText, folded: str | None) -> "EvidenceDetail":
        return cls(**EvidenceItem.model_validate(found.seen).model_dump(), text=found.text, folded=folded)
