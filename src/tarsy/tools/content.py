"""A tool's answer as text for a model: nothing is dropped, what cannot be text is described."""

import json
import re
from collections.abc import Iterator
from typing import Any, assert_never, cast

from tarsy.tools.answers import AudioBlock, BlobResource, Block, CallResult, ImageBlock, LinkBlock, ResourceBlock, TextBlock, TextResource

# Larger results are of no use: a model's window is smaller, and a summary is made from the beginning anyway.
MAX_CONTENT = 1024 * 1024
_WORD = re.compile(r"\w+")


def render(result: CallResult) -> str:
    """The text of all content blocks; structured content only where it is not already there as text."""
    parts = [_block(block) for block in result.content]
    structured = result.structured_content
    # Behind a text that is cut anyway, it would not be seen.
    if structured is not None and sum(map(len, parts)) < MAX_CONTENT and not _repeats(structured, "\n".join(parts)):
        parts.append(json.dumps(structured, ensure_ascii=False, indent=2))
    return "\n".join(part for part in parts if part) or "(no output)"


def clip_content(text: str) -> str:
    """Cut an oversized text at a line, so that no secret is cut in two and slips past its pattern."""
    if len(text) <= MAX_CONTENT:
        return text
    end = text.rfind("\n", MAX_CONTENT - 64 * 1024, MAX_CONTENT)
    kept = text[: end if end > 0 else MAX_CONTENT]
    return f"{kept}\n… [{len(text) - len(kept)} of {len(text)} characters omitted: the result is too large; ask for less, e.g. with a filter or a limit]"


def _block(block: Block) -> str:
    match block:
        case TextBlock():
            return block.text
        case ImageBlock():
            return f"[image, {block.mime_type}, {_decoded_size(block.data)} bytes]"
        case AudioBlock():
            return f"[audio, {block.mime_type}, {_decoded_size(block.data)} bytes]"
        case LinkBlock():
            about = ", ".join(part for part in (block.title or block.name, block.mime_type, block.description) if part)
            return f"[resource {block.uri}: {about}]"
        case ResourceBlock():
            return _resource(block.resource)
        case _:
            assert_never(block)


def _resource(resource: TextResource | BlobResource) -> str:
    match resource:
        case TextResource():
            return f"[resource {resource.uri}]\n{resource.text}"
        case BlobResource():
            return f"[resource {resource.uri}, {resource.mime_type or 'unknown type'}, {_decoded_size(resource.blob)} bytes]"
        case _:
            assert_never(resource)


def _decoded_size(data: str) -> int:
    return len(data) * 3 // 4 - data.count("=", max(0, len(data) - 2))


def _repeats(structured: Any, text: str) -> bool:
    """Whether the text says it all, as JSON, YAML, a table or plainly: servers are told to put structured content into a text as well."""
    words = frozenset(_WORD.findall(text))
    return bool(words) and all(word in words for value in _values(structured) for word in _WORD.findall(value))


def _values(structured: Any) -> Iterator[str]:
    match structured:
        case dict():
            for value in cast("dict[str, Any]", structured).values():
                yield from _values(value)
        case list():
            for value in cast("list[Any]", structured):
                yield from _values(value)
        case str():
            yield structured
        case _:
            yield json.dumps(structured)
