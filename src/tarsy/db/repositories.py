"""The repositories of sessions, together: sessions and everything stored about them."""

from dataclasses import dataclass
from typing import Self

from tarsy.db.approvals import ApprovalRepository
from tarsy.db.outbox import Publisher
from tarsy.db.review import ReviewRepository
from tarsy.db.run.evidence import CitationRepository, EvidenceRepository
from tarsy.db.run.timeline import TimelineRepository
from tarsy.db.run.trace import InteractionRepository
from tarsy.db.session.admission import Admission
from tarsy.db.session.followups import ChatRepository, ScoreRepository
from tarsy.db.session.forks import ForkRepository
from tarsy.db.session.notes import NoteRepository
from tarsy.db.session.recordings import RecordingSource
from tarsy.db.session.repository import SessionRepository


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRepositories:
    sessions: SessionRepository
    timeline: TimelineRepository
    interactions: InteractionRepository
    evidence: EvidenceRepository
    citations: CitationRepository
    chats: ChatRepository
    scores: ScoreRepository
    notes: NoteRepository
    reviews: ReviewRepository
    approvals: ApprovalRepository
    forks: ForkRepository
    recordings: RecordingSource

    @classmethod
    def on(cls, publisher: Publisher, admission: Admission) -> Self:
        """Return the repositories on one database; `admission` receives the sessions that they commit."""
        engine = publisher.engine
        return cls(
            sessions=SessionRepository(publisher, admission),
            timeline=TimelineRepository(engine),
            interactions=InteractionRepository(engine),
            evidence=EvidenceRepository(engine),
            citations=CitationRepository(engine),
            chats=ChatRepository(publisher),
            scores=ScoreRepository(engine),
            notes=NoteRepository(publisher),
            reviews=ReviewRepository(engine),
            approvals=ApprovalRepository(publisher),
            forks=ForkRepository(publisher, admission),
            recordings=RecordingSource(engine),
        )
