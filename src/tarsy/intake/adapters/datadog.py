"""Datadog's webhooks: its default payload, and the fields that our recipe adds to it.

https://docs.datadoghq.com/integrations/webhooks/
"""

import re
from dataclasses import dataclass

from tarsy.domain.alert import Alert, AlertStatus, Links, Severity
from tarsy.intake.delivery import Adapter, WebhookRequest
from tarsy.intake.fields import MAX_ANNOTATION, MAX_LABEL, Fields, fingerprint, labels, located, severity_of, tags, title

SOURCE = "datadog"
# Datadog puts the transition, and the group it is about, before the monitor's name: "[Triggered on {host:web-1}] Disk is full".
_TRANSITION = re.compile(
    r"\s*\[(?P<word>re-triggered|triggered|recovered|re-warn|warn|re-no data|no data|renotify|p\d)(?: on \{(?P<scope>[^}\]]*)\})?[^\]]*\]\s*",
    re.IGNORECASE,
)
_SEVERITIES = {"triggered": Severity.HIGH, "warn": Severity.WARNING, "no data": Severity.WARNING}


def recognises(request: WebhookRequest) -> bool:
    body = request.body
    return "event_type" in body and "last_updated" in body and ("org" in body or "alert_transition" in body)


def read(request: WebhookRequest) -> Alert | None:
    body = request.body
    return _alert(request, body) if body.text("title", "alert_title", "alert_id") else None


def _alert(request: WebhookRequest, body: Fields) -> Alert:
    headline = _headline(body.text("title", "alert_title"))
    transition = body.word("alert_transition") or headline.transition
    scope = body.text("alert_scope", limit=MAX_LABEL) or headline.scope
    resolved = transition.startswith("recovered")
    at = body.time("date", "last_updated")
    return Alert(
        source=SOURCE,
        # A monitor speaks for each of its groups apart.
        fingerprint=fingerprint(body.text("alert_id", limit=MAX_LABEL) or headline.text, scope),
        title=title(located(headline.text, ", ".join(tags(scope).values())), fallback="Datadog monitor"),
        severity=_severity(body, transition),
        status=AlertStatus.RESOLVED if resolved else AlertStatus.FIRING,
        labels=_labels(body, scope),
        annotations=labels([("description", body.text("body"))], MAX_ANNOTATION),
        links=Links(source=body.link("link"), dashboard=body.link("snapshot")),
        starts_at=None if resolved else at,
        ends_at=at if resolved else None,
        body=request.text,
    )


@dataclass(frozen=True, slots=True)
class _Headline:
    text: str
    transition: str = ""
    scope: str = ""


def _headline(text: str) -> _Headline:
    """The monitor's name, and what stands in brackets before it."""
    transition = scope = ""
    while found := _TRANSITION.match(text):
        word = found["word"].lower()
        transition, scope = transition or ("" if word.startswith("p") else word), scope or found["scope"] or ""
        text = text[found.end() :]
    return _Headline(text, transition, scope)


def _severity(body: Fields, transition: str) -> Severity:
    told = severity_of(body.text("alert_priority"))
    if told is not Severity.UNKNOWN:
        return told
    return _SEVERITIES.get(transition.removeprefix("re-"), severity_of(body.text("alert_type")))


def _labels(body: Fields, scope: str) -> dict[str, str]:
    own = body.picked(monitor="alert_id", host="hostname", metric="alert_metric", priority="alert_priority")
    return labels([*tags(body.values.get("tags")).items(), *tags(scope).items(), *own.items()])


ADAPTER = Adapter(SOURCE, recognises, read)
