"""The verdict of a session, and what its citations come to."""

from typing import Any

from tarsy.api.schemas.view import View
from tarsy.domain.citation import CitationCounts
from tarsy.domain.verdict import Confidence, JudgedVerdict, StillHappening, VerdictOutcome


class AffectedObjectView(View):
    kind: str
    namespace: str
    name: str


class RuledOutView(View):
    hypothesis: str
    evidence: list[str]


class VerdictView(View):
    """What is wrong, with which object, why, and how certain that is."""

    outcome: VerdictOutcome
    object: AffectedObjectView | None
    mechanism: str
    # As the investigator claims it.
    confidence_object: Confidence
    confidence_mechanism: Confidence
    # The weaker of both, or less, where citations could not be verified; then the reason says so, else it is empty.
    confidence: Confidence
    confidence_reason: str
    since: str
    still_happening: StillHappening
    # Ids of the evidence that it rests on.
    evidence: list[str]
    ruled_out: list[RuledOutView]
    category: str

    @classmethod
    def of(cls, judged: JudgedVerdict | None) -> "VerdictView | None":
        return cls.shown(judged, judged.verdict) if judged else None

    @classmethod
    def listed(cls, judged: JudgedVerdict | None) -> dict[str, Any] | None:
        return cls.fields_of(judged, judged.verdict) if judged else None


class CitationSums(View):
    # All citations; each is verified, or names its evidence only, or failed.
    cited: int
    verified: int
    id_only: int
    failed: int
    # Statements of the chain of causes that cite nothing and are not called inferences.
    uncited: int

    @classmethod
    def of(cls, counts: CitationCounts | None) -> "CitationSums | None":
        return cls.model_validate(counts) if counts else None
