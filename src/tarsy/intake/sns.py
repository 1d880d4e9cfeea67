"""Pure module: Amazon SNS, as far as trust is concerned: whose addresses are SNS's own, whether a message is signed, and which subscription to confirm.

https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html
https://docs.aws.amazon.com/sns/latest/dg/http-subscription-confirmation-json.html
"""

import base64
import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from tarsy.intake.fields import Fields

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING

import httpx
import structlog

_TYPES = ("Notification", "SubscriptionConfirmation", "UnsubscribeConfirmation")
# sns.REGION.amazonaws.com, in China with .cn. A region's form is held to: "sns.s3-us-west-2.amazonaws.com" is an S3 bucket called "sns".
_HOST = re.compile(r"sns\.[a-z]{2}(?:-[a-z]+){1,3}-\d{1,2}\.amazonaws\.com(?:\.cn)?")
_SIGNED_NOTIFICATION = ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type")
_SIGNED_CONFIRMATION = ("Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type")


@dataclass(frozen=True, slots=True)
class ConfirmSubscription:
    """Ask for this address, and SNS will deliver the topic's messages."""

    url: str
    topic: str


@dataclass(frozen=True, slots=True)
class LeaveUnconfirmed:
    reason: str


def is_envelope(body: Fields) -> bool:
    return body.text("Type") in _TYPES and "TopicArn" in body and "MessageId" in body


def is_sns_address(url: str, *, path_ends: str = "") -> bool:
    """Whether `url` leads to SNS itself, by https, and nowhere else."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return False
    own = parts.scheme == "https" and _HOST.fullmatch(parts.netloc) is not None and port is None
    return own and parts.path.endswith(path_ends) and not any(character.isspace() for character in url)


def certificate_address(body: Fields) -> str | None:
    """Where the certificate of a message's signature is, unless the message wants it fetched from elsewhere than SNS."""
    url = _exact(body, "SigningCertURL") or ""
    return url if is_sns_address(url, path_ends=".pem") and not urlsplit(url).query else None


def is_signed(body: Fields, certificate: bytes, *, now: datetime) -> bool:
    """Whether the message was signed with the key of this certificate (PEM), which must be valid now."""
    # Heavy, and needed for this sender alone.
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm  # noqa: PLC0415 - see above
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415 - see above
    from cryptography.hazmat.primitives.asymmetric import padding  # noqa: PLC0415 - see above

    # SNS still signs with SHA-1 unless the topic is set to version 2.
    algorithm = {"1": hashes.SHA1(), "2": hashes.SHA256()}.get(body.text("SignatureVersion"))  # noqa: S303 - SNS's choice
    signed, key = string_to_sign(body), _key(certificate, now)
    if algorithm is None or signed is None or key is None:
        return False
    try:
        key.verify(base64.b64decode(_exact(body, "Signature") or "", validate=True), signed, padding.PKCS1v15(), algorithm)
    except (InvalidSignature, UnsupportedAlgorithm, ValueError):
        return False
    return True


def _key(certificate: bytes, now: datetime) -> "RSAPublicKey | None":
    from cryptography import x509  # noqa: PLC0415 - see is_signed
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 - see is_signed
    from cryptography.hazmat.primitives.asymmetric import rsa  # noqa: PLC0415 - see is_signed

    try:
        signer = x509.load_pem_x509_certificate(certificate)
        key = signer.public_key()
    except (ValueError, UnsupportedAlgorithm):
        return None
    valid = signer.not_valid_before_utc <= now <= signer.not_valid_after_utc
    return key if valid and isinstance(key, rsa.RSAPublicKey) else None


def string_to_sign(body: Fields) -> bytes | None:
    """What SNS signs: the names and values of certain fields, a line each; None if one of them is missing."""
    names = _SIGNED_NOTIFICATION if body.text("Type") == "Notification" else _SIGNED_CONFIRMATION
    lines: list[str] = []
    for name in names:
        value = _exact(body, name)
        if value is None and name != "Subject":
            return None
        if value is not None:
            lines += [name, value]
    try:
        return ("\n".join(lines) + "\n").encode()
    except UnicodeEncodeError:
        return None


def answer_handshake(body: Fields, topics: Collection[str]) -> ConfirmSubscription | LeaveUnconfirmed | None:
    """What to do about a message whose signature has been verified; None if it is no handshake.

    Any AWS account can subscribe this server to a topic of its own, signed by SNS: only the topics that the operator named are confirmed.
    """
    if body.text("Type") != "SubscriptionConfirmation":
        return None
    topic, url = body.text("TopicArn"), _exact(body, "SubscribeURL") or ""
    if topic not in topics:
        return LeaveUnconfirmed(f"the topic {topic} is not among those configured for this sender")
    if not is_sns_address(url) or parse_qs(urlsplit(url).query).get("Action") != ["ConfirmSubscription"]:
        return LeaveUnconfirmed("the address to confirm at is not one of SNS")
    return ConfirmSubscription(url, topic)


def _exact(body: Fields, name: str) -> str | None:
    """A field as it was sent: what is signed must not be cleaned."""
    value = body.values.get(name)
    return value if isinstance(value, str) else None


log = structlog.get_logger(__name__)

# Of the ten seconds or so that SNS waits for our answer.
TIMEOUT_SECONDS = 5.0
# A certificate has some two kilobytes.
MAX_CERTIFICATE_BYTES = 64 * 1024
# One or two for each region that an installation hears from.
MAX_CERTIFICATES = 32


def _client() -> httpx.AsyncClient:
    # A redirect would lead away from the address that was checked.
    return httpx.AsyncClient(timeout=TIMEOUT_SECONDS, follow_redirects=False)


@dataclass(slots=True)
class SnsClient:
    connect: Callable[[], httpx.AsyncClient] = _client
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
