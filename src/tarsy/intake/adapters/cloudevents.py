"""CloudEvents over HTTP, version 1: structured, binary and batched. Deployments (CDEvents) are changes, everything else is an alert.

https://github.com/cloudevents/spec/blob/main/cloudevents/bindings/http-protocol-binding.md
https://github.com/cdevents/spec/blob/main/continuous-deployment.md
"""

import base64
import re
from typing import Any, cast
from urllib.parse import unquote

from tarsy.domain.alert import Alert, AlertStatus, Change, ChangeOutcome, Links, alert_title
from tarsy.intake.delivery import Adapter, Delivery, WebhookRequest
from tarsy.intake.fields import MAX_ALERTS, MAX_ANNOTATION, MAX_LABEL, Fields, as_body, fingerprint, labels, parse_json, severity_of, title

SOURCE = "cloudevents"
_CHANGES = "dev.cdevents."
_ENDINGS = {"resolved", "recovered", "closed", "cleared", "ok"}
# A type that ends with one of them: `alert.resolved`, `AlertResolved`, `state.ok`, but neither `issue.unresolved` nor `webhook`.
_ENDING_TYPE = re.compile(r"(?i:(?<!un)(?:resolved|recovered|closed|cleared)|(?<![a-z])ok)$|(?<=[a-z])O[kK]$")
_ATTRIBUTES = {"specversion", "id", "source", "type", "subject", "time", "datacontenttype", "dataschema", "data", "data_base64"}
# The value of a header in quotes, and an escaped character in it.
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPED = re.compile(r"\\(.)")


def matches(request: WebhookRequest) -> bool:
    events = _events(request)
    return bool(events) and all(name in event for event in events for name in ("specversion", "id", "source", "type"))


def _events(request: WebhookRequest) -> list[Fields]:
    """Return the events of a request that are kept, each with its attributes and its data."""
    headers = request.headers
    if "ce-specversion" in headers:
        attributes: dict[str, Any] = {
            name.removeprefix("ce-"): _decoded(value) for name, value in headers.items() if name.startswith("ce-")
        }
        return [Fields({**attributes, "data": request.text if request.value is None else request.value})]
    value: Any = request.value
    items = cast("list[Any]", value) if isinstance(value, list) else [value]
    return [Fields.of(item) for item in items[:MAX_ALERTS]]


def _decoded(value: str) -> str:
    """Return the value of an attribute from that of its header, as section 3.1.3.2 of the HTTP binding says."""
    if quoted := _QUOTED.fullmatch(value):
        value = _ESCAPED.sub(r"\1", quoted[1])
    return unquote(value)


def parse(request: WebhookRequest) -> Delivery | None:
    events = _events(request)
    if not any(event.text("type") or event.text("source") for event in events):
        return None
    value: Any = request.value
    left_out = max(0, len(cast("list[Any]", value)) - MAX_ALERTS) if isinstance(value, list) else 0
    # An event is the same as another when source and id are.
    ids = fingerprint(*(event.text(name, limit=MAX_LABEL) for event in events for name in ("source", "id")))
    return Delivery(
        source=SOURCE,
        alerts=tuple(_alert(request, event) for event in events if not _is_change(event)),
        changes=tuple(_change(request, event) for event in events if _is_change(event)),
        delivery_id=ids if all(event.text("id") for event in events) else None,
        truncated=left_out,
    )


def _is_change(event: Fields) -> bool:
    return event.text("type").startswith(_CHANGES)


def _alert(request: WebhookRequest, event: Fields) -> Alert:
    data, kind, subject = _data(event), event.text("type", limit=MAX_LABEL), event.text("subject", limit=MAX_LABEL)
    resolved = data.word("status", "state") in _ENDINGS or _ENDING_TYPE.search(kind) is not None
    origin = event.text("source", limit=MAX_LABEL)
    identity = data.text("fingerprint", limit=MAX_LABEL) or subject or kind
    at, content = event.time("time"), event.values.get("data")
    plain = alert_title(content, "") if isinstance(content, str) else ""
    own = event.picked(event_source="source", event_type="type", subject="subject")
    extensions = [(name, value) for name, value in event.values.items() if name not in _ATTRIBUTES]
    return Alert(
        source=SOURCE,
        fingerprint=fingerprint(origin, identity),
        title=title(data.text("title", "summary", "message", "name"), plain, f"{subject} {kind}", fallback="Event"),
        severity=severity_of(data.text("severity"), event.text("severity"), data.text("priority", "level")),
        status=AlertStatus.RESOLVED if resolved else AlertStatus.FIRING,
        labels=labels([*data.labels("labels").items(), *own.items(), *extensions]),
        annotations=labels([("description", data.text("description", "details"))], MAX_ANNOTATION),
        links=Links(source=data.link("url", "link", "html_url"), runbook=data.link("runbook_url", "runbook")),
        starts_at=None if resolved else data.time("starts_at", "startsAt") or at,
        ends_at=data.time("ends_at", "endsAt") or at if resolved else None,
        body=as_body(event.values, request.text),
    )


def _data(event: Fields) -> Fields:
    encoded = event.values.get("data_base64")
    if not isinstance(encoded, str):
        return event.at("data")
    try:
        return Fields.of(parse_json(base64.b64decode(encoded).decode()))
    except ValueError:
        return Fields({})


def _change(request: WebhookRequest, event: Fields) -> Change:
    data, kind = _data(event), event.text("type", limit=MAX_LABEL)
    subject = data.at("subject")
    service, words = subject.text("id") or event.text("subject"), kind.removeprefix(_CHANGES).split(".")
    environment = subject.at("content", "environment").text("id")
    return Change(
        source=SOURCE,
        fingerprint=fingerprint(event.text("source", limit=MAX_LABEL), event.text("id", limit=MAX_LABEL)),
        title=title(
            " ".join(part for part in (service, *words[1:2], f"in {environment}" if environment else "") if part), kind, fallback="Change"
        ),
        outcome=ChangeOutcome.SUCCEEDED if words[1:2] in (["deployed"], ["upgraded"], ["rolledback"]) else ChangeOutcome.UNKNOWN,
        labels=labels([("service", service), ("environment", environment), ("artifact", subject.at("content").text("artifactId"))]),
        at=event.time("time") or data.at("context").time("timestamp"),
        body=as_body(event.values, request.text),
    )


ADAPTER = Adapter(SOURCE, matches, parse)
