"""The rules of the work on sessions, which a process has to know before it has any."""

from tarsy.domain.claim import CHAT_ANSWER, INVESTIGATION, SCORING
from tarsy.domain.work import Lane, WorkRules

INVESTIGATIONS = WorkRules(kind=INVESTIGATION, lane=Lane.INVESTIGATIONS, counts_as_session=True)
CHAT_ANSWERS = WorkRules(kind=CHAT_ANSWER, lane=Lane.FOLLOW_UPS, begins_apart_from=frozenset({SCORING}))
SCORINGS = WorkRules(kind=SCORING, lane=Lane.FOLLOW_UPS, begins_apart_from=frozenset({CHAT_ANSWER}))
