"""All other services, by Apprise: https://appriseit.com."""

from dataclasses import dataclass, field
from functools import partial
from typing import Any

from anyio import CapacityLimiter, to_thread

from tarsy.domain.notification import MessageThread, Notification
from tarsy.domain.notification_text import Markup
from tarsy.notify.senders.sender import Delivered, NotDelivered

# As many as the deliveries to one target that run at once; threads that hang count against their own target only.
_THREADS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class AppriseSender:
    url: str = field(repr=False)
    service = "apprise"
    has_threads = False
    markup = Markup.PLAIN
    _threads: CapacityLimiter = field(default_factory=partial(CapacityLimiter, _THREADS), repr=False)

    async def send(self, notification: Notification, thread: MessageThread | None = None) -> Delivered | NotDelivered:
        del thread
        return await to_thread.run_sync(self._send, notification, abandon_on_cancel=True, limiter=self._threads)

    def _send(self, notification: Notification) -> Delivered | NotDelivered:
        # Large, and needed only where it is configured.
        from apprise import Apprise, NotifyFormat  # noqa: PLC0415

        service: Any = Apprise()
        if not service.add(self.url):
            return NotDelivered("this is not an Apprise URL of a known service")
        title, _, body = notification.text.partition("\n")
        if service.notify(title=title, body=body or title, body_format=NotifyFormat.TEXT):
            return Delivered()
        # It gives no reason; what it logs is in the log of the process.
        return NotDelivered("the service did not accept the message; the log of the worker has the reason")
