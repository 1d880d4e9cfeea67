"""The vendors' streaming protocols, as far as our tests need them."""

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from support.vendor_server import Reply, json_reply
from tarsy.domain.llm import LLMBackend, ProviderType, ResolvedProvider
from tarsy.domain.usage import TokenUsage


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call as the vendor spells it."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model is to say, vendor by vendor in their own way."""

    text: tuple[str, ...] = ()
    thinking: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    # Complete unless a test wants an answer that just stops.
    ends: bool = True
    # At the limit of what the model may say.
    cut: bool = False


# The usage that every vendor reports: 20 in of which 5 cached, 12 out of which 7 thinking.
USAGE = TokenUsage(20, 12, 32, 7, 5)


def sse(data: Any, event: str | None = None) -> bytes:
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return (f"event: {event}\n" if event else "").encode() + f"data: {text}\n\n".encode()


class Vendor(ABC):
    """One way to reach a model."""

    name: str
    type: ProviderType
    backend = LLMBackend.LANGCHAIN
    model: str
    # Added to the server's address.
    prefix = ""

    def provider(self, url: str, **changes: Any) -> ResolvedProvider:
        settings: dict[str, Any] = {"first_chunk_timeout": 10, "stall_timeout": 10, "api_key_env": "VENDOR_KEY", **changes}
        return ResolvedProvider(name=self.name, type=self.type, model=self.model, base_url=url + self.prefix, **settings)

    @abstractmethod
    def events(self, answer: Answer) -> list[bytes]: ...

    @abstractmethod
    def error_body(self, status: int, message: str) -> Any: ...

    def unreadable(self) -> bytes:
        """An event that is no JSON."""
        return sse('{"broken": ')

    def reply(self, answer: Answer) -> Reply:
        return Reply(tuple(self.events(answer)))

    def error(self, status: int, message: str, headers: dict[str, str] | None = None) -> Reply:
        return json_reply(status, self.error_body(status, message), headers)


