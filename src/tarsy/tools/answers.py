"""What tool servers answer, as far as we use it: the shapes that MCP prescribes. What else a server adds is passed over."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Discriminator
from pydantic.alias_generators import to_camel

from tarsy.kit.model import Model


class _Shape(Model):
    model_config = ConfigDict(frozen=True, alias_generator=to_camel)


class ToolHints(_Shape):
    read_only_hint: bool | None = None
    idempotent_hint: bool | None = None


class ListedTool(_Shape):
    name: str
    title: str | None = None
    description: str | None = None
    input_schema: dict[str, Any]
    annotations: ToolHints | None = None


class ToolPage(_Shape):
    """A server's tools, or the next of them."""

    tools: tuple[ListedTool, ...]
    next_cursor: str | None = None


class TextBlock(_Shape):
    type: Literal["text"]
    text: str


class ImageBlock(_Shape):
    type: Literal["image"]
    data: str
    mime_type: str


class AudioBlock(_Shape):
    type: Literal["audio"]
    data: str
    mime_type: str


class LinkBlock(_Shape):
    type: Literal["resource_link"]
    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None


class TextResource(_Shape):
    uri: str
    text: str


class BlobResource(_Shape):
    uri: str
    blob: str
    mime_type: str | None = None


class ResourceBlock(_Shape):
    type: Literal["resource"]
    resource: TextResource | BlobResource


Block = TextBlock | ImageBlock | AudioBlock | LinkBlock | ResourceBlock


class CallResult(_Shape):
    """What a tool answered."""

    content: tuple[Annotated[Block, Discriminator("type")], ...]
    structured_content: Any = None
    is_error: bool = False


class _LogCapability(_Shape):
    logging: dict[str, Any] | None = None


class Greeting(_Shape):
    """A server's answer to the handshake."""

    protocol_version: str
    capabilities: _LogCapability
