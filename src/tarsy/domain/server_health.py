"""A tool server as it was last seen."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tarsy.domain.tool import ToolDefinition


class ServerState(StrEnum):
    # Not asked yet.
    UNKNOWN = "unknown"
    CONNECTED = "connected"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerHealth:
    """`error` says why a server cannot be used; `since` is when it came into its state."""

    name: str
    transport: str
    state: ServerState = ServerState.UNKNOWN
    error: str | None = None
    checked_at: datetime | None = None
    since: datetime | None = None
    tools: tuple[ToolDefinition, ...] = ()
