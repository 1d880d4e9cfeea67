"""Scripted investigators: functions from a case and the conversation so far to the next reply."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tarsy.domain.conversation import Role
from tarsy.domain.llm import Chunk, GenerateInput, TextChunk, ToolCallChunk
from tarsy.domain.tool import ToolDefinition
from tarsy.domain.usage import TokenUsage
from tarsy.evals.cases import Case
from tarsy.kit.text import estimate_tokens


@dataclass(frozen=True, slots=True)
class Calls:
    """Tools to be called, by their own names, with their arguments."""

    wanted: tuple[tuple[str, Mapping[str, Any]], ...]


@dataclass(frozen=True, slots=True)
class Reply:
    text: str


@dataclass(frozen=True, slots=True)
class Conversation:
    """The part of a conversation that a script uses."""

    tools: tuple[str, ...]
    # Turns with tool calls so far.
    rounds: int
    results: tuple[str, ...]
    # The text of the system messages.
    instructions: str = ""
    # The text of the user messages.
    prompt: str = ""
    definitions: tuple[ToolDefinition, ...] = ()


Script = Callable[[Case, Conversation], Calls | Reply]


def conversation_of(request: GenerateInput) -> Conversation:
    asked = [message for message in request.messages if message.role is Role.ASSISTANT and message.tool_calls]
    results = [message.content for message in request.messages if message.role is Role.TOOL]
    instructions = "\n".join(message.content for message in request.messages if message.role is Role.SYSTEM)
    prompt = "\n".join(message.content for message in request.messages if message.role is Role.USER)
    return Conversation(tuple(tool.name for tool in request.tools), len(asked), tuple(results), instructions, prompt, request.tools)


def chunks_of(reply: Calls | Reply, request: GenerateInput) -> Iterator[Chunk]:
    """Yield a reply as a model streams it. Tools that are not offered are called as well: the pipeline answers that they do not exist."""
    match reply:
        case Reply(text):
            yield TextChunk(text)
            length = estimate_tokens(text)
        case Calls(wanted):
            names = {tool.name.rpartition(".")[2]: tool.name for tool in request.tools}
            for place, (tool, arguments) in enumerate(wanted):
                yield ToolCallChunk(f"turn-{request.turn}-{place}", names.get(tool, tool), json.dumps(dict(arguments)))
            length = estimate_tokens(str(wanted))
    asked = sum(estimate_tokens(message.content) for message in request.messages)
    yield TokenUsage(input_tokens=asked, output_tokens=length, total_tokens=asked + length)


def verdict_block(fields: Mapping[str, object]) -> str:
    """Return the fenced block at the end of an answer. Its values are JSON, which is YAML and needs no quoting of colons."""
    lines = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in fields.items() if value not in ("", None)]
    return "\n".join(["```verdict", *lines, "```"])


def cited(evidence_id: str, quotation: str) -> str:
    return f'[{evidence_id}: "{quotation}"]'


def numbered(count: int) -> Sequence[str]:
    """Return the ids of the first `count` calls of the only agent."""
    return [f"A{number}" for number in range(1, count + 1)]
