"""The evidence and citations of a session, and its trace: the recorded calls of models and tools."""

from typing import Annotated
from uuid import UUID

from fastapi import Path, Query, Response

from tarsy.agent.folding import fold
from tarsy.api.router import api_router
from tarsy.api.schemas.evidence import CitationList, EvidenceDetail, EvidenceList
from tarsy.api.schemas.trace import LLMCallDetail, MCPCallDetail, TraceList
from tarsy.api.schemas.view import SessionId
from tarsy.api.services import ServicesDep
from tarsy.db.errors import ConflictError
from tarsy.domain.evidence import ID_PATTERN
from tarsy.domain.llm import ProviderType, provider_named
from tarsy.domain.tool import ToolDefinition
from tarsy.kit.text import in_thread_if_long
from tarsy.llm.curl import as_curl

router = api_router("/sessions/{session_id}", tag="evidence")

EvidenceId = Annotated[str, Path(pattern=f"^{ID_PATTERN}$", description="As it is cited: `A7`, `Q2.1`, `ALERT`, `RUNBOOK`.")]


@router.get("/evidence", operation_id="listEvidence")
async def list_evidence(session_id: SessionId, services: ServicesDep) -> EvidenceList:
    """Everything that can be cited: the alert, the runbook, and every tool result; sessions older than evidence ids have no results here."""
    await services.repositories.sessions.require(str(session_id))
    return EvidenceList.build(evidence=await services.repositories.evidence.list(str(session_id)))


@router.get("/evidence/{evidence_id}", operation_id="getEvidence")
async def get_evidence(session_id: SessionId, evidence_id: EvidenceId, services: ServicesDep) -> EvidenceDetail:
    """One piece of evidence with its full text, masked as stored."""
    await services.repositories.sessions.require(str(session_id))
    found = await services.repositories.evidence.read(str(session_id), evidence_id)
    folded = (await in_thread_if_long(fold, found.text)).text if found.folded else None
    return EvidenceDetail.of(found, folded)


@router.get("/citations", operation_id="listCitations")
async def list_citations(
    session_id: SessionId,
    services: ServicesDep,
    execution_id: Annotated[
        UUID | None, Query(description="Check the answer of this execution instead, such as the answer to a question.")
    ] = None,
) -> CitationList:
    """Each citation of the final analysis with the result of its check, in the order of the text; empty for sessions older than this check."""
    await services.repositories.sessions.require(str(session_id))
    if execution_id is None:
        return CitationList.of(await services.repositories.citations.of_analysis(str(session_id)))
    return CitationList.of(await services.repositories.citations.of_execution(str(session_id), str(execution_id)))


trace_router = api_router("/sessions/{session_id}/trace", tag="trace")


@trace_router.get("", operation_id="getTrace")
async def get_trace(session_id: SessionId, services: ServicesDep) -> TraceList:
    """All calls, without their content."""
    await services.repositories.sessions.require(str(session_id))
    return TraceList.model_validate(await services.repositories.interactions.trace(str(session_id)))


@trace_router.get("/llm/{interaction_id}", operation_id="getLLMCall")
async def get_llm_call(session_id: SessionId, interaction_id: UUID, services: ServicesDep) -> LLMCallDetail:
    """One model call with the exact conversation it was made with."""
    await services.repositories.sessions.require(str(session_id))
    return LLMCallDetail.of(await services.repositories.interactions.llm_call(str(session_id), str(interaction_id)))


@trace_router.get(
    "/llm/{interaction_id}/curl",
    operation_id="getLLMCallAsCurl",
    response_class=Response,
    responses={200: {"content": {"text/plain": {}}, "description": "A command for a shell."}},
)
async def get_llm_call_as_curl(session_id: SessionId, interaction_id: UUID, services: ServicesDep) -> Response:
    """The model call as a `curl` command to the vendor, with variables instead of keys. 409 if the model was a recording."""
    session = await services.repositories.sessions.get(str(session_id))
    call = await services.repositories.interactions.llm_call(session.id, str(interaction_id))
    provider = provider_named(session.chain_snapshot, call.interaction.provider)
    if provider is None or provider.type is ProviderType.REPLAY:
        raise ConflictError("No model was called: the answer comes from a recording.")
    known = await services.repositories.interactions.tools_of(call.interaction.execution_id)
    offered: list[str] = call.interaction.request.get("tools", [])
    messages = tuple(sent.body for sent in call.conversation)
    tools = tuple(known.get(name) or ToolDefinition(name) for name in offered)
    return Response(as_curl(provider, messages, tools), media_type="text/plain; charset=utf-8")


@trace_router.get("/mcp/{interaction_id}", operation_id="getMCPCall")
async def get_mcp_call(session_id: SessionId, interaction_id: UUID, services: ServicesDep) -> MCPCallDetail:
    """One exchange with a tool server, masked as stored."""
    await services.repositories.sessions.require(str(session_id))
    return MCPCallDetail.model_validate(await services.repositories.interactions.mcp_call(str(session_id), str(interaction_id)))
