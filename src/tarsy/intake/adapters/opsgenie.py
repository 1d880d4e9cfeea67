"""Opsgenie's (and Jira Service Management's) outgoing webhook.

https://support.atlassian.com/opsgenie/docs/integrate-opsgenie-with-outgoing-webhooks/
"""

from tarsy.domain.alert import Alert, AlertStatus
from tarsy.intake.delivery import Adapter, WebhookRequest
from tarsy.intake.fields import MAX_ANNOTATION, MAX_LABEL, labels, severity_of, tags, title

SOURCE = "opsgenie"
_ENDINGS = {"close", "delete"}


def matches(request: WebhookRequest) -> bool:
    return "action" in request.body and "alertId" in request.body.at("alert")


def parse(request: WebhookRequest) -> Alert | None:
    alert = request.body.at("alert")
    # Opsgenie itself identifies problems by the alias.
    identity = alert.text("alias", "alertId", limit=MAX_LABEL)
    if not identity:
        return None
    resolved = request.body.word("action") in _ENDINGS
    own = alert.picked(entity="entity", origin="source", priority="priority", number="tinyId")
    return Alert(
        source=SOURCE,
        fingerprint=identity,
        title=title(alert.text("message"), fallback="Opsgenie alert"),
        severity=severity_of(alert.text("priority")),
        status=AlertStatus.RESOLVED if resolved else AlertStatus.FIRING,
        labels=labels([*alert.labels("details").items(), *own.items(), *tags(alert.list("tags")).items()]),
        annotations=labels([("description", alert.text("description"))], MAX_ANNOTATION),
        starts_at=alert.time("createdAt"),
        ends_at=alert.time("updatedAt") if resolved else None,
        body=request.text,
    )


ADAPTER = Adapter(SOURCE, matches, parse)
