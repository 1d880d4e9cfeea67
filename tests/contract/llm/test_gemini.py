"""What only Gemini does: signatures, code, grounding, Google's tools."""

import base64
from dataclasses import replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from support.asking import PODS, QUESTION, Asking, Route, results_of, routes, without_words
from support.vendor_server import Act, Reply, VendorServer
from support.vendors import USAGE, Answer, Call, Gemini, GeminiByDefault, sse
from tarsy.agent.ports import LLMClient
from tarsy.domain.conversation import ConversationMessage, Role, ToolCall
from tarsy.domain.llm import (
    CodeExecutionChunk,
    ErrorChunk,
    ErrorCode,
    GroundingChunk,
    GroundingSource,
    GroundingSupport,
    LLMBackend,
    TextChunk,
    ToolCallChunk,
)
from tarsy.domain.tool import ToolDefinition
from tarsy.domain.usage import TokenUsage

SEALED_CALL = base64.b64encode(b"call signature").decode()
SEALED_TEXT = base64.b64encode(b"text signature").decode()
LOST = "skip_thought_signature_validator"


class Gemini3(Gemini):
    name = "gemini-3"
    model = "gemini-3.7-flash"


# Over gRPC too: only this vendor sends all kinds of chunks.
@pytest.fixture(params=routes([Gemini3()], over_grpc=[Gemini3()]), ids=str)
def route(request: pytest.FixtureRequest) -> Route:
    return request.param


def pieces(*parts: dict[str, Any], **candidate: Any) -> Reply:
    last = {"content": {"role": "model", "parts": list(parts)}, "finishReason": "STOP", **candidate}
    return Reply((sse({"candidates": [last]}),))


def call(name: str, call_id: str | None, signature: str | None = None) -> dict[str, Any]:
    part: dict[str, Any] = {"functionCall": {"name": name, "args": {"ns": "a"}} | ({"id": call_id} if call_id else {})}
    return part | ({"thoughtSignature": signature} if signature else {})


async def test_signatures_go_back_on_the_parts_they_came_on(asking: Asking) -> None:
    answered = {"text": "I look.", "thoughtSignature": SEALED_TEXT}
    asking.server.replies.append(pieces(answered, call("k8s__pods_list", "c1", SEALED_CALL), call("k8s__pods_list", "c2")))
    asking.server.replies.append(asking.vendor.reply(Answer(text=("Done.",))))

    first = await asking.receive(asking.request(tools=(PODS,)))
    await asking.receive(asking.request(*QUESTION, *results_of(first, "I look."), tools=(PODS,)))

    model_turn = asking.server.bodies[1]["contents"][1]
    assert [part.get("thoughtSignature") for part in model_turn["parts"]] == [SEALED_TEXT, SEALED_CALL, None]


async def test_a_conversation_begun_with_another_model_is_marked_as_the_vendor_documents(asking: Asking) -> None:
    calls = (ToolCall("c8", "k8s.pods_list", "{}"), ToolCall("c9", "k8s.pods_list", "{}"))
    turn = ConversationMessage(Role.ASSISTANT, "I look.", calls)
    result = ConversationMessage(Role.TOOL, "none", (), "c8", "k8s.pods_list")
    asking.server.replies.append(asking.vendor.reply(Answer(text=("Done.",))))

    await asking.receive(asking.request(*QUESTION, turn, result, tools=(PODS,)))

    model_turn = asking.server.bodies[0]["contents"][1]
    assert [part.get("thoughtSignature") for part in model_turn["parts"]] == [None, LOST, None]


async def test_signatures_go_back_with_the_default_backend_too(client: LLMClient, server: VendorServer) -> None:
    asking = Asking(client, server, GeminiByDefault())
    asking.server.replies.append(pieces(call("k8s__pods_list", "c1", SEALED_CALL)))
    asking.server.replies.append(asking.vendor.reply(Answer(text=("Done.",))))

    first = await asking.receive(asking.request(tools=(PODS,)))
    await asking.receive(asking.request(*QUESTION, *results_of(first), tools=(PODS,)))

    assert asking.server.bodies[1]["contents"][1]["parts"][0]["thoughtSignature"] == SEALED_CALL


async def test_signatures_are_not_sent_to_the_model_that_an_agent_falls_back_to(asking: Asking) -> None:
    asking.server.replies.append(pieces(call("k8s__pods_list", "c1", SEALED_CALL)))
    asking.server.replies.append(asking.vendor.reply(Answer(text=("Done.",))))

    first = await asking.receive(asking.request(tools=(PODS,)))
    request = asking.request(*QUESTION, *results_of(first), tools=(PODS,))
    await asking.receive(replace(request, provider=request.provider.model_copy(update={"name": "fallback", "model": "gemini-4-argon"})))

    assert asking.server.bodies[1]["contents"][1]["parts"][0]["thoughtSignature"] == LOST


