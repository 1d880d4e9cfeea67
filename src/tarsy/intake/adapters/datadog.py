"""Datadog's webhooks: its default payload, and the fields that our recipe adds to it.

https://docs.datadoghq.com/integrations/webhooks/
"""

import re

from tarsy.domain.alert import Alert, AlertStatus, Links, Severity
from tarsy.intake.delivery import Adapter, WebhookRequest
from tarsy.intake.fields import MAX_ANNOTATION, MAX_LABEL, fingerprint, labels, located, severity_of, tags, title

SOURCE = "datadog"
# Datadog puts the transition, and the group it is about, before the monitor's name: "[Triggered on {host:web-1}] Disk is full".
_TRANSITION = re.compile(
    r"\s*\[(?P<word>re-triggered|triggered|recovered|re-warn|warn|re-no data|no data|renotify|p\d)(?: on \{(?P<scope>[^}\]]*)\})?[^\]]*\]\s*",
    re.IGNORECASE,
)
_SEVERITIES = {"triggered": Severity.HIGH, "warn": Severity.WARNING, "no data": Severity.WARNING}


def matches(request: WebhookRequest) -> bool:
    body = request.body
    return "event_type" in body and "last_updated" in body and ("org" in body or "alert_transition" in body)


def parse(request: WebhookRequest) -> Alert | None:
    body = request.body
    if not body.text("title", "alert_title", "alert_id"):
        return None
    name, transition, scope = body.text("title", "alert_title"), "", ""
    while found := _TRANSITION.match(name):
        word = found["word"].lower()
        transition, scope = transition or ("" if word.startswith("p") else word), scope or found["scope"] or ""
        name = name[found.end() :]
    transition = body.word("alert_transition") or transition
    scope = body.text("alert_scope", limit=MAX_LABEL) or scope
    priority = severity_of(body.text("alert_priority"))
    by_transition = _SEVERITIES.get(transition.removeprefix("re-"), severity_of(body.text("alert_type")))
    resolved = transition.startswith("recovered")
    at = body.time("date", "last_updated")
    own = body.picked(monitor="alert_id", host="hostname", metric="alert_metric", priority="alert_priority")
    return Alert(
        source=SOURCE,
        # A monitor sends alerts for each of its groups.
        fingerprint=fingerprint(body.text("alert_id", limit=MAX_LABEL) or name, scope),
        title=title(located(name, ", ".join(tags(scope).values())), fallback="Datadog monitor"),
        severity=by_transition if priority is Severity.UNKNOWN else priority,
        status=AlertStatus.RESOLVED if resolved else AlertStatus.FIRING,
        labels=labels([*tags(body.values.get("tags")).items(), *tags(scope).items(), *own.items()]),
        annotations=labels([("description", body.text("body"))], MAX_ANNOTATION),
        links=Links(source=body.link("link"), dashboard=body.link("snapshot")),
        starts_at=None if resolved else at,
        ends_at=at if resolved else None,
        body=request.text,
    )


ADAPTER = Adapter(SOURCE, matches, parse)
