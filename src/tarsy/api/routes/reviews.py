"""Reviews: what people make of a session, who takes care of sessions and incidents, and how often verdicts were right."""

from datetime import UTC, datetime

from tarsy.api.router import api_router
from tarsy.api.routes.incidents import IncidentId
from tarsy.api.schemas.reviews import (
    CommentRequest,
    CommentView,
    ReviewFiguresView,
    ReviewRequest,
    ReviewView,
    SessionReviewView,
    TriageRequest,
    TriageView,
)
from tarsy.api.schemas.view import SessionId
from tarsy.api.services import AuthorDep, Services, ServicesDep
from tarsy.domain.review import Subject, SubjectKind

router = api_router(tag="reviews")


@router.get("/sessions/{session_id}/review", operation_id="getReview")
async def get_review(session_id: SessionId, services: ServicesDep) -> SessionReviewView:
    """The review of a session and its triage."""
    await services.repositories.sessions.require(str(session_id))
    reviews = services.repositories.reviews
    triage = await reviews.triage_of(Subject(SubjectKind.SESSION, str(session_id)))
    return SessionReviewView.of(await reviews.of_session(str(session_id)), triage)


@router.post("/sessions/{session_id}/review", operation_id="reviewSession")
async def review_session(session_id: SessionId, given: ReviewRequest, services: ServicesDep, author: AuthorDep) -> ReviewView:
    """Review a session that has ended, or change its review; 409 while it runs."""
    review = await services.repositories.reviews.review(
        str(session_id),
        reviewer=author,
        useful=given.useful,
        accuracy=given.accuracy,
        actual_cause=None if given.actual_cause is None else services.mask(given.actual_cause),
        action_taken=None if given.action_taken is None else services.mask(given.action_taken),
    )
    return ReviewView.model_validate(review)


@router.patch("/sessions/{session_id}/triage", operation_id="triageSession")
async def triage_session(session_id: SessionId, wanted: TriageRequest, services: ServicesDep, author: AuthorDep) -> TriageView:
    """Acknowledge a session or its review, or assign it to a person."""
    return await _triage(Subject(SubjectKind.SESSION, str(session_id)), wanted, services, author)


@router.post("/sessions/{session_id}/comments", status_code=201, operation_id="commentSession")
async def comment_session(session_id: SessionId, given: CommentRequest, services: ServicesDep, author: AuthorDep) -> CommentView:
    """Comment on a session or its review."""
    return await _comment(Subject(SubjectKind.SESSION, str(session_id)), given, services, author)


@router.patch("/incidents/{incident_id}/triage", operation_id="triageIncident")
async def triage_incident(incident_id: IncidentId, wanted: TriageRequest, services: ServicesDep, author: AuthorDep) -> TriageView:
    """Acknowledge an incident, or assign it to a person."""
    return await _triage(Subject(SubjectKind.INCIDENT, str(incident_id)), wanted, services, author)


@router.post("/incidents/{incident_id}/comments", status_code=201, operation_id="commentIncident")
async def comment_incident(incident_id: IncidentId, given: CommentRequest, services: ServicesDep, author: AuthorDep) -> CommentView:
    """Comment on an incident."""
    return await _comment(Subject(SubjectKind.INCIDENT, str(incident_id)), given, services, author)


@router.get("/reviews/figures", operation_id="getReviewFigures")
async def get_review_figures(services: ServicesDep) -> ReviewFiguresView:
    """How useful and how accurate verdicts were, in each of the last thirteen weeks, by chain, model, alert type and confidence."""
    return ReviewFiguresView.model_validate(await services.repositories.reviews.figures(datetime.now(UTC).date()))


async def _triage(subject: Subject, wanted: TriageRequest, services: Services, author: str) -> TriageView:
    reviews = services.repositories.reviews
    assignee = None if wanted.assignee is None else wanted.assignee.strip()
    await reviews.change_triage(subject, actor=author, acknowledged=wanted.acknowledged, assignee=assignee)
    return TriageView.model_validate(await reviews.triage_of(subject))


async def _comment(subject: Subject, given: CommentRequest, services: Services, author: str) -> CommentView:
    return CommentView.model_validate(await services.repositories.reviews.comment(subject, services.mask(given.text), author=author))
