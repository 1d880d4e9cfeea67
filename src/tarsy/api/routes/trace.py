"""What really went over the wire: every model call and every tool call of a session."""

from uuid import UUID

from tarsy.api.router import api_router
from tarsy.api.schemas.trace import LLMCallDetail, MCPCallDetail, TraceList
from tarsy.api.schemas.view import SessionId
from tarsy.api.services import ServicesOf

router = api_router("/sessions/{session_id}/trace", tag="trace")


@router.get("", operation_id="getTrace")
async def get_trace(session_id: SessionId, services: ServicesOf) -> TraceList:
    """All calls, without what was said in them."""
    await services.sessions.require(str(session_id))
    return TraceList.model_validate(await services.interactions.trace(str(session_id)))


@router.get("/llm/{interaction_id}", operation_id="getLLMCall")
async def get_llm_call(session_id: SessionId, interaction_id: UUID, services: ServicesOf) -> LLMCallDetail:
    """One model call with the exact conversation it was made with."""
    await services.sessions.require(str(session_id))
    return LLMCallDetail.of(await services.interactions.llm_call(str(session_id), str(interaction_id)))


@router.get("/mcp/{interaction_id}", operation_id="getMCPCall")
async def get_mcp_call(session_id: SessionId, interaction_id: UUID, services: ServicesOf) -> MCPCallDetail:
    """One exchange with a tool server, masked as it was stored."""
    await services.sessions.require(str(session_id))
    return MCPCallDetail.model_validate(await services.interactions.mcp_call(str(session_id), str(interaction_id)))
