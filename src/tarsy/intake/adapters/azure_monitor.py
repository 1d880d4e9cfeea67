"""Azure Monitor's common alert schema.

https://learn.microsoft.com/en-us/azure/azure-monitor/alerts/alerts-common-schema
"""

from urllib.parse import quote

from tarsy.domain.alert import Alert, AlertStatus, Links
from tarsy.intake.delivery import Adapter, WebhookRequest
from tarsy.intake.fields import MAX_ANNOTATION, MAX_LABEL, Fields, fingerprint, labels, located, severity_of, title, web_address

SOURCE = "azure-monitor"
_PORTAL = "https://portal.azure.com/#view/Microsoft_Azure_Monitoring_Alerts/AlertDetails.ReactView/alertId/"


def matches(request: WebhookRequest) -> bool:
    return request.body.text("schemaId") == "azureMonitorCommonAlertSchema"


def parse(request: WebhookRequest) -> Alert | None:
    essentials = request.body.at("data", "essentials")
    if not essentials.text("alertId", "alertRule"):
        return None
    resolved = essentials.word("monitorCondition") == "resolved"
    rule, targets = essentials.text("alertRule", limit=MAX_LABEL), essentials.joined("alertTargetIDs")
    resource = essentials.joined("configurationItems") or targets.rpartition("/")[2]
    # Named by the alert, not by the rule: a rule can fire for several dimensions of one resource.
    identity = essentials.text("alertId", "originAlertId", limit=MAX_LABEL) or fingerprint(rule, targets)
    alert_id = essentials.text("alertId", limit=MAX_LABEL)
    portal = web_address(_PORTAL + quote(alert_id, safe="")) if alert_id else None
    return Alert(
        source=SOURCE,
        fingerprint=identity,
        title=title(located(rule, resource), fallback="Azure Monitor alert"),
        severity=severity_of(essentials.text("severity")),
        status=AlertStatus.RESOLVED if resolved else AlertStatus.FIRING,
        labels=_labels(request, essentials, resource),
        annotations=labels([("description", essentials.text("description"))], MAX_ANNOTATION),
        links=Links(source=essentials.link("investigationLink") or portal),
        starts_at=essentials.time("firedDateTime"),
        ends_at=essentials.time("resolvedDateTime") if resolved else None,
        # Each firing of a rule is an alert of its own.
        group_key=fingerprint(rule, targets),
        body=request.text,
    )


def _labels(request: WebhookRequest, essentials: Fields, resource: str) -> dict[str, str]:
    context = request.body.at("data", "alertContext")
    dimensions = [
        (item.text("name"), item.text("value"))
        for criterion in context.at("condition").each("allOf")
        for item in criterion.each("dimensions")
    ]
    own = essentials.picked(alertname="alertRule", signal="signalType", monitoring_service="monitoringService", severity="severity")
    target = essentials.joined("alertTargetIDs").lower().split("/")
    group = target[target.index("resourcegroups") + 1] if "resourcegroups" in target[:-1] else ""
    custom = request.body.at("data").labels("customProperties")
    return labels([*own.items(), ("resource", resource), ("resource_group", group), *dimensions, *custom.items()])


ADAPTER = Adapter(SOURCE, matches, parse)