async def test_signatures_are_forgotten_on_request(asking: Asking) -> None:
    asking.server.replies.append(pieces(call("k8s__pods_list", "c1", SEALED_CALL)))
    asking.server.replies.append(asking.vendor.reply(Answer(text=("Done.",))))

    first = await asking.receive(asking.request(tools=(PODS,)))
    request = asking.request(*QUESTION, *results_of(first), tools=(PODS,))
    await asking.receive(replace(request, clear_cache=True))

    assert asking.server.bodies[1]["contents"][1]["parts"][0]["thoughtSignature"] == LOST


async def test_a_call_without_an_id_gets_one_that_is_not_sent_back(asking: Asking) -> None:
    asking.server.replies.append(pieces(call("k8s__pods_list", None)))
    asking.server.replies.append(asking.vendor.reply(Answer(text=("Done.",))))

    first = await asking.receive(asking.request(tools=(PODS,)))
    await asking.receive(asking.request(*QUESTION, *results_of(first), tools=(PODS,)))

    assert isinstance(first[0], ToolCallChunk)
    assert first[0].call_id
    contents = asking.server.bodies[1]["contents"]
    assert "id" not in contents[1]["parts"][0]["functionCall"]
    assert "id" not in contents[2]["parts"][0]["functionResponse"]


async def test_any_legal_tool_name_survives_the_journey(asking: Asking) -> None:
    names = ["a.b__c", "a__b.c", "a.b.c", "k8s." + "x" * 128, "srv.naïve tool/1", "1st.tool", "a_._b"]
    tools = tuple(ToolDefinition(name, "", {}) for name in names)
    asking.server.replies.append(asking.vendor.reply(Answer(text=("None of them.",))))
    await asking.receive(asking.request(tools=tools))
    spelled = [tool["name"] for tool in asking.server.bodies[0]["tools"][0]["functionDeclarations"]]
    asking.server.replies.append(
        asking.vendor.reply(Answer(calls=tuple(Call(f"c{place}", name, "{}") for place, name in enumerate(spelled))))
    )

    chunks = await asking.receive(asking.request(tools=tools))

    assert [chunk.name for chunk in chunks if isinstance(chunk, ToolCallChunk)] == names


async def test_code_that_the_model_ran_is_shown_with_its_result(asking: Asking) -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "print(6 * 7)"}}
    result = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "42\n"}}
    asking.server.replies.append(pieces(code, result, {"text": "42."}))

    chunks = await asking.receive(native_tools={"code_execution": True})

    assert chunks == [CodeExecutionChunk("print(6 * 7)", "42\n"), TextChunk("42.")]
    assert asking.server.bodies[0]["tools"] == [{"codeExecution": {}}]


async def test_code_and_result_that_come_apart_are_still_one_execution(asking: Asking) -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "print(6 * 7)"}}
    result = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "42\n"}}
    parts: list[dict[str, Any]] = [{"text": "I compute."}, code, result, {"text": "42."}]
    events = [sse({"candidates": [{"content": {"role": "model", "parts": [part]}}]}) for part in parts]
    asking.server.replies.append(Reply((*events, sse({"candidates": [{"finishReason": "STOP"}]}))))

    assert await asking.receive(native_tools={"code_execution": True}) == [
        TextChunk("I compute."),
        CodeExecutionChunk("print(6 * 7)", "42\n"),
        TextChunk("42."),
    ]


async def test_code_without_output_says_how_it_failed_and_code_without_result_is_not_lost(asking: Asking) -> None:
    late = {"codeExecutionResult": {"outcome": "OUTCOME_DEADLINE_EXCEEDED"}}
    asking.server.replies.append(
        pieces({"executableCode": {"code": "while True: pass"}}, late, {"executableCode": {"code": "1"}}, {"text": "It hangs."})
    )

    assert await asking.receive(native_tools={"code_execution": True}) == [
        CodeExecutionChunk("while True: pass", "deadline exceeded"),
        CodeExecutionChunk("1", ""),
        TextChunk("It hangs."),
    ]


async def test_search_and_pages_are_reported_as_grounding(asking: Asking) -> None:
    grounding = {
        "webSearchQueries": ["why"],
        "groundingChunks": [{"web": {"uri": "https://example.org", "title": "Example"}}],
        "groundingSupports": [{"segment": {"startIndex": 0, "endIndex": 8, "text": "Because."}, "groundingChunkIndices": [0]}],
        "searchEntryPoint": {"renderedContent": "<b>why</b>"},
    }
    pages = {"urlMetadata": [{"retrievedUrl": "https://example.org/page", "urlRetrievalStatus": "URL_RETRIEVAL_STATUS_SUCCESS"}]}
    asking.server.replies.append(pieces({"text": "Because."}, groundingMetadata=grounding, urlContextMetadata=pages))

    assert await asking.receive(native_tools={"google_search": True, "url_context": True, "code_execution": False}) == [
        TextChunk("Because."),
        GroundingChunk(
            ("why",), (GroundingSource("https://example.org", "Example"),), (GroundingSupport(0, 8, "Because.", (0,)),), "<b>why</b>"
        ),
        GroundingChunk(sources=(GroundingSource("https://example.org/page", ""),)),
    ]
    assert asking.server.bodies[0]["tools"] == [{"googleSearch": {}}, {"urlContext": {}}]


