"""What people do with an investigation: give it hints, ask questions about it, score it, fork it."""

from collections.abc import Mapping
from uuid import UUID, uuid4

import structlog

from tarsy.api.problems import ProblemKind, RequestRefusedError
from tarsy.api.router import api_router
from tarsy.api.schemas.followups import ChatMessage, ChatMessages, ForkRequest, Hint, ModelList, Notes, NoteView, Question, Score
from tarsy.api.schemas.sessions import AlertAccepted, CancelResult
from tarsy.api.schemas.view import SessionId
from tarsy.api.services import AuthorDep, ServicesDep
from tarsy.config.problems import did_you_mean
from tarsy.config.resolve.resolved import fitting_backend
from tarsy.db.errors import ConflictError, NotFoundError
from tarsy.domain.fork import ForkPlace, ModelUse, fork_plan, with_model
from tarsy.domain.interaction import SIDE_CALL_KINDS
from tarsy.domain.llm import LLMBackend, ResolvedProvider
from tarsy.domain.session import NewSession
from tarsy.domain.status import SessionStatus
from tarsy.kit.clock import SystemClock

log = structlog.get_logger(__name__)

router = api_router()
# A router of its own because the OpenAPI document lists these operations before others.
note_router = api_router("/sessions/{session_id}", tag="sessions")


@note_router.post("/hints", status_code=202, operation_id="giveHint")
async def give_hint(session_id: SessionId, hint: Hint, services: ServicesDep, author: AuthorDep) -> NoteView:
    """Give the agents of a running investigation a hint; each reads it before its next model call. 409 once the investigation has ended: ask a question instead."""
    session = await services.repositories.sessions.get(str(session_id))
    if session.is_recorded:
        raise ConflictError("The model of this session is a recording, so it cannot react to hints.")
    return NoteView.of(await services.repositories.notes.hint(str(session_id), services.mask(hint.text), author=author))


@note_router.get("/notes", operation_id="listNotes")
async def list_notes(session_id: SessionId, services: ServicesDep) -> Notes:
    """Hints and news that the investigation received while it ran, oldest first, and which agents read them."""
    await services.repositories.sessions.require(str(session_id))
    return Notes(notes=[NoteView.of(note) for note in await services.repositories.notes.of_session(str(session_id))])


@router.post("/sessions/{session_id}/chat/messages", status_code=202, operation_id="askQuestion", tags=["chat"])
async def ask_question(session_id: SessionId, question: Question, services: ServicesDep, author: AuthorDep) -> ChatMessage:
    """Ask about a finished session. The answer streams like an investigation; one question at a time, a second gets 409."""
    message = await services.repositories.chats.ask(str(session_id), services.mask(question.content), author=author)
    return ChatMessage.model_validate(message)


@router.get("/sessions/{session_id}/chat/messages", operation_id="listQuestions", tags=["chat"])
async def list_questions(session_id: SessionId, services: ServicesDep) -> ChatMessages:
    """The questions asked so far, oldest first."""
    await services.repositories.sessions.require(str(session_id))
    return ChatMessages.build(messages=await services.repositories.chats.list(str(session_id)))


@router.post("/sessions/{session_id}/chat/messages/{message_id}/cancel", status_code=202, operation_id="cancelQuestion", tags=["chat"])
async def cancel_question(session_id: SessionId, message_id: UUID, services: ServicesDep, author: AuthorDep) -> CancelResult:
    """Cancel a question or its answer."""
    return CancelResult(result=await services.repositories.chats.request_cancel(str(session_id), str(message_id), actor=author))


@router.get("/sessions/{session_id}/score", operation_id="getScore", tags=["score"])
async def get_score(session_id: SessionId, services: ServicesDep) -> Score:
    """The newest score, finished or not."""
    await services.repositories.sessions.require(str(session_id))
    score = await services.repositories.scores.latest(str(session_id))
    if score is None:
        raise NotFoundError("score of session", str(session_id))
    return Score.model_validate(score)


@router.post("/sessions/{session_id}/score", status_code=202, operation_id="requestScore", tags=["score"])
async def request_score(session_id: SessionId, services: ServicesDep, author: AuthorDep) -> Score:
    """Score a finished session, or score it again."""
    return Score.model_validate(await services.repositories.scores.request(str(session_id), requested_by=author))


@router.post("/sessions/{session_id}/fork", status_code=202, operation_id="forkSession", tags=["sessions"])
async def fork_session(session_id: SessionId, wanted: ForkRequest, services: ServicesDep, author: AuthorDep) -> AlertAccepted:
    """Continue from a step of an ended investigation in a new session. TARSy copies the steps before it; everything after it calls models and tools again.

    At a step of a sub-agent, the agent that sent it waits for its new report and continues from there.
    409 while the session runs, if there is no such step, and for a recorded session without a `model` to continue with.
    """
    repositories, system = services.repositories, services.system
    session = await repositories.sessions.get(str(session_id))
    if not session.status.is_final:
        raise ConflictError("The investigation is still running: fork it after it has ended, or give it a hint now.")
    if session.is_recorded and wanted.model is None:
        raise ConflictError("The model of this session is a recording: name a model that continues.")

    run, trace = await repositories.interactions.run(session.id), await repositories.interactions.trace(session.id)
    execution_id = str(wanted.execution_id)
    if all(one.id != execution_id for one in run.executions):
        raise NotFoundError("execution", execution_id)
    calls = [
        ForkPlace(execution_id=call.execution_id, turn=call.turn, kind=call.kind, at=call.started_at)
        for call in trace.llm
        if call.kind not in SIDE_CALL_KINDS
    ]
    plan = fork_plan(run.stages, run.executions, calls, execution_id, wanted.turn)
    use = _model_use(system.installation.models(), wanted.model, LLMBackend(plan.execution.llm_backend)) if wanted.model else None

    forked = NewSession(
        id=str(uuid4()),
        alert_data=session.alert_data,
        alert_type=session.alert_type,
        chain_id=session.chain_id,
        chain_snapshot=with_model(session.chain_snapshot, use) if use else session.chain_snapshot,
        author=author,
        # The copied steps contain the markers made from it.
        nonce=session.nonce,
        runbook_url=session.runbook_url,
        runbook=session.runbook,
        mcp_selection=session.mcp_selection,
        fork={
            "session_id": session.id,
            "stage": plan.stage.stage_name,
            "agent": plan.execution.agent_name,
            "dispatched_by": plan.execution.dispatched_by,
            "turn": plan.place.turn,
            "model": use.provider.name if use else None,
            "received_at": session.received_at.isoformat(),
        },
        created_at=SystemClock().now(),
    )
    hint = services.mask(wanted.hint) if wanted.hint else None
    await repositories.forks.store(forked, plan, use=use, hint=hint)
    log.info("session.forked", session_id=forked.id, forked_from=session.id, author=author)
    return AlertAccepted(session_id=UUID(forked.id), status=SessionStatus.PENDING)


def _model_use(models: Mapping[str, ResolvedProvider], name: str, backend: LLMBackend) -> ModelUse:
    """Return the model `name`, on `backend` if that can call it."""
    if name not in models:
        known = did_you_mean(name, models) or "no model is configured"
        raise RequestRefusedError(ProblemKind.BAD_REQUEST, f'There is no model "{name}" that can be asked: {known}')
    provider = models[name]
    return ModelUse(provider, fitting_backend(backend, provider))


@router.get("/models", operation_id="listModels", tags=["sessions"])
async def list_models(services: ServicesDep) -> ModelList:
    """The configured models that TARSy can use now: those whose keys are set."""
    return ModelList.build(models=list(services.system.installation.models().values()))
