"""PagerDuty's webhooks, version 3.

https://developer.pagerduty.com/docs/webhooks/v3-overview
"""

import re

from tarsy.domain.alert import Alert, AlertStatus, Links, Severity
from tarsy.intake.delivery import Adapter, Delivery, WebhookRequest
from tarsy.intake.fields import MAX_LABEL, Fields, labels, severity_of, title

SOURCE = "pagerduty"
# Events that change an incident. Notes, responders, public updates and services do not.
_UPDATES = re.compile(r"incident\.(triggered|(un)?acknowledged|escalated|delegated|reassigned|priority_updated|reopened|resolved)")
_URGENCIES = {"high": Severity.HIGH, "low": Severity.WARNING}


def matches(request: WebhookRequest) -> bool:
    event = request.body.at("event")
    return "event_type" in event and "data" in event


def parse(request: WebhookRequest) -> Delivery | None:
    event = request.body.at("event")
    kind = event.word("event_type")
    # Repeated with each attempt to deliver the same webhook.
    delivery_id = request.headers.get("x-webhook-id") or event.text("id", limit=MAX_LABEL) or None
    incident = event.at("data")
    if incident.word("type") in {"", "incident"} and incident.text("id"):
        return Delivery(source=SOURCE, alerts=(_alert(request, event, incident),), delivery_id=delivery_id)
    if _UPDATES.fullmatch(kind) or not kind.startswith(("incident.", "service.", "pagey.")):
        return None
    return Delivery(source=SOURCE, delivery_id=delivery_id, remark=f"{kind} does not say whether anything is wrong")


def _alert(request: WebhookRequest, event: Fields, incident: Fields) -> Alert:
    kind, occurred_at = event.word("event_type"), event.time("occurred_at")
    resolved = kind == "incident.resolved" or incident.word("status") == "resolved"
    priority = severity_of(incident.at("priority").text("summary"))
    urgency = _URGENCIES.get(incident.word("urgency"), Severity.UNKNOWN)
    teams = ", ".join(team.text("summary") for team in incident.each("teams"))
    named = {name: incident.at(name).text("summary") for name in ("service", "priority", "escalation_policy")}
    return Alert(
        source=SOURCE,
        fingerprint=incident.text("id", limit=MAX_LABEL),
        title=title(incident.text("title", "summary"), fallback="PagerDuty incident"),
        severity=urgency if priority is Severity.UNKNOWN else priority,
        status=AlertStatus.RESOLVED if resolved else AlertStatus.FIRING,
        labels=labels([*named.items(), ("team", teams), ("urgency", incident.text("urgency")), ("number", incident.text("number"))]),
        links=Links(source=incident.link("html_url")),
        # An incident that is reopened keeps the time of its creation, in all later events too.
        starts_at=occurred_at if kind == "incident.reopened" else incident.time("created_at"),
        ends_at=occurred_at if resolved else None,
        occurred_at=occurred_at,
        body=request.text,
    )


ADAPTER = Adapter(SOURCE, matches, parse)
