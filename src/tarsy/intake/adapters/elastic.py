"""Kibana's webhook connector: its body is written by the operator from Kibana's action variables; our recipe keeps their names.

https://www.elastic.co/guide/en/kibana/current/rule-action-variables.html
"""

from tarsy.domain.alert import Alert, AlertStatus, Links
from tarsy.intake.delivery import Adapter, WebhookRequest
from tarsy.intake.fields import MAX_ANNOTATION, MAX_LABEL, fingerprint, labels, located, severity_of, tags, title

SOURCE = "elastic"
# Rules without groups give their one alert this name.
_NAMELESS = {"query matched", "*", ""}


def matches(request: WebhookRequest) -> bool:
    return "name" in request.body.at("rule") and "actionGroup" in request.body.at("alert")


def parse(request: WebhookRequest) -> Alert | None:
    if not request.body.at("rule").text("id", "name"):
        return None
    body = request.body
    rule, alert, context = body.at("rule"), body.at("alert"), body.at("context")
    resolved = alert.word("actionGroup") == "recovered"
    name, group = rule.text("name"), alert.text("id", limit=MAX_LABEL)
    group = "" if group.lower() in _NAMELESS else group
    labelled = tags(rule.values.get("tags"))
    at = body.time("date") or context.time("timestamp", "date")
    return Alert(
        source=SOURCE,
        fingerprint=fingerprint(rule.text("id", limit=MAX_LABEL) or name, group),
        title=title(located(name, group), fallback="Kibana rule"),
        severity=severity_of(body.text("severity"), context.text("severity"), labelled.get("severity", ""), alert.text("actionGroupName")),
        status=AlertStatus.RESOLVED if resolved else AlertStatus.FIRING,
        labels=labels([*rule.picked(alertname="name", rule_type="type", space="spaceId").items(), ("group", group), *labelled.items()]),
        annotations=labels([("summary", context.text("reason", "message", "title"))], MAX_ANNOTATION),
        links=Links(source=context.link("alertDetailsUrl", "viewInAppUrl", "link") or rule.link("url")),
        starts_at=None if resolved else at,
        ends_at=at if resolved else None,
        body=request.text,
    )


ADAPTER = Adapter(SOURCE, matches, parse)
