"""Pure module: whether a request comes from the sender it is said to come from. Every comparison takes the same time, right or wrong.

https://developer.pagerduty.com/docs/webhooks/webhook-signatures
https://docs.sentry.io/organization/integrations/integration-platform/webhooks/
https://grafana.com/docs/grafana/latest/alerting/configure-notifications/manage-contact-points/integrations/webhook-notifier/#hmac-signature
https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import assert_never

from tarsy.config.schema.routes import Scheme
from tarsy.intake.delivery import WebhookRequest
from tarsy.intake.fields import Fields, moment
from tarsy.intake.sns import is_signed

# A request that was overheard is of no use after this; clocks that differ, and a slow way, take less.
MAX_AGE = timedelta(minutes=5)
# For senders that can set neither headers nor a password.
TOKEN_PARAMETER = "token"  # noqa: S105 - a name, not a secret


class Refusal(StrEnum):
    """Why a request is not its sender's; what the caller is told, and what is counted."""

    MISSING = "missing"
    WRONG = "wrong"
    TOO_OLD = "too_old"
    FOREIGN_TOPIC = "foreign_topic"

    @property
    def message(self) -> str:
        return _MESSAGES[self]


_MESSAGES: Mapping[Refusal, str] = {
    Refusal.MISSING: "the sender has to prove who it is, and showed nothing",
    Refusal.WRONG: "what the sender showed as its proof is not right",
    Refusal.TOO_OLD: "it was signed more than five minutes ago",
    Refusal.FOREIGN_TOPIC: "it is signed, but for a topic that is not configured",
}


_HEADERS: Mapping[Scheme, str] = {
    Scheme.PAGERDUTY: "x-pagerduty-signature",
    Scheme.SENTRY: "sentry-hook-signature",
    Scheme.GRAFANA: "x-grafana-alerting-signature",
    Scheme.GITHUB: "x-hub-signature-256",
}


@dataclass(frozen=True, slots=True)
class Token:
    """A secret as bearer, or in the address. Several, so that one can be replaced without a gap."""

    secrets: tuple[str, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Basic:
    username: str
    passwords: tuple[str, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Signature:
    scheme: Scheme
    secrets: tuple[str, ...] = field(repr=False)
    # Where the signature is, if the sender was told another place than its usual one.
    header: str | None = None
    # Grafana signs the time as well if it was told a header for it.
    timestamp_header: str | None = None


Proof = Token | Basic | Signature


def check_sender(proof: Proof, request: WebhookRequest, *, now: datetime) -> Refusal | None:
    """Why `request` does not prove what `proof` asks for; None if it does."""
    match proof:
        case Token():
            return _compared(_tokens(request), proof.secrets)
        case Basic():
            return _compared(_basic(request), [f"{proof.username}:{password}" for password in proof.passwords if password])
        case Signature():
            return _check_signature(proof, request, now)
        case _:
            assert_never(proof)


def check_sns(body: Fields, certificate: bytes, topics: Collection[str], *, now: datetime) -> Refusal | None:
    """As `check_sender`, for SNS, which signs with a certificate that was fetched from its own address."""
    if "Signature" not in body:
        return Refusal.MISSING
    if not is_signed(body, certificate, now=now):
        return Refusal.WRONG
    if body.text("TopicArn") not in topics:
        return Refusal.FOREIGN_TOPIC
    return None if _is_fresh(body.time("Timestamp"), now) else Refusal.TOO_OLD


def _tokens(request: WebhookRequest) -> list[str]:
    scheme, _, credential = request.headers.get("authorization", "").partition(" ")
    given = [credential.strip()] if scheme.lower() == "bearer" else []
    return [*given, *([request.query[TOKEN_PARAMETER]] if TOKEN_PARAMETER in request.query else [])]


def _basic(request: WebhookRequest) -> list[str]:
    scheme, _, credential = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return []
    try:
        return [base64.b64decode(credential.strip(), validate=True).decode()]
    except (ValueError, binascii.Error):
        # Something was presented, and it is no user's.
        return [""]


def _check_signature(proof: Signature, request: WebhookRequest, now: datetime) -> Refusal | None:
    given = _signatures(proof.scheme, request.headers.get((proof.header or _HEADERS[proof.scheme]).lower(), ""))
    signed, at = request.raw, now
    if proof.timestamp_header:
        stamp = request.headers.get(proof.timestamp_header.lower(), "")
        signed, at = stamp.encode() + b":" + signed, moment(stamp)
    expected = [hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest() for secret in proof.secrets if secret]
    refused = _compared(given, expected)
    # The time is believed only after the signature: both are the sender's, or neither.
    return refused or (None if _is_fresh(at, now) else Refusal.TOO_OLD)


def _signatures(scheme: Scheme, header: str) -> list[str]:
    """The digests in a header; PagerDuty sends several while a secret is being replaced."""
    match scheme:
        case Scheme.PAGERDUTY:
            parts, prefix = header.split(","), "v1="
        case Scheme.GITHUB:
            parts, prefix = [header], "sha256="
        case Scheme.SENTRY | Scheme.GRAFANA:
            parts, prefix = [header], ""
        case _:
            assert_never(scheme)
    trimmed = (part.strip() for part in parts)
    return [part.removeprefix(prefix).lower() for part in trimmed if part and part.startswith(prefix)]


def _compared(given: Collection[str], expected: Iterable[str]) -> Refusal | None:
    if not given:
        return Refusal.MISSING
    # Every pair is looked at, and by digests of one length: the time tells nothing of what was right.
    hits = [hmac.compare_digest(_digest(one), _digest(other)) for other in expected if other for one in given]
    return None if any(hits) else Refusal.WRONG


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _is_fresh(at: datetime | None, now: datetime) -> bool:
    return at is not None and abs(now - at) <= MAX_AGE
