"""Grafana Alerting's webhook contact point.

https://grafana.com/docs/grafana/latest/alerting/configure-notifications/manage-contact-points/integrations/webhook-notifier/
"""

from dataclasses import replace

from tarsy.domain.alert import Alert
from tarsy.intake.adapters.alertmanager import is_group, problem_title, read_group
from tarsy.intake.delivery import Adapter, Delivery, WebhookRequest

SOURCE = "grafana"
# What Grafana calls a rule that it could not evaluate; the rule's own name is in another label then.
_UNEVALUATED = {"DatasourceNoData": "No data", "DatasourceError": "Rule cannot be evaluated"}


def recognises(request: WebhookRequest) -> bool:
    return is_group(request.body) and "orgId" in request.body


def read(request: WebhookRequest) -> Delivery | None:
    delivery = read_group(request, SOURCE)
    return replace(delivery, alerts=tuple(_named(alert) for alert in delivery.alerts)) if delivery else None


def _named(alert: Alert) -> Alert:
    trouble = _UNEVALUATED.get(alert.labels.get("alertname", ""))
    if not trouble:
        return alert
    rule = alert.labels.get("rulename", "")
    return replace(alert, title=problem_title({**alert.labels, "alertname": f"{trouble}: {rule}" if rule else trouble}, {}))


ADAPTER = Adapter(SOURCE, recognises, read)
