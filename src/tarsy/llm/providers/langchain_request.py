"""Our conversation as LangChain's messages and options, with what each vendor wants back from earlier turns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, assert_never, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from tarsy.domain.conversation import Role
from tarsy.domain.llm import GenerateInput
from tarsy.domain.tool import ToolDefinition, vendor_name
from tarsy.llm.providers.langchain_models import Dialect
from tarsy.llm.providers.provider import Block, TurnMemory, conversation_of, longest_answer, restored_blocks, turn_key
from tarsy.llm.tool_dialect import arguments_object, declaration


@dataclass(frozen=True, slots=True)
class Remembered:
    """One turn as its vendor sent it: the blocks of the Responses API, and what LangChain keeps outside the content for Google."""

    blocks: tuple[Block, ...] = ()
    additional_kwargs: Mapping[str, Any] = field(default_factory=dict[str, Any])


def messages(request: GenerateInput, dialect: Dialect, memory: TurnMemory[Remembered]) -> list[BaseMessage]:
    """Build the conversation, each earlier turn in the form its vendor wants it back."""
    built: list[BaseMessage] = []
    for message in request.messages:
        match message.role:
            case Role.SYSTEM:
                built.append(SystemMessage(message.content))
            case Role.USER:
                built.append(HumanMessage(message.content))
            case Role.ASSISTANT:
                remembered = memory.recall(conversation_of(request), turn_key(message)) or Remembered()
                content: str | list[Block] = message.content
                if remembered.blocks:
                    blocks = {
                        call.id: {"type": "function_call", "call_id": call.id, "name": vendor_name(call.name), "arguments": call.arguments}
                        for call in message.tool_calls
                    }
                    content = list(restored_blocks(message.content, blocks, remembered.blocks))
                calls: Any = [
                    {"name": vendor_name(call.name), "args": arguments_object(call.arguments), "id": call.id} for call in message.tool_calls
                ]
                turn = AIMessage(
                    content=cast("Any", content),
                    tool_calls=calls,
                    additional_kwargs=dict(remembered.additional_kwargs),
                    response_metadata={"model_provider": "google_genai" if dialect is Dialect.GOOGLE else "openai"},
                )
                built.append(turn)
            case Role.TOOL:
                name = vendor_name(message.tool_name or "")
                built.append(ToolMessage(message.content, tool_call_id=message.tool_call_id or "", name=name))
            case _:
                assert_never(message.role)
    return built


def tools(definitions: Sequence[ToolDefinition]) -> list[dict[str, Any]]:
    return [{"type": "function", "function": declaration(tool, "parameters")} for tool in definitions]


def options(request: GenerateInput, dialect: Dialect, chat: BaseChatModel, *, summaries: bool = True) -> dict[str, Any]:
    """Return the options of this call. Without `summaries`, a model behind the Responses API does not report its reasoning."""
    longest = longest_answer(request, cast("Mapping[str, Any]", chat.profile or {}))
    limit = {} if longest is None else {"max_output_tokens" if dialect is Dialect.GOOGLE else "max_tokens": longest}
    if dialect is not Dialect.RESPONSES:
        return limit
    reasoning = {"reasoning": {"summary": "auto"}} if summaries else {}
    return {"prompt_cache_key": request.execution_id, **reasoning, **limit}
