"""What a list of sessions can be sorted by."""

from enum import StrEnum


class SessionSort(StrEnum):
    """How a list of sessions is sorted."""

    CREATED = "created"
    # The order in which waiting sessions are begun.
    QUEUE = "queue"
    ALERT_TYPE = "alert_type"
    # Of its incident.
    SEVERITY = "severity"
    OUTCOME = "outcome"
    CONFIDENCE = "confidence"
    # The number of verified ones.
    CITATIONS = "citations"
    AGENTS = "agents"
    FALLBACKS = "fallbacks"
    QUESTIONS = "questions"
    SCORE = "score"
    DURATION = "duration"
    TOKENS = "tokens"
    COST = "cost"


class SortOrder(StrEnum):
    ASC = "asc"
    DESC = "desc"

    @property
    def reverse(self) -> "SortOrder":
        return SortOrder.DESC if self is SortOrder.ASC else SortOrder.ASC
