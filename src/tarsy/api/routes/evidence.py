"""What a session's agents saw, as they cite it, and whether what they quote is there."""

from typing import Annotated
from uuid import UUID

from fastapi import Path, Query

from tarsy.agent.folding import fold
from tarsy.api.router import api_router
from tarsy.api.schemas.citations import CitationList
from tarsy.api.schemas.evidence import EvidenceDetail, EvidenceList
from tarsy.api.schemas.view import SessionId
from tarsy.api.services import ServicesOf
from tarsy.domain.evidence import ID_PATTERN
from tarsy.kit.text import in_thread_if_long

router = api_router("/sessions/{session_id}", tag="evidence")

EvidenceId = Annotated[str, Path(pattern=f"^{ID_PATTERN}$", description="As it is cited: `A7`, `Q2.1`, `ALERT`, `RUNBOOK`.")]


@router.get("/evidence", operation_id="listEvidence")
async def list_evidence(session_id: SessionId, services: ServicesOf) -> EvidenceList:
    """Everything that can be cited: the alert, the runbook, and every tool result; sessions older than evidence ids have no results here."""
    await services.sessions.require(str(session_id))
    return EvidenceList.of(await services.evidence.list(str(session_id)))


@router.get("/evidence/{evidence_id}", operation_id="getEvidence")
async def get_evidence(session_id: SessionId, evidence_id: EvidenceId, services: ServicesOf) -> EvidenceDetail:
    """One of them with its whole text, masked as it was stored."""
    await services.sessions.require(str(session_id))
    found = await services.evidence.read(str(session_id), evidence_id)
    folded = (await in_thread_if_long(fold, found.text)).text if found.folded else None
    return EvidenceDetail.of(found, folded)


@router.get("/citations", operation_id="listCitations")
async def list_citations(
    session_id: SessionId,
    services: ServicesOf,
    execution_id: Annotated[
        UUID | None, Query(description="Check the answer of this execution instead, such as the answer to a question.")
    ] = None,
) -> CitationList:
    """Each citation of the final analysis with the result of its check, in the order of the text; empty for sessions older than this check."""
    await services.sessions.require(str(session_id))
    if execution_id is None:
        return CitationList.of(await services.citations.of_analysis(str(session_id)))
    return CitationList.of(await services.citations.of_execution(str(session_id), str(execution_id)))
