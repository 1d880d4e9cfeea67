"""What a worker takes on: a claimed session, chat question or scoring, and what its claim's heartbeat can tell it."""

from dataclasses import dataclass
from enum import StrEnum

from tarsy.domain.chat import ChatUserMessage
from tarsy.domain.claim import Claim
from tarsy.domain.score import SessionScore
from tarsy.domain.session import AlertSession

# A session that took three workers with it is the likely cause: it is not given a fourth.
MAX_RECOVERIES = 3


@dataclass(frozen=True, slots=True)
class SessionWork:
    claim: Claim
    session: AlertSession


@dataclass(frozen=True, slots=True)
class ChatWork:
    claim: Claim
    session: AlertSession
    question: ChatUserMessage


@dataclass(frozen=True, slots=True)
class ScoreWork:
    claim: Claim
    session: AlertSession
    score: SessionScore


Work = SessionWork | ChatWork | ScoreWork


class Pulse(StrEnum):
    """What a heartbeat found."""

    ALIVE = "alive"
    CANCEL = "cancel"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Recovered:
    """Work that was taken back from a worker that fell silent; `given_up` when it was taken back too often."""

    claim_id: str
    session_id: str
    given_up: bool
