"""Google Cloud Monitoring's webhook channel, version 1.2.

https://cloud.google.com/monitoring/support/notification-options#webhooks
"""

from tarsy.domain.alert import Alert, AlertStatus, Links
from tarsy.intake.delivery import Adapter, WebhookRequest
from tarsy.intake.fields import MAX_ANNOTATION, MAX_LABEL, fingerprint, labels, located, severity_of, title

SOURCE = "google-monitoring"


def matches(request: WebhookRequest) -> bool:
    incident = request.body.at("incident")
    return "version" in request.body and "incident_id" in incident and "policy_name" in incident


def parse(request: WebhookRequest) -> Alert | None:
    incident = request.body.at("incident")
    if not incident.text("incident_id", "policy_name", "summary"):
        return None
    resolved = incident.word("state") == "closed"
    policy, place = incident.text("policy_name"), incident.text("resource_display_name", "resource_name")
    group = fingerprint(incident.text("scoping_project_id"), policy, incident.text("condition_name"), place)
    own = incident.picked(alertname="policy_name", condition="condition_name", project="scoping_project_id", severity="severity")
    resource = [*incident.at("resource").labels("labels").items(), ("resource_type", incident.at("resource").text("type"))]
    metric = [*incident.at("metric").labels("labels").items(), ("metric", incident.at("metric").text("type"))]
    links = incident.at("documentation").each("links")
    runbooks = (link.link("url") for link in links if "runbook" in link.word("displayName", "display_name"))
    return Alert(
        source=SOURCE,
        fingerprint=incident.text("incident_id", limit=MAX_LABEL) or group,
        title=title(located(policy, place), incident.text("summary"), fallback="Cloud Monitoring incident"),
        severity=severity_of(incident.text("severity"), incident.at("policy_user_labels").text("severity")),
        status=AlertStatus.RESOLVED if resolved else AlertStatus.FIRING,
        labels=labels([*own.items(), *resource, *metric, *incident.labels("policy_user_labels").items()]),
        annotations=labels(
            [("summary", incident.text("summary")), ("description", incident.at("documentation").text("content"))], MAX_ANNOTATION
        ),
        links=Links(source=incident.link("url"), runbook=next((url for url in runbooks if url), None)),
        starts_at=incident.time("started_at"),
        ends_at=incident.time("ended_at") if resolved else None,
        # Each violation of a policy is an incident of its own.
        group_key=group,
        body=request.text,
    )


ADAPTER = Adapter(SOURCE, matches, parse)
