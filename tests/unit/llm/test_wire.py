"""What a request is on its way to an LLM service: the same when it arrives."""

from typing import Any

import pytest

from tarsy.config.resolve.resolved import ResolvedProvider
from tarsy.domain.conversation import ConversationMessage, Role
from tarsy.domain.llm import GenerateInput, LLMBackend, ProviderType
from tarsy.domain.tool import ToolDefinition
from tarsy.llm.wire import call_metadata, request_from_proto, request_to_proto

PROVIDER = ResolvedProvider(name="p", type=ProviderType.OPENAI, model="m")


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object", "properties": {"größe": {"description": "wie viel, „ungefähr“"}}},
        {"properties": {"bytes": {"type": "integer", "maximum": 2**64}}},
        {"description": "cut in the middle of a character: \ud83d"},
    ],
    ids=["empty", "with words", "with a large number", "with half a character"],
)
def test_a_tool_arrives_with_the_schema_it_was_sent_with(schema: dict[str, Any]) -> None:
    question = (ConversationMessage(Role.USER, "why?"),)
    tools = (ToolDefinition("server.tool", "looks", schema),)
    sent = GenerateInput(
        session_id="s", execution_id="e", messages=question, provider=PROVIDER, backend=LLMBackend.LANGCHAIN, tools=tools, track="t"
    )
    got = request_from_proto(request_to_proto(sent), call_metadata(sent))
    assert got == sent
