"""Webhooks: a signed JSON document of a documented, versioned schema (docs/notifications.md)."""

import hashlib
import hmac
import json
import ssl
import sys
import time
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

import httpx
from pydantic import TypeAdapter

from tarsy import __version__
from tarsy.domain.notification import MessageThread, Notification, NotificationEvent
from tarsy.domain.notification_text import Markup
from tarsy.notify.senders.sender import Delivered, NotDelivered, retry_after

SIGNATURE = "X-TARSy-Signature"
# Enough to see what the receiver complains about.
_SHOWN_BYTES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSender:
    url: str = field(repr=False)
    secret: str | None = field(repr=False)
    service = "webhook"
    has_threads = False
    markup = Markup.NONE

    async def send(self, notification: Notification, thread: MessageThread | None = None) -> Delivered | NotDelivered:
        del thread
        content = webhook_body(notification)
        headers = {"Content-Type": "application/json", "User-Agent": f"TARSy/{__version__}", "Idempotency-Key": notification.id}
        if self.secret is not None:
            headers[SIGNATURE] = signature(content, self.secret, int(time.time()))
        try:
            async with (
                httpx.AsyncClient(verify=tls_context(), timeout=None) as client,  # noqa: S113 - the caller limits the time
                client.stream("POST", self.url, content=content, headers=headers) as response,
            ):
                if response.is_success:
                    return Delivered()
                shown = b""
                async for chunk in response.aiter_bytes(_SHOWN_BYTES):
                    shown = chunk
                    break
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            # The text of some errors contains the address, which may be secret.
            return NotDelivered(f"the receiver cannot be reached: {type(error).__name__}")
        reason = f"HTTP {response.status_code} {shown.decode(errors='replace')}".strip()
        return NotDelivered(reason, retry_after(response.headers.get("Retry-After")))


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookBody:
    """The document that a webhook receives; it is the same in every attempt."""

    version: Literal[1] = 1
    id: str
    target: str
    rule: str
    text: str
    event: NotificationEvent


_BODY = TypeAdapter(WebhookBody)


def webhook_body(notification: Notification) -> bytes:
    body = WebhookBody(
        id=notification.id, target=notification.target, rule=notification.rule, text=notification.text, event=notification.event
    )
    return _BODY.dump_json(body)


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of the document: `python -m tarsy.notify.senders.webhook > docs/notification.schema.json`."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **_BODY.json_schema(mode="serialization")}


def signature(content: bytes, secret: str, timestamp: int) -> str:
    """Return the time and the HMAC-SHA256 of the time, a dot and the body, so that an old request cannot be sent again."""
    signed = hmac.new(secret.encode(), f"{timestamp}.".encode() + content, hashlib.sha256).hexdigest()
    return f"t={timestamp},v1={signed}"


@cache
def tls_context() -> ssl.SSLContext:
    """Return the system's trusted certificates."""
    # Reading the certificates takes longer than sending.
    return ssl.create_default_context()


if __name__ == "__main__":
    sys.stdout.write(json.dumps(json_schema(), indent=2) + "\n")