async def test_googles_tools_give_way_to_ours(asking: Asking) -> None:
    asking.server.replies.append(asking.vendor.reply(Answer(text=("Because.",))))

    await asking.receive(asking.request(tools=(PODS,), native_tools={"google_search": True}))

    assert [list(tool) for tool in asking.server.bodies[0]["tools"]] == [["functionDeclarations"]]


async def test_googles_tools_are_offered_only_by_the_backend_that_is_named_for_them(asking: Asking) -> None:
    asking.server.replies.extend([asking.vendor.reply(Answer(text=("Because.",)))] * 2)
    request = asking.request(native_tools={"google_search": True})

    with capture_logs() as logs:
        await asking.receive(replace(request, backend=LLMBackend.LANGCHAIN))
        await asking.receive(replace(request, backend=LLMBackend.LANGCHAIN, tools=(PODS,)))

    assert [list(tool) for body in asking.server.bodies for tool in body.get("tools", [])] == [["functionDeclarations"]]
    assert not [entry for entry in logs if entry["event"] == "llm.native_tool.suppressed"]


@pytest.mark.parametrize(
    ("model", "thinking"),
    [
        ("gemini-2.5-pro", {"thinking_budget": 32768}),
        ("gemini-2.5-flash", {"thinking_budget": 24576}),
        ("gemini-3.7-flash", {"thinking_level": "HIGH"}),
        ("gemini-4-argon", {"thinking_level": "HIGH"}),
        ("gemini-flash-latest", {"thinking_level": "HIGH"}),
        ("gemini-exp", {"thinking_budget": 24576}),
    ],
)
async def test_each_model_thinks_as_much_as_it_may(asking: Asking, model: str, thinking: dict[str, Any]) -> None:
    asking.server.replies.append(asking.vendor.reply(Answer(text=("Because.",))))
    request = asking.request()
    provider = request.provider.model_copy(update={"model": model})

    await asking.receive(replace(request, provider=provider))

    assert asking.server.bodies[0]["generationConfig"]["thinkingConfig"] == {"include_thoughts": True, **thinking}


async def test_what_an_answer_that_breaks_off_has_cost_is_counted(asking: Asking) -> None:
    usage = {"promptTokenCount": 20, "candidatesTokenCount": 1, "totalTokenCount": 21}
    piece = {"candidates": [{"content": {"role": "model", "parts": [{"text": "Bec"}]}}], "usageMetadata": usage}
    asking.server.replies.append(Reply((sse(piece), Act.CUT)))

    assert without_words(await asking.receive()) == [
        TextChunk("Bec"),
        TokenUsage(20, 1, 21),
        ErrorChunk("", ErrorCode.PARTIAL_STREAM, retryable=True),
    ]


async def test_a_blocked_prompt_is_not_asked_again(asking: Asking) -> None:
    asking.server.replies.append(Reply((sse({"promptFeedback": {"blockReason": "SAFETY"}}),)))

    assert await asking.receive() == [ErrorChunk("the prompt was blocked: safety", ErrorCode.INVALID_REQUEST)]


async def test_a_withheld_answer_is_not_asked_for_again(asking: Asking) -> None:
    asking.server.replies.append(Reply((sse({"candidates": [{"finishReason": "SAFETY"}]}),)))

    assert await asking.receive() == [ErrorChunk("the model withheld its answer: safety", ErrorCode.INVALID_REQUEST)]


async def test_a_malformed_call_counts_as_no_answer_and_is_asked_for_again(asking: Asking) -> None:
    asking.server.replies.append(Reply((sse({"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL"}]}),)))
    asking.server.replies.append(asking.vendor.reply(Answer(text=("Because.",))))

    assert await asking.receive() == [TextChunk("Because."), USAGE]


async def test_an_error_inside_the_stream_is_retried_while_nothing_was_answered(asking: Asking) -> None:
    overloaded = {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}
    asking.server.replies.append(Reply((sse(overloaded),)))
    asking.server.replies.append(asking.vendor.reply(Answer(text=("Because.",))))

    assert await asking.receive() == [TextChunk("Because."), TokenUsage(20, 12, 32, 7, 5)]
