"""What a sender does with a notification, and how it ends."""

from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Protocol

from tarsy.domain.notification import MessageThread, Notification, PostedMessage
from tarsy.domain.notification_text import Markup


@dataclass(frozen=True, slots=True)
class Delivered:
    """The receiver has accepted it. `posted`: the message that later notifications about the same incident update."""

    posted: PostedMessage | None = None


@dataclass(frozen=True, slots=True)
class NotDelivered:
    """The receiver did not accept it, or not that we know. `retry_after`: it asked to be left alone for this many seconds."""

    reason: str
    retry_after: float | None = None


class Sender(Protocol):
    """Sends notifications to one target. The caller limits the time, and repeats what was not delivered."""

    @property
    def service(self) -> str: ...

    @property
    def markup(self) -> Markup: ...

    @property
    def has_threads(self) -> bool:
        """Whether notifications about the same incident share a message, and are therefore sent one at a time."""
        ...

    async def send(self, notification: Notification, thread: MessageThread | None = None) -> Delivered | NotDelivered: ...


def retry_after(header: str | None) -> float | None:
    """Return the seconds of a `Retry-After` header, which has a number or a date; None if it has neither."""
    if header is None:
        return None
    if header.strip().isdecimal():
        return float(header)
    try:
        return max((parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds(), 0.0)
    except (ValueError, TypeError):
        return None