class Gemini(Vendor):
    name = "gemini-native"
    type = ProviderType.GOOGLE
    backend = LLMBackend.NATIVE_GEMINI
    model = "gemini-2.5-pro"

    def events(self, answer: Answer) -> list[bytes]:
        parts: list[dict[str, Any]] = [{"text": text, "thought": True} for text in answer.thinking]
        parts += [{"text": text} for text in answer.text]
        parts += [{"functionCall": {"id": call.id, "name": call.name, "args": json.loads(call.arguments)}} for call in answer.calls]
        events = [sse({"candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}]}) for part in parts]
        if answer.ends:
            usage = {
                "promptTokenCount": 20,
                "candidatesTokenCount": 5,
                "thoughtsTokenCount": 7,
                "totalTokenCount": 32,
                "cachedContentTokenCount": 5,
            }
            last = {
                "content": {"role": "model", "parts": [{"text": ""}]},
                "finishReason": "MAX_TOKENS" if answer.cut else "STOP",
                "index": 0,
            }
            events.append(sse({"candidates": [last], "usageMetadata": usage}))
        return events

    def error_body(self, status: int, message: str) -> Any:
        names = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL"}
        return {"error": {"code": status, "message": message, "status": names[status]}}


class GeminiByDefault(Gemini):
    """With the backend that agents have unless they name another."""

    name = "gemini-default"
    backend = LLMBackend.LANGCHAIN


class GeminiOnVertex(Gemini):
    name = "gemini-vertex"
    type = ProviderType.VERTEXAI


class ChatCompletions(Vendor):
    name = "openai-chat"
    type = ProviderType.OPENAI
    model = "qwen3:8b"
    prefix = "/v1"
    completion_tokens = 12

    def _chunk(self, delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return sse({"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": self.model, "choices": [choice]})

    def events(self, answer: Answer) -> list[bytes]:
        events = [self._chunk({"role": "assistant", "content": ""})]
        events += [self._chunk({"reasoning_content": text}) for text in answer.thinking]
        events += [self._chunk({"content": text}) for text in answer.text]
        for index, call in enumerate(answer.calls):
            half = len(call.arguments) // 2
            opening = {"index": index, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}
            events.append(self._chunk({"tool_calls": [opening]}))
            for piece in (call.arguments[:half], call.arguments[half:]):
                events.append(self._chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}))
        if answer.ends:
            reason = "length" if answer.cut else "tool_calls" if answer.calls else "stop"
            events += [self._chunk({}, reason), self._usage(), sse("[DONE]")]
        return events

    def _usage(self) -> bytes:
        usage = {
            "prompt_tokens": 20,
            "completion_tokens": self.completion_tokens,
            "total_tokens": 32,
            "prompt_tokens_details": {"cached_tokens": 5},
            "completion_tokens_details": {"reasoning_tokens": 7},
        }
        return sse({"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": self.model, "choices": [], "usage": usage})

    def error_body(self, status: int, message: str) -> Any:
        return {"error": {"message": message, "type": "server_error" if status == 500 else "invalid_request_error", "code": None}}


class XAI(ChatCompletions):
    name = "xai"
    type = ProviderType.XAI
    model = "grok-4"
    # Reported beside the reasoning, not with it.
    completion_tokens = 5


class Responses(Vendor):
    name = "openai-responses"
    type = ProviderType.OPENAI
    model = "gpt-5.2"
    prefix = "/v1"

    def events(self, answer: Answer) -> list[bytes]:
        events: list[dict[str, Any]] = [{"type": "response.created", "response": self._response("in_progress", [])}]
        output: list[dict[str, Any]] = []
        if answer.thinking:
            events += self._reasoning(answer.thinking, output)
        if answer.text:
            events += self._message(answer.text, output)
        for call in answer.calls:
            events += self._call(call, output)
        if answer.ends:
            status = "incomplete" if answer.cut else "completed"
            events.append({"type": f"response.{status}", "response": self._response(status, output)})
        return [sse({**event, "sequence_number": number}, event["type"]) for number, event in enumerate(events)]

    def _reasoning(self, thinking: tuple[str, ...], output: list[dict[str, Any]]) -> list[dict[str, Any]]:
        place = len(output)
        item: dict[str, Any] = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": ""}
        events: list[dict[str, Any]] = [
            {"type": "response.output_item.added", "output_index": place, "item": item},
            {"type": "response.reasoning_summary_part.added", "output_index": place, "item_id": "rs_1", "summary_index": 0}
            | {"part": {"type": "summary_text", "text": ""}},
        ]
        for text in thinking:
            event = {
                "type": "response.reasoning_summary_text.delta",
                "output_index": place,
                "item_id": "rs_1",
                "summary_index": 0,
                "delta": text,
            }
            events.append(event)
        done = {**item, "summary": [{"type": "summary_text", "text": "".join(thinking)}], "encrypted_content": "sealed"}
        output.append(done)
        return [*events, {"type": "response.output_item.done", "output_index": place, "item": done}]

    def _message(self, texts: tuple[str, ...], output: list[dict[str, Any]]) -> list[dict[str, Any]]:
        place = len(output)
        item: dict[str, Any] = {"id": "msg_1", "type": "message", "role": "assistant", "status": "in_progress", "content": []}
        where: dict[str, Any] = {"output_index": place, "content_index": 0, "item_id": "msg_1", "logprobs": []}
        events: list[dict[str, Any]] = [{"type": "response.output_item.added", "output_index": place, "item": item}]
        events += [{"type": "response.output_text.delta", "delta": text, **where} for text in texts]
        whole: dict[str, Any] = {"type": "output_text", "text": "".join(texts), "annotations": []}
        done = {**item, "status": "completed", "content": [whole]}
        output.append(done)
        events.append({"type": "response.output_text.done", "text": "".join(texts), **where})
        return [*events, {"type": "response.output_item.done", "output_index": place, "item": done}]

    def _call(self, call: Call, output: list[dict[str, Any]]) -> list[dict[str, Any]]:
        place, half = len(output), len(call.arguments) // 2
        item = {
            "id": f"fc_{call.id}",
            "type": "function_call",
            "call_id": call.id,
            "name": call.name,
            "arguments": "",
            "status": "in_progress",
        }
        events: list[dict[str, Any]] = [{"type": "response.output_item.added", "output_index": place, "item": item}]
        for piece in (call.arguments[:half], call.arguments[half:]):
            event = {"type": "response.function_call_arguments.delta", "output_index": place, "item_id": item["id"], "delta": piece}
            events.append(event)
        done = {**item, "arguments": call.arguments, "status": "completed"}
        output.append(done)
        return [*events, {"type": "response.output_item.done", "output_index": place, "item": done}]

    def _response(self, status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
        usage = {
            "input_tokens": 20,
            "output_tokens": 12,
            "total_tokens": 32,
            "input_tokens_details": {"cached_tokens": 5},
            "output_tokens_details": {"reasoning_tokens": 7},
        }
        return {
            "id": "resp_1",
            "object": "response",
            "created_at": 1,
            "model": self.model,
            "status": status,
            "output": output,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": None if status == "in_progress" else usage,
            "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
        }

    def error_body(self, status: int, message: str) -> Any:
        return {"error": {"message": message, "type": "server_error" if status == 500 else "invalid_request_error", "code": None}}


class Anthropic(Vendor):
    name = "anthropic"
    type = ProviderType.ANTHROPIC
    model = "claude-sonnet-5"

    def events(self, answer: Answer) -> list[bytes]:
        usage = {"input_tokens": 15, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 0, "output_tokens": 1}
        start: dict[str, Any] = {
            "id": "m1",
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": [],
            "stop_reason": None,
            "usage": usage,
        }
        events: list[dict[str, Any]] = [{"type": "message_start", "message": start}, {"type": "ping"}]
        index = 0
        if answer.thinking:
            deltas = [{"type": "thinking_delta", "thinking": text} for text in answer.thinking]
            deltas.append({"type": "signature_delta", "signature": "sealed"})
            events += self._block(index, {"type": "thinking", "thinking": "", "signature": ""}, deltas)
            index += 1
        if answer.text:
            events += self._block(index, {"type": "text", "text": ""}, [{"type": "text_delta", "text": text} for text in answer.text])
            index += 1
        for call in answer.calls:
            half = len(call.arguments) // 2
            pieces = (call.arguments[:half], call.arguments[half:])
            block: dict[str, Any] = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
            events += self._block(index, block, [{"type": "input_json_delta", "partial_json": piece} for piece in pieces])
            index += 1
        if answer.ends:
            reason = "max_tokens" if answer.cut else "tool_use" if answer.calls else "end_turn"
            last = {**usage, "output_tokens": 12, "output_tokens_details": {"thinking_tokens": 7}}
            events.append({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": last})
            events.append({"type": "message_stop"})
        return [sse(event, event["type"]) for event in events]

    def _block(self, index: int, block: dict[str, Any], deltas: list[dict[str, Any]]) -> list[dict[str, Any]]:
        start = {"type": "content_block_start", "index": index, "content_block": block}
        body = [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        return [start, *body, {"type": "content_block_stop", "index": index}]

    def error_body(self, status: int, message: str) -> Any:
        kinds = {400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error", 500: "api_error"}
        return {"type": "error", "error": {"type": kinds[status], "message": message}}

    def unreadable(self) -> bytes:
        return sse('{"broken": ', "content_block_delta")


class AnthropicOnVertex(Anthropic):
    name = "anthropic-vertex"
    type = ProviderType.VERTEXAI


VENDORS: tuple[Vendor, ...] = (
    Gemini(),
    GeminiByDefault(),
    GeminiOnVertex(),
    ChatCompletions(),
    XAI(),
    Responses(),
    Anthropic(),
    AnthropicOnVertex(),
)
