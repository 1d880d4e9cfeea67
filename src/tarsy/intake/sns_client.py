"""What is asked of Amazon SNS over HTTP: its signing certificates, and to begin a subscription. Addresses have been checked to be SNS's own."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import structlog

from tarsy.intake.sns import ConfirmSubscription
from tarsy.kit.imports import load

if TYPE_CHECKING:
    import httpx

log = structlog.get_logger(__name__)

# Of the ten seconds or so that SNS waits for our answer.
TIMEOUT_SECONDS = 5.0
# A certificate has some two kilobytes.
MAX_CERTIFICATE_BYTES = 64 * 1024
# One or two for each region that an installation hears from.
MAX_CERTIFICATES = 32


def _client() -> "httpx.AsyncClient":
    import httpx  # noqa: PLC0415 - loaded before, off the event loop

    # A redirect would lead away from the address that was checked.
    return httpx.AsyncClient(timeout=TIMEOUT_SECONDS, follow_redirects=False)


@dataclass(slots=True)
class SnsClient:
    connect: "Callable[[], httpx.AsyncClient]" = _client
    _certificates: OrderedDict[str, bytes] = field(default_factory=OrderedDict[str, bytes], init=False, repr=False)

    async def certificate(self, address: str) -> bytes | None:
        """The certificate at an address of SNS; None if it cannot be had."""
        if address not in self._certificates:
            fetched = await self._get(address)
            if fetched is None:
                return None
            self._certificates[address] = fetched
            if len(self._certificates) > MAX_CERTIFICATES:
                self._certificates.popitem(last=False)
        return self._certificates[address]

    async def confirm(self, subscription: ConfirmSubscription) -> None:
        """Ask SNS to begin. Where that fails, SNS sends the handshake again."""
        if await self._get(subscription.url) is not None:
            log.info("sns.subscription_confirmed", topic=subscription.topic)

    async def _get(self, address: str) -> bytes | None:
        await load("httpx")
        import httpx  # noqa: PLC0415 - just loaded, off the event loop

        try:
            async with self.connect() as client:
                answer = await client.get(address)
        except httpx.HTTPError as error:
            log.warning("sns.not_reached", error=str(error) or type(error).__name__)
            return None
        if not answer.is_success or len(answer.content) > MAX_CERTIFICATE_BYTES:
            log.warning("sns.refused", status=answer.status_code)
            return None
        return answer.content
