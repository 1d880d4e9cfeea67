"""What really went over the wire: every model call and every tool call of a session."""

from uuid import UUID

from fastapi import Response

from tarsy.api.router import api_router
from tarsy.api.schemas.trace import LLMCallDetail, MCPCallDetail, TraceList
from tarsy.api.schemas.view import SessionId
from tarsy.api.services import ServicesOf
from tarsy.db.errors import ConflictError
from tarsy.domain.llm import ProviderType, provider_named
from tarsy.domain.tool import ToolDefinition
from tarsy.llm.curl import Asked, as_curl

router = api_router("/sessions/{session_id}/trace", tag="trace")


@router.get("", operation_id="getTrace")
async def get_trace(session_id: SessionId, services: ServicesOf) -> TraceList:
    """All calls, without their content."""
    await services.sessions.require(str(session_id))
    return TraceList.model_validate(await services.interactions.trace(str(session_id)))


@router.get("/llm/{interaction_id}", operation_id="getLLMCall")
async def get_llm_call(session_id: SessionId, interaction_id: UUID, services: ServicesOf) -> LLMCallDetail:
    """One model call with the exact conversation it was made with."""
    await services.sessions.require(str(session_id))
    return LLMCallDetail.of(await services.interactions.llm_call(str(session_id), str(interaction_id)))


@router.get(
    "/llm/{interaction_id}/curl",
    operation_id="getLLMCallAsCurl",
    response_class=Response,
    responses={200: {"content": {"text/plain": {}}, "description": "A command for a shell."}},
)
async def get_llm_call_as_curl(session_id: SessionId, interaction_id: UUID, services: ServicesOf) -> Response:
    """The model call as a `curl` command to the vendor, with variables instead of keys. 409 if the model was a recording."""
    session = await services.sessions.get(str(session_id))
    call = await services.interactions.llm_call(session.id, str(interaction_id))
    provider = provider_named(session.chain_snapshot, call.interaction.provider)
    if provider is None or provider.type is ProviderType.REPLAY:
        raise ConflictError("There was no call to a model: the answer comes from a recording.")
    known = await services.interactions.tools_of(call.interaction.execution_id)
    offered: list[str] = call.interaction.request.get("tools", [])
    asked = Asked(
        messages=tuple(sent.body for sent in call.conversation),
        tools=tuple(known.get(name) or ToolDefinition(name, "") for name in offered),
    )
    return Response(as_curl(provider, asked), media_type="text/plain; charset=utf-8")


@router.get("/mcp/{interaction_id}", operation_id="getMCPCall")
async def get_mcp_call(session_id: SessionId, interaction_id: UUID, services: ServicesOf) -> MCPCallDetail:
    """One exchange with a tool server, masked as it was stored."""
    await services.sessions.require(str(session_id))
    return MCPCallDetail.model_validate(await services.interactions.mcp_call(str(session_id), str(interaction_id)))
