"""A webhook request: its head, its parsed body, and the alerts and changes that an adapter finds in that."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

from tarsy.domain.alert import Alert, Change, ChangeOutcome
from tarsy.intake.fields import Fields, parse_json

_FORM = "application/x-www-form-urlencoded"
# Senders use one.
_MAX_FORM_FIELDS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestHead:
    """A webhook request before its body is read. Nothing in it is trusted but the author. Header names are in lower case."""

    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    query: Mapping[str, str] = field(default_factory=dict[str, str])
    # The sender that the URL names.
    source: str | None = None
    # The caller as the API authenticated it; None if it could not.
    author: str | None = None
    # Set in the URL; they replace those of the route and of the alert.
    alert_type: str | None = None
    runbook_url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookRequest:
    """The parsed body of a webhook request, with its headers. Nothing in it is trusted. Header names are in lower case."""

    # The body, or the field of a form that holds it.
    text: str
    # `text` as JSON; None if it is not JSON.
    value: Any = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def body(self) -> Fields:
        """The fields of the body; empty if it is not a JSON object."""
        return Fields.of(self.value)


def parse_request(text: str, headers: Mapping[str, str] | None = None) -> WebhookRequest:
    """Parse a body. A form is replaced by its `payload` field, which is what GitHub sends unless it is configured to send JSON.

    Raises:
        TooManyValuesError: it is JSON of too many values, or an object of it has too many fields.
    """
    named = {name.lower(): content for name, content in (headers or {}).items()}
    if named.get("content-type", "").lower().startswith(_FORM):
        with suppress(ValueError):
            text = parse_qs(text, max_num_fields=_MAX_FORM_FIELDS).get("payload", [text])[0]
    return WebhookRequest(text=text, value=parse_json(text), headers=named)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """The content of a request: at least one alert, one change, or a remark."""

    source: str
    alerts: tuple[Alert, ...] = ()
    changes: tuple[Change, ...] = ()
    # The same when the sender repeats this request; None if the sender does not number its requests.
    delivery_id: str | None = None
    # The number of further alerts that the sender, or TARSy's limit, left out.
    truncated: int = 0
    # Why there is neither an alert nor a change: a ping, a comment, a handshake.
    remark: str | None = None


@dataclass(frozen=True, slots=True)
class Adapter:
    """Parses the requests of one monitoring system."""

    source: str
    # By shape alone: true for this sender's bodies and for no other's.
    matches: Callable[[WebhookRequest], bool]
    # None if the body holds nothing that this sender sends; it is then one alert in plain text.
    parse: Callable[[WebhookRequest], Delivery | Alert | Change | None]
    # Whether it reports that an alert is resolved. Alerts of other senders are resolved after a timeout.
    sends_resolved: bool = True
    # Whether it sends a firing alert again and again, with the time at which it started.
    repeats: bool = False


def outcomes(*, started: str, succeeded: str, failed: str) -> dict[str, ChangeOutcome]:
    """Map the words of a sender, separated by spaces, to outcomes of a change."""
    words = {ChangeOutcome.STARTED: started, ChangeOutcome.SUCCEEDED: succeeded, ChangeOutcome.FAILED: failed}
    return {word: outcome for outcome, listed in words.items() for word in listed.split()}
