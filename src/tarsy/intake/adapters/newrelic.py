"""New Relic's workflow webhook with its default payload, and the older notification channel's.

https://docs.newrelic.com/docs/alerts/get-notified/notification-integrations/#webhook
https://docs.newrelic.com/docs/alerts-applied-intelligence/new-relic-alerts/advanced-alerts/advanced-techniques/customize-your-webhook-payload/
"""

from tarsy.domain.alert import Alert, AlertStatus, Links
from tarsy.intake.delivery import Adapter, WebhookRequest
from tarsy.intake.fields import MAX_ANNOTATION, MAX_LABEL, fingerprint, labels, severity_of, title

SOURCE = "newrelic"
_ENDINGS = {"closed", "deactivated", "resolved"}


def matches(request: WebhookRequest) -> bool:
    body = request.body
    return ("issueUrl" in body and "state" in body) or ("current_state" in body and "incident_id" in body)


def parse(request: WebhookRequest) -> Alert | None:
    body = request.body
    if not body.text("title", "details", "condition_name", "id", "incident_id"):
        return None
    resolved = body.word("state", "current_state") in _ENDINGS
    headline = body.text("title", "details", "condition_name")
    lists = {"entity": "impactedEntities", "policy": "alertPolicyNames", "condition": "alertConditionNames"}
    joined = {label: body.joined(name) for label, name in lists.items()}
    older = body.picked(policy="policy_name", condition="condition_name", account="account_name", workflow="workflowName")
    targets = [pair for target in body.each("targets") for pair in [("entity", target.text("name")), *target.labels("labels").items()]]
    return Alert(
        source=SOURCE,
        fingerprint=body.text("id", "incident_id", "issueId", limit=MAX_LABEL) or fingerprint(headline),
        title=title(headline, fallback="New Relic issue"),
        severity=severity_of(body.text("priority", "severity")),
        status=AlertStatus.RESOLVED if resolved else AlertStatus.FIRING,
        labels=labels([*joined.items(), *older.items(), *targets]),
        annotations=labels([("description", body.text("details", "condition_description"))], MAX_ANNOTATION),
        links=Links(
            source=body.link("issueUrl", "incident_url"),
            dashboard=body.link("violationChartUrl"),
            runbook=body.link("runbook_url", "runbookUrl"),
        ),
        starts_at=body.time("createdAt", "activatedAt") or (None if resolved else body.time("timestamp")),
        ends_at=body.time("closedAt", "updatedAt", "timestamp") if resolved else None,
        body=request.text,
    )


ADAPTER = Adapter(SOURCE, matches, parse)
