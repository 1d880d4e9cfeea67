"""Where the vendors behind LangChain differ: sealed thinking, servers of one's own, errors inside a stream."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.asking import PODS, QUESTION, Asking, Route, results_of, without_words
from support.vendor_server import Act, Reply, VendorServer
from support.vendors import (
    USAGE,
    XAI,
    Anthropic,
    Call,
    ChatCompletions,
    GeminiOnVertex,
    GeminiThroughLangChain,
    Responses,
    Said,
    sse,
)
from tarsy.agent.ports import LLMClient
from tarsy.domain.conversation import ConversationMessage, Role, ToolCall
from tarsy.domain.llm import ErrorChunk, ErrorCode, LLMBackend, TextChunk, ThinkingChunk, ToolCallChunk
from tarsy.domain.tool import ToolDefinition
from tarsy.domain.usage import TokenUsage
from tarsy.llm.access import resolve_access
from tarsy.llm.in_process import in_process_client
from tarsy.llm.providers.langchain_models import ChatModel, make_model
from tarsy.llm.providers.provider import ClientCache, ModelKey

LOOK = Call("call_1", "k8s__pods_list", '{"ns": "a"}')
ELSEWHERE = (
    ConversationMessage(Role.ASSISTANT, "I look.", (ToolCall("call_9", "k8s.pods_list", "{}"),)),
    ConversationMessage(Role.TOOL, "none", (), "call_9", "k8s.pods_list"),
)


class BudgetedAnthropic(Anthropic):
    name = "anthropic-budgeted"
    model = "claude-haiku-5-5"


@pytest.fixture
def route() -> Route:
    return Route("in-process", Anthropic())


@pytest.mark.parametrize("left_out", ["input_tokens", "cache_read_input_tokens", "both"])
async def test_input_that_is_told_only_at_the_start_is_counted(asking: Asking, left_out: str) -> None:
    """As servers that speak like Claude tell it: the last event has the output alone."""
    *before, last, end = asking.vendor.events(Said(text=("Because.",)))
    kept = {"input_tokens", "cache_read_input_tokens"} - {left_out} if left_out != "both" else set[str]()
    *_, data = last.decode().partition("data: ")
    event = json.loads(data)
    event["usage"] = {name: value for name, value in event["usage"].items() if name in kept or name.startswith("output")}
    asking.server.replies.append(Reply((*before, sse(event, "message_delta"), end)))

    assert await asking.hear() == [TextChunk("Because."), USAGE]


async def test_thinking_goes_back_sealed_even_when_the_words_were_masked_since(asking: Asking) -> None:
    asking.server.replies.append(asking.vendor.reply(Said(thinking=("Hm.",), text=("The password is x.",), calls=(LOOK,))))
    asking.server.replies.append(asking.vendor.reply(Said(text=("Done.",))))

    first = await asking.hear(asking.request(tools=(PODS,)))
    await asking.hear(asking.request(*QUESTION, *results_of(first, "The password is ***."), tools=(PODS,)))

    assert asking.server.bodies[1]["messages"][1]["content"][:2] == [
        {"type": "thinking", "thinking": "Hm.", "signature": "sealed"},
        {"type": "text", "text": "The password is ***."},
    ]


@pytest.mark.parametrize(("history", "thinks"), [((), True), (ELSEWHERE, False)])
async def test_a_budgeted_model_does_not_think_where_its_thinking_was_lost(
    client: LLMClient, server: VendorServer, *, history: tuple[ConversationMessage, ...], thinks: bool
) -> None:
    asking = Asking(client, server, BudgetedAnthropic())
    asking.server.replies.append(asking.vendor.reply(Said(text=("Done.",))))

    assert await asking.hear(asking.request(*QUESTION, *history, tools=(PODS,))) == [TextChunk("Done."), USAGE]

    expected = {"type": "enabled", "budget_tokens": 16000} if thinks else None
    assert asking.server.bodies[0].get("thinking") == expected


async def test_a_model_that_paces_itself_goes_on_thinking_where_its_thinking_was_lost(asking: Asking) -> None:
    asking.server.replies.append(asking.vendor.reply(Said(text=("Done.",))))

    await asking.hear(asking.request(*QUESTION, *ELSEWHERE, tools=(PODS,)))

    assert asking.server.bodies[0]["thinking"] == {"type": "adaptive", "display": "summarized"}


async def test_a_conversation_with_calls_still_names_its_tools_when_none_may_be_called_any_more(asking: Asking) -> None:
    asking.server.replies.append(asking.vendor.reply(Said(text=("Done.",))))

    assert await asking.hear(asking.request(*QUESTION, *ELSEWHERE)) == [TextChunk("Done."), USAGE]

    (body,) = asking.server.bodies
    assert [tool["name"] for tool in body["tools"]] == ["k8s__pods_list"]
    assert body["tool_choice"] == {"type": "none"}


async def test_an_overloaded_vendor_that_says_so_inside_the_stream_is_asked_again(asking: Asking) -> None:
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    asking.server.replies.append(Reply((sse(overloaded, "error"),)))
    asking.server.replies.append(asking.vendor.reply(Said(text=("Because.",))))

    assert await asking.hear() == [TextChunk("Because."), USAGE]


async def test_a_failed_response_is_asked_for_again(client: LLMClient, server: VendorServer) -> None:
    asking = Asking(client, server, Responses())
    failed: dict[str, Any] = {"id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-5.2", "status": "failed", "output": []}
    failed |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    failed |= {"error": {"code": "server_error", "message": "Oops."}}
    asking.server.replies.append(Reply((sse({"type": "response.failed", "response": failed, "sequence_number": 0}, "response.failed"),)))
    asking.server.replies.append(asking.vendor.reply(Said(text=("Because.",))))

    assert await asking.hear() == [TextChunk("Because."), USAGE]


async def test_a_refusal_is_told_in_the_models_words_and_not_asked_for_again(client: LLMClient, server: VendorServer) -> None:
    asking = Asking(client, server, Responses())
    where: dict[str, Any] = {"output_index": 0, "content_index": 0, "item_id": "msg_1"}
    refusal = {"type": "response.refusal.done", "refusal": "I would rather not.", "sequence_number": 1, **where}
    opening, end = asking.vendor.events(Said())
    asking.server.replies.append(Reply((opening, sse(refusal, "response.refusal.done"), end)))

    assert await asking.hear() == [ErrorChunk("the model refused to answer: I would rather not.", ErrorCode.INVALID_REQUEST)]


async def test_an_organization_that_may_not_see_thoughts_gets_its_answer_without(client: LLMClient, server: VendorServer) -> None:
    asking = Asking(client, server, Responses())
    refusal = "Your organization must be verified to generate reasoning summaries."
    asking.server.replies.append(asking.vendor.error(400, refusal))
    asking.server.replies.extend([asking.vendor.reply(Said(text=("Because.",)))] * 2)

    assert await asking.hear() == [TextChunk("Because."), USAGE]
    assert await asking.hear() == [TextChunk("Because."), USAGE]

    assert ["reasoning" in body for body in asking.server.bodies] == [True, False, False]


async def test_gemini_signatures_go_back_through_langchain_too(client: LLMClient, server: VendorServer) -> None:
    asking = Asking(client, server, GeminiThroughLangChain())
    part: dict[str, Any] = {"functionCall": {"id": "c1", "name": "k8s__pods_list", "args": {}}, "thoughtSignature": "c2VhbGVk"}
    asking.server.replies.append(Reply((sse({"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}]}),)))
    asking.server.replies.append(asking.vendor.reply(Said(text=("Done.",))))

    first = await asking.hear(asking.request(tools=(PODS,)))
    await asking.hear(asking.request(*QUESTION, *results_of(first), tools=(PODS,)))

    assert asking.server.bodies[1]["contents"][1]["parts"][0]["thoughtSignature"] == "c2VhbGVk"


async def test_what_an_answer_that_breaks_off_has_cost_is_counted(client: LLMClient, server: VendorServer) -> None:
    asking = Asking(client, server, GeminiThroughLangChain())
    usage = {"promptTokenCount": 20, "candidatesTokenCount": 1, "totalTokenCount": 21}
    piece = {"candidates": [{"content": {"role": "model", "parts": [{"text": "Bec"}]}}], "usageMetadata": usage}
    asking.server.replies.append(Reply((sse(piece), Act.CUT)))

    assert without_words(await asking.hear()) == [
        TextChunk("Bec"),
        TokenUsage(20, 1, 21),
        ErrorChunk("", ErrorCode.PARTIAL_STREAM, retryable=True),
    ]


class TestAServerOfOnesOwn:
    """Ollama, llama.cpp, vLLM: they speak like OpenAI, more or less."""

    @pytest.fixture
    def route(self) -> Route:
        return Route("in-process", ChatCompletions())

    async def test_it_needs_no_key(self, asking: Asking) -> None:
        asking.server.replies.append(asking.vendor.reply(Said(text=("Because.",))))

        assert await asking.hear(api_key_env="NO_SUCH_KEY") == [TextChunk("Because."), USAGE]

    async def test_reasoning_under_its_other_name_is_heard(self, asking: Asking) -> None:
        events = asking.vendor.events(Said(thinking=("Hm.",), text=("Because.",)))
        asking.server.replies.append(Reply(tuple(event.replace(b'"reasoning_content"', b'"reasoning"') for event in events)))

        assert await asking.hear() == [ThinkingChunk("Hm."), TextChunk("Because."), USAGE]

    async def test_thinking_inside_the_text_is_thinking_even_in_pieces(self, asking: Asking) -> None:
        """As small models write it where their server does not take it out."""
        asking.server.replies.append(asking.vendor.reply(Said(text=("<thi", "nk>\nHm", ".</", "think>\n\n", "Bec", "ause."))))

        assert await asking.hear() == [ThinkingChunk("Hm"), ThinkingChunk("."), TextChunk("Bec"), TextChunk("ause."), USAGE]

    async def test_an_answer_that_only_thinks_in_its_text_is_an_empty_one(self, asking: Asking) -> None:
        asking.server.replies.append(asking.vendor.reply(Said(text=("<think>Hm.</think>",))))

        assert without_words(await asking.hear()) == [
            ThinkingChunk("Hm."),
            USAGE,
            ErrorChunk("", ErrorCode.EMPTY_RESPONSE, retryable=True),
        ]

    async def test_calls_without_ids_are_told_apart(self, asking: Asking) -> None:
        events = asking.vendor.events(Said(calls=(LOOK, LOOK)))
        asking.server.replies.append(Reply(tuple(event.replace(b'"id": "call_1"', b'"id": ""') for event in events)))

        calls = [chunk for chunk in await asking.hear(asking.request(tools=(PODS,))) if isinstance(chunk, ToolCallChunk)]

        assert [call.arguments for call in calls] == ['{"ns": "a"}'] * 2
        assert len({call.call_id for call in calls}) == 2

    async def test_calls_that_all_have_the_same_index_are_told_apart(self, asking: Asking) -> None:
        """As Ollama and Gemini number them behind their OpenAI dress."""
        events = asking.vendor.events(Said(calls=(LOOK, replace(LOOK, id="call_2", arguments='{"ns": "b"}'))))
        asking.server.replies.append(Reply(tuple(event.replace(b'{"index": 1,', b'{"index": 0,') for event in events)))

        calls = [chunk for chunk in await asking.hear(asking.request(tools=(PODS,))) if isinstance(chunk, ToolCallChunk)]

        assert calls == [ToolCallChunk("call_1", "k8s.pods_list", '{"ns": "a"}'), ToolCallChunk("call_2", "k8s.pods_list", '{"ns": "b"}')]

    @pytest.mark.parametrize("second", ["call_2", "call_1", ""])
    async def test_calls_without_an_index_are_whole_calls(self, asking: Asking, second: str) -> None:
        opening, *_, end, usage, done = asking.vendor.events(Said(calls=(LOOK,)))
        calls = [
            {"id": call_id, "type": "function", "function": {"name": LOOK.name, "arguments": arguments}}
            for call_id, arguments in (("call_1", '{"ns": "a"}'), (second, '{"ns": "b"}'))
        ]
        choices = ({"choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": None}]} for call in calls)
        whole = [sse({"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", **choice}) for choice in choices]
        asking.server.replies.append(Reply((opening, *whole, end, usage, done)))

        received = [chunk for chunk in await asking.hear(asking.request(tools=(PODS,))) if isinstance(chunk, ToolCallChunk)]

        assert [call.arguments for call in received] == ['{"ns": "a"}', '{"ns": "b"}']
        assert len({call.call_id for call in received}) == 2

    async def test_a_call_whose_pieces_have_different_ids_is_one_call(self, asking: Asking) -> None:
        """As older versions of vLLM number them."""
        events = asking.vendor.events(Said(calls=(LOOK,)))
        renamed = (
            event.replace(b'"index": 0, "function": {"arguments"', b'"index": 0, "id": "x%d", "function": {"arguments"' % number)
            for number, event in enumerate(events)
        )
        asking.server.replies.append(Reply(tuple(renamed)))

        assert await asking.hear(asking.request(tools=(PODS,))) == [ToolCallChunk("call_1", "k8s.pods_list", '{"ns": "a"}'), USAGE]

    async def test_usage_that_is_told_with_every_piece_is_counted_once(self, asking: Asking) -> None:
        opening, *words, end, usage, done = asking.vendor.events(Said(text=("Be", "cause.")))
        asking.server.replies.append(Reply((opening, usage, words[0], usage, words[1], end, usage, done)))

        assert await asking.hear() == [TextChunk("Be"), TextChunk("cause."), USAGE]

    async def test_an_emoji_cut_in_two_reaches_the_reader_whole(self, asking: Asking) -> None:
        events = asking.vendor.events(Said(text=("FIRST", "SECOND")))
        halves = (event.replace(b"FIRST", b"\\ud83d").replace(b"SECOND", b"\\ude00") for event in events)
        asking.server.replies.append(Reply(tuple(halves)))

        assert await asking.hear() == [TextChunk("\U0001f600"), USAGE]

    @pytest.mark.parametrize(
        ("body", "words"),
        [
            (b'{"error": "model qwen3 not found"}', "model qwen3 not found"),
            (b'"no such model"', "no such model"),
            (b'{"detail": "Not Found"}', '{"detail": "Not Found"}'),
            (b"<html>Bad Gateway</html>", "<html>Bad Gateway</html>"),
        ],
    )
    async def test_a_refusal_in_a_form_of_its_own_is_quoted(self, asking: Asking, body: bytes, words: str) -> None:
        asking.server.replies.append(Reply((body,), 400, {}, "application/json"))

        assert await asking.hear() == [ErrorChunk(f"HTTP 400: {words}", ErrorCode.INVALID_REQUEST)]

    async def test_a_context_that_is_too_long_is_recognised_in_it_too(self, asking: Asking) -> None:
        asking.server.replies.append(Reply((b'{"error": "the request exceeds the available context size"}',), 400, {}, "application/json"))

        assert without_words(await asking.hear()) == [ErrorChunk("", ErrorCode.CONTEXT_TOO_LONG)]

    async def test_a_server_that_is_not_there_is_named(self, asking: Asking) -> None:
        provider = asking.request().provider.model_copy(update={"base_url": "http://127.0.0.1:9/v1"})

        (error,) = await asking.hear(replace(asking.request(), provider=provider))

        assert isinstance(error, ErrorChunk)
        assert "All connection attempts failed (http://127.0.0.1:9)" in error.message

    async def test_arguments_that_are_no_json_are_passed_on_and_can_be_sent_back(self, asking: Asking) -> None:
        asking.server.replies.append(asking.vendor.reply(Said(calls=(Call("c1", "k8s__pods_list", "{ns: a"),))))
        asking.server.replies.append(asking.vendor.reply(Said(text=("Sorry.",))))

        first = await asking.hear(asking.request(tools=(PODS,)))
        second = await asking.hear(asking.request(*QUESTION, *results_of(first), tools=(PODS,)))

        assert first[0] == ToolCallChunk("c1", "k8s.pods_list", "{ns: a")
        assert second == [TextChunk("Sorry."), USAGE]
        sent: Any = asking.server.bodies[1]["messages"][2]["tool_calls"][0]["function"]["arguments"]
        assert sent == '{"raw_arguments": "{ns: a"}'

    async def test_a_tool_that_takes_one_thing_or_another_is_offered_as_an_object(self, asking: Asking) -> None:
        either = {"anyOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"b": {"type": "integer"}}}]}
        asking.server.replies.append(asking.vendor.reply(Said(text=("Because.",))))

        await asking.hear(asking.request(tools=(ToolDefinition("s.t", "", either),)))

        parameters = asking.server.bodies[0]["tools"][0]["function"]["parameters"]
        assert parameters == {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}

    async def test_a_tool_whose_schema_says_null_for_nothing_is_offered_without(self, asking: Asking) -> None:
        """As servers written in Go say it."""
        asking.server.replies.append(asking.vendor.reply(Said(text=("Because.",))))

        await asking.hear(asking.request(tools=(ToolDefinition("s.t", "", {"type": "object", "properties": None, "required": None}),)))

        assert asking.server.bodies[0]["tools"][0]["function"]["parameters"] == {"type": "object", "properties": {}}


@pytest.mark.parametrize("client", ["in-process", "grpc"], indirect=True)
async def test_a_missing_key_is_named_and_nobody_is_asked(client: LLMClient, server: VendorServer) -> None:
    asking = Asking(client, server, Anthropic())
    request = asking.request(api_key_env="NO_SUCH_KEY")
    provider = request.provider.model_copy(update={"base_url": None})

    chunks = await asking.hear(replace(request, provider=provider))

    assert chunks == [ErrorChunk("the provider anthropic has no key: set the environment variable NO_SUCH_KEY", ErrorCode.CREDENTIALS)]


@pytest.mark.parametrize("client", ["in-process", "grpc"], indirect=True)
async def test_an_address_with_an_unknown_variable_names_it(client: LLMClient, server: VendorServer) -> None:
    asking = Asking(client, server, Anthropic())
    request = asking.request()
    provider = request.provider.model_copy(update={"base_url": "{{.NO_SUCH_ADDRESS}}/v1"})

    chunks = await asking.hear(replace(request, provider=provider))

    assert without_words(chunks) == [ErrorChunk("", ErrorCode.CREDENTIALS)]
    assert "NO_SUCH_ADDRESS" in str(chunks)


@pytest.mark.parametrize("backend", list(LLMBackend))
async def test_a_credentials_file_that_cannot_be_used_is_named(server: VendorServer, tmp_path: Path, backend: LLMBackend) -> None:
    missing = tmp_path / "service-account.json"
    client = in_process_client(env={"GOOGLE_APPLICATION_CREDENTIALS": str(missing)})
    asking = Asking(client, server, GeminiOnVertex())

    chunks = await asking.hear(replace(asking.request(), backend=backend))

    assert without_words(chunks) == [ErrorChunk("", ErrorCode.CREDENTIALS)]
    assert str(missing) in str(chunks)
    await client.aclose()


async def test_a_package_that_is_not_installed_is_named_with_the_command(server: VendorServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain_xai", None)
    client = in_process_client(env={})

    chunks = await Asking(client, server, XAI()).hear()

    message = "xAI needs a package that is not installed: pip install 'tarsy[xai]'"
    assert chunks == [ErrorChunk(message, ErrorCode.INVALID_REQUEST)]
    await client.aclose()


async def test_one_client_serves_all_who_reach_a_model_the_same_way(server: VendorServer) -> None:
    made: list[ModelKey] = []

    def make(key: ModelKey) -> ChatModel:
        made.append(key)
        return make_model(key)

    cache = ClientCache[ModelKey, ChatModel](make)
    env = {"KEY_1": "one", "KEY_2": "two"}
    settings = [{"api_key_env": "KEY_1"}, {"api_key_env": "KEY_1", "stall_timeout": 5}, {"api_key_env": "KEY_2"}]
    keys = [ModelKey(resolve_access(ChatCompletions().provider(server.url, **setting), env), "m") for setting in settings]

    models = [await cache.get(key) for key in keys]

    assert models[0] is models[1]
    assert models[0] is not models[2]
    assert len(made) == 2
    await cache.aclose()
