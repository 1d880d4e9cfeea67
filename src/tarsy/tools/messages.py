"""The MCP messages that tool servers answer with, and a tool's answer as text for a model."""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Annotated, Any, Literal, assert_never, cast

import orjson
from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel


class _McpModel(BaseModel):
    model_config = ConfigDict(frozen=True, alias_generator=to_camel)


class ToolHints(_McpModel):
    read_only_hint: bool | None = None
    destructive_hint: bool | None = None
    idempotent_hint: bool | None = None


class ToolExecution(_McpModel):
    """How a tool runs: `required` if it can be called only as a task, which we do not offer."""

    task_support: str | None = None


class ListedTool(_McpModel):
    name: str
    title: str | None = None
    description: str | None = None
    input_schema: dict[str, Any]
    annotations: ToolHints | None = None
    execution: ToolExecution | None = None


class ToolPage(_McpModel):
    """One page of a server's list of tools."""

    tools: tuple[ListedTool, ...]
    next_cursor: str | None = None


class TextBlock(_McpModel):
    type: Literal["text"]
    text: str


class MediaBlock(_McpModel):
    type: Literal["image", "audio"]
    data: str
    mime_type: str


class LinkBlock(_McpModel):
    type: Literal["resource_link"]
    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None


class TextResource(_McpModel):
    uri: str
    text: str


class BlobResource(_McpModel):
    uri: str
    blob: str
    mime_type: str | None = None


class ResourceBlock(_McpModel):
    type: Literal["resource"]
    resource: TextResource | BlobResource


Block = TextBlock | MediaBlock | LinkBlock | ResourceBlock

# More than fit into what a model is shown.
MAX_BLOCKS = 1_000


_TypedBlock = Annotated[Block, Discriminator("type")]
_block_adapter: TypeAdapter[Block] = TypeAdapter(_TypedBlock)


def readable_blocks(content: Any) -> Any:
    """Return the content of an answer with a text in place of each block that cannot be read, and of those above the limit."""
    if not isinstance(content, list):
        return content
    blocks = cast("list[Any]", content)
    kept = [block if (problem := _problem(block)) is None else _text(problem) for block in blocks[:MAX_BLOCKS]]
    return kept if len(blocks) <= MAX_BLOCKS else [*kept, _text(f"[{len(blocks) - MAX_BLOCKS} of {len(blocks)} content blocks omitted]")]


def _problem(block: Any) -> str | None:
    try:
        _block_adapter.validate_python(block)
    except ValidationError:
        kind: Any = cast("dict[str, Any]", block).get("type") if isinstance(block, dict) else None
        return f"[content of type {str(kind)[:100]}, which cannot be shown]"
    return None


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


class CallResult(_McpModel):
    """The answer of a tool."""

    content: Annotated[tuple[_TypedBlock, ...], BeforeValidator(readable_blocks)]
    structured_content: Any = None
    is_error: bool = False


class _LogCapability(_McpModel):
    logging: dict[str, Any] | None = None


class InitializeResult(_McpModel):
    """A server's answer to the handshake."""

    protocol_version: str
    capabilities: _LogCapability


# Larger results are of no use: a model's window is smaller, and a summary is made from the beginning anyway.
MAX_CONTENT = 1024 * 1024
# The JSON of deeper values cannot be handled by all libraries that it passes through.
MAX_DEPTH = 64
# Comparing more values than this with the text takes too long.
_COMPARED_VALUES = 10_000
_WORD = re.compile(r"\w+")


def is_deeper_than(limit: int, value: Any) -> bool:
    """Return whether a JSON value has more than `limit` levels."""
    level: list[Any] = [value]
    for _ in range(limit):
        level = [inner for one in level for inner in _inner_values(one)]
        if not level:
            return False
    return True


def render(result: CallResult) -> str:
    """Return the text of all content blocks, and structured content unless the text repeats it. Blocks that are no text are described.

    Structured content of more than 10,000 values is left out if there is any text: comparing it would take too long.
    """
    parts = [_block(block) for block in result.content]
    structured = result.structured_content
    if is_deeper_than(MAX_DEPTH, structured):
        parts.append(f"[structured content of more than {MAX_DEPTH} levels, which cannot be shown]")
    # Behind a text that is clipped anyway, it would not be seen.
    elif structured is not None and sum(map(len, parts)) < MAX_CONTENT:
        # The protocol asks servers to send structured content as text, too: such a text has all its words.
        words = frozenset(_WORD.findall("\n".join(parts)))
        if next(islice(_values(structured), _COMPARED_VALUES, None), None) is not None:
            parts += () if words else (_indented(structured),)
        elif not words or any(word not in words for value in _values(structured) for word in _WORD.findall(value)):
            parts.append(json.dumps(structured, ensure_ascii=False, indent=2))
    return "\n".join(part for part in parts if part) or "(no output)"


def _indented(value: Any) -> str:
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    except TypeError:
        # It writes no integers above 64 bits.
        return json.dumps(value, ensure_ascii=False, indent=2)


def clip_content(text: str) -> str:
    """Clip an oversized text at a line, so that no secret is cut in two and slips past its pattern."""
    if len(text) <= MAX_CONTENT:
        return text
    end = text.rfind("\n", MAX_CONTENT - 64 * 1024, MAX_CONTENT)
    kept = text[: end if end > 0 else MAX_CONTENT]
    return f"{kept}\n… [{len(text) - len(kept)} of {len(text)} characters omitted: the result is too large; ask for less, e.g. with a filter or a limit]"


def _block(block: Block) -> str:
    match block:
        case TextBlock():
            return block.text
        case MediaBlock():
            return f"[{block.type}, {block.mime_type}, {_decoded_size(block.data)} bytes]"
        case LinkBlock():
            about = ", ".join(part for part in (block.title or block.name, block.mime_type, block.description) if part)
            return f"[resource {block.uri}: {about}]"
        case ResourceBlock(resource=resource):
            if isinstance(resource, TextResource):
                return f"[resource {resource.uri}]\n{resource.text}"
            return f"[resource {resource.uri}, {resource.mime_type or 'unknown type'}, {_decoded_size(resource.blob)} bytes]"
        case _:
            assert_never(block)


def _decoded_size(data: str) -> int:
    return len(data) * 3 // 4 - data.count("=", max(0, len(data) - 2))


def _inner_values(value: Any) -> Iterable[Any]:
    match value:
        case dict():
            return cast("dict[str, Any]", value).values()
        case list():
            return cast("list[Any]", value)
        case _:
            return ()


def _values(structured: Any) -> Iterator[str]:
    match structured:
        case dict() | list():
            for value in _inner_values(structured):
                yield from _values(value)
        case str():
            yield structured
        case _:
            yield json.dumps(structured)
