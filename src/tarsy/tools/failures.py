"""The failures of a tool server, with words for the model and for the person who can act."""

import re
from contextvars import ContextVar
from dataclasses import dataclass

from tarsy.kit.groups import leaves

_SESSION_EXPIRED = re.compile(r"session|not initiali[sz]ed", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpFailure:
    """A failed HTTP exchange."""

    method: str
    url: str
    status: int | None
    detail: str
    # The request never reached a server.
    unsent: bool = False

    @property
    def is_auth(self) -> bool:
        return self.status in {401, 403}

    @property
    def session_expired(self) -> bool:
        """Whether the server does not know the session any more: 404 by the specification, 400 with these words in many servers."""
        return self.status == 404 or (self.status == 400 and _SESSION_EXPIRED.search(self.detail) is not None)

    @property
    def too_large(self) -> bool:
        """Whether the response exceeded our limit for its size."""
        return self.status is not None and self.status < 400

    def __str__(self) -> str:
        what = f"HTTP {self.status}" if self.status else "no answer"
        return f"{what} to {self.method} {self.url}" + (f": {self.detail}" if self.detail else "")


# The SDK sends a request in the context of the task that made it, so failures find their call even if several run at once.
current_http_failures: ContextVar[list[HttpFailure] | None] = ContextVar("current_http_failures", default=None)


class ToolServerError(Exception):
    """A failure of a server or a call; the text is not masked yet."""

    def __init__(self, server: str, text: str) -> None:
        super().__init__(text)
        self.server = server


class Unreachable(ToolServerError):  # noqa: N818 - the names are states, not "Error"s
    """No connection could be made."""


class ConnectionLost(ToolServerError):  # noqa: N818 - as above
    """The connection broke; `not_received`: the server certainly did not receive the call."""

    def __init__(self, server: str, text: str, *, not_received: bool) -> None:
        super().__init__(server, text)
        self.not_received = not_received


class AuthRejected(ToolServerError):  # noqa: N818 - as above
    """The server does not accept our credentials."""

    def __init__(self, server: str, failure: HttpFailure) -> None:
        super().__init__(
            server,
            f"Tool server '{server}' does not accept our credentials ({failure}). Nothing in the call can change that; "
            f"an operator has to check mcp_servers.{server}.transport.bearer_token, oauth and custom_headers.",
        )


class NotAccepted(ToolServerError):  # noqa: N818 - as above
    """Agents may not use the server before an administrator has accepted its tools."""


class CallRejected(ToolServerError):  # noqa: N818 - as above
    """The server answered with an error instead of a result."""


class BadAnswer(ToolServerError):  # noqa: N818 - as above
    """The server's answer violates the protocol."""


def explain(error: BaseException) -> str:
    """Return one line for an error from below the protocol."""
    seen = dict.fromkeys(f"{type(leaf).__name__}: {leaf}" if str(leaf) else type(leaf).__name__ for leaf in leaves(error))
    return "; ".join(seen)
