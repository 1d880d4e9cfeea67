"""Amazon SNS: verifying its messages, fetching its certificates and confirming its subscriptions.

https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html
https://docs.aws.amazon.com/sns/latest/dg/http-subscription-confirmation-json.html
"""

import base64
import re
from collections import OrderedDict
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus
from urllib.parse import parse_qs, urlsplit

import httpx
import structlog

from tarsy.intake.fields import Fields

log = structlog.get_logger(__name__)

# SNS waits some ten seconds for the answer.
TIMEOUT_SECONDS = 5.0
# A certificate has some two kilobytes.
MAX_CERTIFICATE_BYTES = 64 * 1024
# One or two for each region.
MAX_CERTIFICATES = 32
_TYPES = ("Notification", "SubscriptionConfirmation", "UnsubscribeConfirmation")
# sns.REGION.amazonaws.com, in China with .cn. A region's form is held to: "sns.s3-us-west-2.amazonaws.com" is an S3 bucket called "sns".
_HOST = re.compile(r"sns\.[a-z]{2}(?:-[a-z]+){1,3}-\d{1,2}\.amazonaws\.com(?:\.cn)?")
_SIGNED_NOTIFICATION = ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type")
_SIGNED_CONFIRMATION = ("Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type")


class CertificateUnavailableError(Exception):
    """SNS could not be asked for its certificate, so nothing is known about the message; nobody has to act, for SNS repeats it."""

    def __init__(self) -> None:
        super().__init__("The signing certificate of SNS cannot be fetched now. Send the message again.")


@dataclass(frozen=True, slots=True)
class ConfirmSubscription:
    """SNS delivers the topic's messages once this URL is requested."""

    url: str
    topic: str


@dataclass(frozen=True, slots=True)
class LeaveUnconfirmed:
    reason: str


def is_envelope(body: Fields) -> bool:
    return body.text("Type") in _TYPES and "TopicArn" in body and "MessageId" in body


def is_sns_address(url: str, *, path_ends: str = "") -> bool:
    """Return whether `url` is an https URL of SNS itself."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return False
    own = parts.scheme == "https" and _HOST.fullmatch(parts.netloc) is not None and port is None
    return own and parts.path.endswith(path_ends) and not any(character.isspace() for character in url)


def certificate_address(body: Fields) -> str | None:
    """Return the URL of the signing certificate, or None if it is not a URL of SNS."""
    url = _exact(body, "SigningCertURL") or ""
    return url if is_sns_address(url, path_ends=".pem") and not urlsplit(url).query else None


def is_signed(body: Fields, certificate: bytes, *, now: datetime) -> bool:
    """Return whether the message was signed with the key of this certificate (PEM), which must be valid now."""
    # Ten megabytes that most installations never need.
    from cryptography import x509  # noqa: PLC0415
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm  # noqa: PLC0415
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import padding, rsa  # noqa: PLC0415

    # SNS still signs with SHA-1 unless the topic is set to version 2.
    algorithm = {"1": hashes.SHA1(), "2": hashes.SHA256()}.get(body.text("SignatureVersion"))  # noqa: S303 - SNS's choice
    signed = string_to_sign(body)
    if algorithm is None or signed is None:
        return False
    try:
        signer = x509.load_pem_x509_certificate(certificate)
        key = signer.public_key()
        if not isinstance(key, rsa.RSAPublicKey) or not signer.not_valid_before_utc <= now <= signer.not_valid_after_utc:
            return False
        key.verify(base64.b64decode(_exact(body, "Signature") or "", validate=True), signed, padding.PKCS1v15(), algorithm)
    except (InvalidSignature, UnsupportedAlgorithm, ValueError):
        return False
    return True


def string_to_sign(body: Fields) -> bytes | None:
    """Return the text that SNS signs, the names and values of certain fields on a line each, or None if one is missing."""
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
    """Decide about the subscription of a message whose signature has been verified. Return None if it is no handshake.

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
    """Return a field as it was sent: a signed text must not be cleaned."""
    value = body.values.get(name)
    return value if isinstance(value, str) else None


@dataclass(slots=True)
class SnsClient:
    """Fetches from addresses that were checked to be SNS's own."""

    # A redirect would lead away from the address that was checked.
    connect: Callable[[], httpx.AsyncClient] = lambda: httpx.AsyncClient(timeout=TIMEOUT_SECONDS, follow_redirects=False)
    _certificates: OrderedDict[str, bytes] = field(default_factory=OrderedDict[str, bytes], init=False, repr=False)

    async def certificate(self, address: str) -> bytes | None:
        """Return the certificate at an address of SNS, or None if SNS has none there.

        Raises:
            CertificateUnavailableError: SNS does not answer, or not now.
        """
        if address not in self._certificates:
            fetched = await self._get(address)
            if fetched is None:
                return None
            if b"BEGIN CERTIFICATE" not in fetched:
                # A page of some proxy must not be kept as the certificate.
                raise CertificateUnavailableError
            self._certificates[address] = fetched
            if len(self._certificates) > MAX_CERTIFICATES:
                self._certificates.popitem(last=False)
        return self._certificates[address]

    async def confirm(self, subscription: ConfirmSubscription) -> None:
        """Confirm a subscription. If that fails, SNS sends the handshake again."""
        with suppress(CertificateUnavailableError):
            if await self._get(subscription.url) is not None:
                log.info("sns.subscription_confirmed", topic=subscription.topic)

    async def _get(self, address: str) -> bytes | None:
        try:
            async with self.connect() as client:
                answer = await client.get(address)
        except httpx.HTTPError as error:
            log.warning("sns.not_reached", error=str(error) or type(error).__name__)
            raise CertificateUnavailableError from error
        if not answer.is_success or len(answer.content) > MAX_CERTIFICATE_BYTES:
            log.warning("sns.refused", status=answer.status_code)
            if answer.is_server_error or answer.status_code == HTTPStatus.TOO_MANY_REQUESTS:
                raise CertificateUnavailableError
            return None
        return answer.content
