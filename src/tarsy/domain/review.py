"""What people make of investigations: the review of a session, the triage of sessions and incidents, and figures about reviews."""

from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum

MAX_REVIEW_CHARACTERS = 10_000


class Accuracy(StrEnum):
    """Whether the verdict named the actual cause."""

    ACCURATE = "accurate"
    PARTLY = "partly"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionReview:
    """A person's judgement of a finished session. There is one for each session: a later one changes it."""

    session_id: str
    useful: bool
    accuracy: Accuracy | None = None
    actual_cause: str = ""
    action_taken: str = ""
    reviewer: str
    reviewed_at: datetime


class SubjectKind(StrEnum):
    SESSION = "session"
    INCIDENT = "incident"


@dataclass(frozen=True, slots=True)
class Subject:
    """The session or the incident that people take care of."""

    kind: SubjectKind
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    id: str
    author: str
    text: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Triage:
    """Who has acknowledged a session or an incident, who takes care of it, and what people wrote about it, oldest first."""

    acknowledged_by: str | None = None
    acknowledged_at: datetime | None = None
    assignee: str | None = None
    comments: tuple[Comment, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WeekOfReviews:
    """The reviewed sessions of one chain, model, alert type or confidence, or of all, that ended in one week."""

    first_day: date
    name: str
    reviewed: int
    useful: int
    accurate: int
    partly: int
    wrong: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WeekOfVerdictCounts:
    """The sessions that ended with a verdict in one week, reviewed or not."""

    first_day: date
    verdicts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewFigures:
    weeks: tuple[WeekOfVerdictCounts, ...]
    total: tuple[WeekOfReviews, ...]
    by_chain: tuple[WeekOfReviews, ...]
    by_model: tuple[WeekOfReviews, ...]
    by_alert_type: tuple[WeekOfReviews, ...]
    by_confidence: tuple[WeekOfReviews, ...]
