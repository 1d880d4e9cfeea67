"""Dynatrace's custom integration for problem notifications: the placeholders under their own names.

https://docs.dynatrace.com/docs/analyze-explore-automate/notifications-and-alerting/problem-notifications/webhook-integration
"""

from tarsy.domain.alert import Alert, AlertStatus, Links
from tarsy.intake.delivery import Adapter, WebhookRequest
from tarsy.intake.fields import MAX_ANNOTATION, MAX_LABEL, Fields, fingerprint, labels, located, plain_text, severity_of, tags, title

SOURCE = "dynatrace"
# A problem that was merged goes on as part of another one.
_ENDINGS = {"resolved", "closed", "merged"}
_SEVERITIES = {"availability": "critical", "monitoring_unavailable": "high", "resource_contention": "warning", "slowdown": "warning"}


def matches(request: WebhookRequest) -> bool:
    return "ProblemID" in request.body and "State" in request.body


def parse(request: WebhookRequest) -> Alert | None:
    if not request.body.text("ProblemID", "PID", "ProblemTitle"):
        return None
    body, details = request.body, request.body.at("ProblemDetailsJSON")
    resolved = body.word("State") in _ENDINGS
    name, entity = body.text("ProblemTitle"), _entity(body)
    severity = body.word("ProblemSeverity")
    own = body.picked(problem="ProblemID", impact="ProblemImpact", category="ProblemSeverity")
    return Alert(
        source=SOURCE,
        fingerprint=body.text("PID", "ProblemID", limit=MAX_LABEL) or fingerprint(name, entity),
        title=title(located(name, entity), fallback="Dynatrace problem"),
        severity=severity_of(_SEVERITIES.get(severity, severity)),
        status=AlertStatus.RESOLVED if resolved else AlertStatus.FIRING,
        labels=labels([("entity", entity), *own.items(), *tags(body.values.get("Tags")).items()]),
        annotations=labels([("description", body.text("ProblemDetailsText"))], MAX_ANNOTATION),
        links=Links(source=body.link("ProblemURL")),
        starts_at=body.time("ProblemStartTime") or details.time("startTime"),
        ends_at=(body.time("ProblemEndTime") or details.time("endTime")) if resolved else None,
        body=request.text,
    )


def _entity(body: Fields) -> str:
    """The name of what is impacted; the placeholder for a single one holds a sentence, such as "Service on cart"."""
    listed = body.list("ImpactedEntities")
    names = [Fields.of(item).text("name") or plain_text(item, MAX_LABEL) for item in listed[:3]]
    return (
        body.text("ImpactedEntityNames", limit=MAX_LABEL)
        or ", ".join(name for name in names if name)
        or body.text("ImpactedEntity", limit=MAX_LABEL)
    )


ADAPTER = Adapter(SOURCE, matches, parse)
