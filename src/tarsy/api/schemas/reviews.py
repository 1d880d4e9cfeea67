"""Reviews of sessions, the triage of sessions and incidents, and the figures of reviews."""

from datetime import date, datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field

from tarsy.api.schemas.view import Name, Request, StorableText, View
from tarsy.domain.review import MAX_REVIEW_CHARACTERS, Accuracy, SessionReview, Triage

ReviewText = Annotated[StorableText, Field(max_length=MAX_REVIEW_CHARACTERS)]


class ReviewRequest(Request):
    useful: bool = Field(description="Whether the investigation helped.")
    accuracy: Accuracy | None = Field(default=None, description="Whether the verdict named the actual cause; absent: as before.")
    actual_cause: ReviewText | None = Field(default=None, description="The cause that people found; absent: as before.")
    action_taken: ReviewText | None = Field(default=None, description="What people did about it; absent: as before.")


class TriageRequest(Request):
    acknowledged: bool | None = Field(default=None, description="Whether a person has acknowledged it; absent: unchanged.")
    assignee: Name | None = Field(default=None, description="The person who handles it; empty: unassigned; absent: unchanged.")


class CommentRequest(Request):
    text: Annotated[ReviewText, Field(min_length=1, pattern=r"\S")]


class CommentView(View):
    id: UUID
    author: str
    text: str
    created_at: datetime


class TriageView(View):
    """Who has taken notice of a session or an incident, and who takes care of it."""

    acknowledged_by: str | None
    acknowledged_at: datetime | None
    assignee: str | None
    # Oldest first.
    comments: list[CommentView]


class ReviewView(View):
    useful: bool
    accuracy: Accuracy | None
    actual_cause: str
    action_taken: str
    reviewer: str
    reviewed_at: datetime


class SessionReviewView(View):
    # Absent: not reviewed yet.
    review: ReviewView | None
    triage: TriageView

    @classmethod
    def of(cls, review: SessionReview | None, triage: Triage) -> "SessionReviewView":
        return cls(review=ReviewView.model_validate(review) if review else None, triage=TriageView.model_validate(triage))


class ReviewWeekItem(View):
    """Reviewed sessions that ended in one week. Those without a stated accuracy are in `reviewed` and `useful` only."""

    # A Monday.
    first_day: date
    # A chain, `provider / model`, an alert type or a confidence; empty for all of them.
    name: str
    reviewed: int
    useful: int
    accurate: int
    partly: int
    wrong: int


class VerdictWeekItem(View):
    first_day: date
    # Sessions that ended with a verdict, reviewed or not.
    verdicts: int


class ReviewFiguresView(View):
    """The last thirteen weeks in UTC, the earliest first, without forks. Only `weeks` has those without a review."""

    weeks: list[VerdictWeekItem]
    total: list[ReviewWeekItem]
    by_chain: list[ReviewWeekItem]
    by_model: list[ReviewWeekItem]
    by_alert_type: list[ReviewWeekItem]
    by_confidence: list[ReviewWeekItem]
