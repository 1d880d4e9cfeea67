"""What a session's agents saw, as they cite it."""

from typing import Annotated

from fastapi import APIRouter, Path

from tarsy.api.schemas.evidence import EvidenceDetail, EvidenceList
from tarsy.api.schemas.view import SessionId
from tarsy.api.services import ServicesOf
from tarsy.domain.evidence import ID_PATTERN

router = APIRouter(prefix="/sessions/{session_id}/evidence", tags=["evidence"])

EvidenceId = Annotated[str, Path(pattern=f"^{ID_PATTERN}$", description="As it is cited: `A7`, `Q2.1`, `ALERT`, `RUNBOOK`.")]


@router.get("", operation_id="listEvidence")
async def list_evidence(session_id: SessionId, services: ServicesOf) -> EvidenceList:
    """Everything that can be cited: the alert, the runbook, and every tool result; sessions from before results had ids have no results here."""
    await services.sessions.require(str(session_id))
    return EvidenceList.of(await services.evidence.list(str(session_id)))


@router.get("/{evidence_id}", operation_id="getEvidence")
async def get_evidence(session_id: SessionId, evidence_id: EvidenceId, services: ServicesOf) -> EvidenceDetail:
    """One of them with its whole text, masked as it was stored."""
    await services.sessions.require(str(session_id))
    return EvidenceDetail.of(await services.evidence.read(str(session_id), evidence_id))
