"""The fingerprint of a question is the same in every version: recordings hold it."""

import hashlib
import json

from hypothesis import given
from hypothesis import strategies as st

from tarsy.config.resolve.resolved import ResolvedProvider
from tarsy.domain.conversation import ConversationMessage, Role, ToolCall
from tarsy.domain.llm import GenerateInput, LLMBackend, ProviderType
from tarsy.domain.replay import request_hash
from tarsy.domain.tool import ToolDefinition

# Also halves of surrogate pairs, which models send.
TEXTS = st.text(st.characters(exclude_categories=()), max_size=20)
MODEL = ResolvedProvider(name="p", type=ProviderType.OPENAI, model="m-\u00fc", base_url=None)
SCHEMA = {"type": "object", "properties": {"ratio": {"type": "number", "minimum": 1e16, "default": 0.1}}}


def asked(content: str, arguments: str) -> GenerateInput:
    call = ToolCall("call-a", "pods.list", arguments)
    messages = (
        ConversationMessage(Role.USER, content),
        ConversationMessage(Role.ASSISTANT, "", tool_calls=(call,)),
        ConversationMessage(Role.TOOL, content, tool_call_id="call-a", tool_name="pods.list"),
    )
    tools = (ToolDefinition(name="pods.list", description=content, parameters_schema=SCHEMA),)
    return GenerateInput(session_id="s", execution_id="e", messages=messages, tools=tools, provider=MODEL, backend=LLMBackend.LANGCHAIN)


def written_out(content: str, arguments: str) -> str:
    """As the first version wrote it."""
    nothing: dict[str, object] = {"tool_calls": [], "tool_call": None, "tool_name": None}
    messages: list[dict[str, object]] = [
        {"role": "user", "content": content, **nothing},
        {"role": "assistant", "content": "", **nothing, "tool_calls": [[0, "pods.list", arguments]]},
        {"role": "tool", "content": content, "tool_calls": [], "tool_call": 0, "tool_name": "pods.list"},
    ]
    tools = [{"name": "pods.list", "description": content, "parameters_schema": SCHEMA}]
    question = {"model": "m-\u00fc", "messages": messages, "tools": tools}
    canonical = json.dumps(question, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


@given(TEXTS, TEXTS)
def test_a_question_has_the_hash_it_always_had(content: str, arguments: str) -> None:
    assert request_hash(asked(content, arguments)) == written_out(content, arguments)
