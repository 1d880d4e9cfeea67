"""Our conversation as LangChain's messages and options, with what each vendor wants back from earlier turns."""

from collections.abc import Mapping, Sequence
from typing import Any, assert_never, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from tarsy.domain.conversation import Role
from tarsy.domain.llm import GenerateInput
from tarsy.domain.tool import ToolDefinition, vendor_name
from tarsy.llm.providers.langchain_models import ChatModel
from tarsy.llm.providers.provider import Block, TurnMemory, conversation_of, output_token_limit, restored_blocks, turn_key
from tarsy.llm.tool_dialect import arguments_object, declaration


def messages(request: GenerateInput, memory: TurnMemory[tuple[Block, ...]]) -> list[BaseMessage]:
    """Build the conversation; turns of the Responses API have the blocks they came with."""
    built: list[BaseMessage] = []
    for message in request.messages:
        match message.role:
            case Role.SYSTEM:
                built.append(SystemMessage(message.content))
            case Role.USER:
                built.append(HumanMessage(message.content))
            case Role.ASSISTANT:
                content: str | list[Block] = message.content
                if remembered := memory.recall(conversation_of(request), turn_key(message)):
                    blocks = {
                        call.id: {"type": "function_call", "call_id": call.id, "name": vendor_name(call.name), "arguments": call.arguments}
                        for call in message.tool_calls
                    }
                    content = list(restored_blocks(message.content, blocks, remembered))
                calls: Any = [
                    {"name": vendor_name(call.name), "args": arguments_object(call.arguments), "id": call.id} for call in message.tool_calls
                ]
                built.append(AIMessage(content=cast("Any", content), tool_calls=calls, response_metadata={"model_provider": "openai"}))
            case Role.TOOL:
                name = vendor_name(message.tool_name or "")
                built.append(ToolMessage(message.content, tool_call_id=message.tool_call_id or "", name=name))
            case _:
                assert_never(message.role)
    return built


def tools(definitions: Sequence[ToolDefinition]) -> list[dict[str, Any]]:
    return [{"type": "function", "function": declaration(tool, "parameters")} for tool in definitions]


def options(request: GenerateInput, model: ChatModel, *, summaries: bool) -> dict[str, Any]:
    """Return the options of this call. Without `summaries`, a model behind the Responses API does not report its reasoning."""
    longest = output_token_limit(request, cast("Mapping[str, Any]", model.chat.profile or {}))
    limit = {} if longest is None else {"max_tokens": longest}
    if not model.uses_responses:
        return limit
    reasoning = {"reasoning": {"summary": "auto"}} if summaries else {}
    return {"prompt_cache_key": request.execution_id, **reasoning, **limit}
