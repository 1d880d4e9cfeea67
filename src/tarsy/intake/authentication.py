"""Authentication of senders: whether a request comes from the sender that it names. All comparisons take the same time, right or wrong.

https://developer.pagerduty.com/docs/webhooks/webhook-signatures
https://docs.sentry.io/organization/integrations/integration-platform/webhooks/
https://grafana.com/docs/grafana/latest/alerting/configure-notifications/manage-contact-points/integrations/webhook-notifier/#hmac-signature
https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
"""

import base64
import hashlib
import hmac
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import assert_never

from tarsy.config.schema.routes import Scheme
from tarsy.intake.delivery import RequestHead
from tarsy.intake.fields import Fields, parse_time
from tarsy.intake.sns import certificate_address

# A captured request is useless after this. Differing clocks and slow networks need less.
MAX_AGE = timedelta(minutes=5)
# SNS delivers a message again for up to an hour, with the time of the first attempt. Its number keeps it from counting twice.
SNS_MAX_AGE = timedelta(hours=1) + MAX_AGE
# For senders that can set neither headers nor a password.
TOKEN_PARAMETER = "token"  # noqa: S105 - a name, not a secret


class Refusal(StrEnum):
    """Why a request is not accepted as its sender's."""

    MISSING = "missing"
    WRONG = "wrong"
    TOO_OLD = "too_old"
    FOREIGN_TOPIC = "foreign_topic"

    @property
    def message(self) -> str:
        return _MESSAGES[self]


_MESSAGES: Mapping[Refusal, str] = {
    Refusal.MISSING: "the sender must authenticate, and sent no credentials",
    Refusal.WRONG: "its token, password or signature is wrong, or the body was changed after signing",
    Refusal.TOO_OLD: "its signed time is too far from the current time",
    Refusal.FOREIGN_TOPIC: "it is for a topic that is not configured",
}


_HEADERS: Mapping[Scheme, str] = {
    Scheme.PAGERDUTY: "x-pagerduty-signature",
    Scheme.SENTRY: "sentry-hook-signature",
    Scheme.GRAFANA: "x-grafana-alerting-signature",
    Scheme.GITHUB: "x-hub-signature-256",
}


@dataclass(frozen=True, slots=True)
class Token:
    """A secret as a bearer token or in the URL. There can be several, so that one can be replaced without a gap."""

    secrets: tuple[str, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Basic:
    username: str
    passwords: tuple[str, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Signature:
    scheme: Scheme
    secrets: tuple[str, ...] = field(repr=False)
    # The header with the signature, if it is not the usual one.
    header: str | None = None
    # Grafana signs the time as well if a header is configured for it.
    timestamp_header: str | None = None


# What a sender must authenticate with, as configured.
SenderCredential = Token | Basic | Signature


def check_sender(required: SenderCredential, head: RequestHead, body: bytes | None, *, now: datetime) -> Refusal | None:
    """Return why a request does not satisfy `required`, or None if it does. Without the body, a signature only has to be present."""
    scheme, _, credential = head.headers.get("authorization", "").partition(" ")
    match required:
        case Token():
            given = [credential.strip()] if scheme.lower() == "bearer" else []
            if TOKEN_PARAMETER in head.query:
                given.append(head.query[TOKEN_PARAMETER])
            return _compare(given, required.secrets)
        case Basic():
            given = list[str]()
            if scheme.lower() == "basic":
                try:
                    given = [base64.b64decode(credential.strip(), validate=True).decode()]
                except ValueError:
                    # A credential was given, and it belongs to no user.
                    given = [""]
            return _compare(given, [f"{required.username}:{password}" for password in required.passwords if password])
        case Signature():
            return _check_signature(required, head, body, now)
        case _:
            assert_never(required)


def check_sns(body: Fields, topics: Collection[str], *, now: datetime) -> Refusal | None:
    """Return why a message of SNS is refused whatever its signature is, so that no certificate is fetched for it."""
    if "Signature" not in body:
        return Refusal.MISSING
    if body.text("TopicArn") not in topics:
        return Refusal.FOREIGN_TOPIC
    if not _is_fresh(body.time("Timestamp"), now, SNS_MAX_AGE):
        return Refusal.TOO_OLD
    return None if certificate_address(body) else Refusal.WRONG


def _check_signature(required: Signature, head: RequestHead, body: bytes | None, now: datetime) -> Refusal | None:
    header = head.headers.get((required.header or _HEADERS[required.scheme]).lower(), "")
    match required.scheme:
        case Scheme.PAGERDUTY:
            # Several signatures while a secret is being replaced.
            parts, prefix = header.split(","), "v1="
        case Scheme.GITHUB:
            parts, prefix = [header], "sha256="
        case Scheme.SENTRY | Scheme.GRAFANA:
            parts, prefix = [header], ""
        case _:
            assert_never(required.scheme)
    trimmed = (part.strip() for part in parts)
    given = [part.removeprefix(prefix).lower() for part in trimmed if part and part.startswith(prefix)]
    if body is None:
        return None if given else Refusal.MISSING
    signed, at = body, now
    if required.timestamp_header:
        stamp = head.headers.get(required.timestamp_header.lower(), "")
        signed, at = stamp.encode() + b":" + signed, parse_time(stamp)
    expected = [hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest() for secret in required.secrets if secret]
    # The signature is checked first: only then is the time the sender's.
    return _compare(given, expected) or (None if _is_fresh(at, now) else Refusal.TOO_OLD)


def _compare(given: Collection[str], expected: Iterable[str]) -> Refusal | None:
    if not given:
        return Refusal.MISSING
    # All pairs are compared, by digests of one length: the time taken reveals nothing about the secrets.
    hits = [hmac.compare_digest(_digest(one), _digest(other)) for other in expected if other for one in given]
    return None if any(hits) else Refusal.WRONG


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _is_fresh(at: datetime | None, now: datetime, limit: timedelta = MAX_AGE) -> bool:
    return at is not None and abs(now - at) <= limit
