"""Asking a scripted vendor, and what the questions look like when they arrive there."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from support.vendor_server import VendorServer
from support.vendors import Vendor
from tarsy.agent.ports import LLMClient
from tarsy.domain.conversation import ConversationMessage, Role, ToolCall
from tarsy.domain.llm import Chunk, ErrorChunk, GenerateInput, ToolCallChunk
from tarsy.domain.tool import ToolDefinition

# By vendor and question, the path and the whole body: the requests as they must go out.
EXPECTED: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("expected_requests.json").read_text())

QUESTION = (ConversationMessage(Role.SYSTEM, "Be brief."), ConversationMessage(Role.USER, "Why?"))
PODS = ToolDefinition(
    "k8s.pods_list", "List pods", {"type": "object", "properties": {"ns": {"type": "string"}}, "required": ["ns"]}, read_only=True
)

Transport = Literal["in-process", "grpc"]


class Route(NamedTuple):
    """A way to a model: a vendor, called in process or through a gRPC service."""

    transport: Transport
    vendor: Vendor

    def __str__(self) -> str:
        return f"{self.transport}-{self.vendor.name}"


def routes(vendors: Iterable[Vendor], *, over_grpc: Iterable[Vendor] = ()) -> list[Route]:
    return [*(Route("in-process", vendor) for vendor in vendors), *(Route("grpc", vendor) for vendor in over_grpc)]


@dataclass(frozen=True, slots=True)
class Asking:
    client: LLMClient
    server: VendorServer
    vendor: Vendor

    def request(self, *messages: ConversationMessage, tools: tuple[ToolDefinition, ...] = (), **provider: Any) -> GenerateInput:
        return GenerateInput(
            session_id="session",
            execution_id="execution",
            messages=messages or QUESTION,
            provider=self.vendor.provider(self.server.url, **provider),
            backend=self.vendor.backend,
            tools=tools,
            # A conversation that begins has nothing to remember, whatever the test before left behind.
            clear_cache=not messages,
        )

    async def receive(self, request: GenerateInput | None = None, **provider: Any) -> list[Chunk]:
        return [chunk async for chunk in self.client.generate(request or self.request(**provider))]

    def assert_asked(self, *questions: str) -> None:
        """The vendor saw exactly these requests, path and body."""
        seen = [{"path": request.path, "body": request.body} for request in self.server.seen]
        assert seen == [EXPECTED[self.vendor.name][question] for question in questions]


def results_of(chunks: list[Chunk], text: str = "") -> tuple[ConversationMessage, ...]:
    """The next turns of the conversation: the answer as received, and a result for each of its calls."""
    calls = tuple(ToolCall(chunk.call_id, chunk.name, chunk.arguments) for chunk in chunks if isinstance(chunk, ToolCallChunk))
    results = tuple(ConversationMessage(Role.TOOL, f"pods for {call.arguments}", (), call.id, call.name) for call in calls)
    return ConversationMessage(Role.ASSISTANT, text, calls), *results


def without_words(chunks: list[Chunk]) -> list[Chunk]:
    """Errors reduced to code and retryable: what a library says about a broken connection is its own affair."""
    return [replace(chunk, message="") if isinstance(chunk, ErrorChunk) else chunk for chunk in chunks]
