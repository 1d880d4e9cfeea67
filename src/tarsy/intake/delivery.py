"""The request of a monitoring system, and the alerts and changes that an adapter reads from it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

from tarsy.domain.alert import Alert, Change, ChangeOutcome
from tarsy.intake.fields import Fields

_FORM = "application/x-www-form-urlencoded"
# Senders use one.
_FORM_FIELDS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """What a sender sent. Header names are in lower case."""

    text: str
    # None when the text is not JSON.
    value: Any = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def body(self) -> Fields:
        """The fields of the body; none if it is not a JSON object."""
        return Fields.of(self.value)


def receive(text: str, headers: Mapping[str, str] | None = None) -> Received:
    """Read a request. What cannot be read as JSON, also because it is nested too deeply, is text."""
    named = {name.lower(): content for name, content in (headers or {}).items()}
    sent = _payload(text) if named.get("content-type", "").lower().startswith(_FORM) else text
    try:
        value = json.loads(sent)
    except (ValueError, RecursionError):
        value = None
    return Received(text=sent, value=value, headers=named)


def _payload(form: str) -> str:
    """The field in which senders put JSON when they are told to send forms, which GitHub is unless it is told otherwise."""
    try:
        return parse_qs(form, max_num_fields=_FORM_FIELDS).get("payload", [form])[0]
    except ValueError:
        return form


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What a request says. At least one of its parts says something: no request is without meaning."""

    source: str
    alerts: tuple[Alert, ...] = ()
    changes: tuple[Change, ...] = ()
    # The same again when the sender repeats this very request; None if the sender has no such thing.
    delivery_id: str | None = None
    # How many further alerts the sender, or our limit, left out.
    truncated: int = 0
    # Why there is neither an alert nor a change in it: a ping, a comment, a handshake.
    remark: str | None = None


@dataclass(frozen=True, slots=True)
class Adapter:
    source: str
    # By shape alone: true for this sender's bodies and for no other's.
    recognises: Callable[[Received], bool]
    # What a body says, often a single thing; None when it holds nothing of what this sender says: it is a plain text then.
    read: Callable[[Received], Delivery | Alert | Change | None]
    # Whether it tells when something is over. What others said is over after a long silence.
    says_resolved: bool = True

    def deliver(self, received: Received) -> Delivery | None:
        match said := self.read(received):
            case Alert():
                return Delivery(source=self.source, alerts=(said,))
            case Change():
                return Delivery(source=self.source, changes=(said,))
            case _:
                return said


def outcomes(*, started: str, succeeded: str, failed: str) -> dict[str, ChangeOutcome]:
    """What the words of a sender mean."""
    words = {ChangeOutcome.STARTED: started, ChangeOutcome.SUCCEEDED: succeeded, ChangeOutcome.FAILED: failed}
    return {word: outcome for outcome, said in words.items() for word in said.split()}
