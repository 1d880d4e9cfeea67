"""Grafana Alerting's webhook contact point.

https://grafana.com/docs/grafana/latest/alerting/configure-notifications/manage-contact-points/integrations/webhook-notifier/
"""

from dataclasses import replace

from tarsy.domain.alert import Alert
from tarsy.intake.adapters.alertmanager import is_group, parse_group, problem_title
from tarsy.intake.delivery import Adapter, Delivery, WebhookRequest

SOURCE = "grafana"
# The names of alerts about rules that Grafana could not evaluate. The rule's own name is in another label.
_UNEVALUATED = {"DatasourceNoData": "No data", "DatasourceError": "Rule cannot be evaluated"}


def matches(request: WebhookRequest) -> bool:
    return is_group(request.body) and "orgId" in request.body


def parse(request: WebhookRequest) -> Delivery | None:
    delivery = parse_group(request, SOURCE)
    if delivery is None:
        return None
    alerts: list[Alert] = []
    for alert in delivery.alerts:
        name, rule = _UNEVALUATED.get(alert.labels.get("alertname", "")), alert.labels.get("rulename", "")
        named = {**alert.labels, "alertname": f"{name}: {rule}" if rule else name or ""}
        alerts.append(replace(alert, title=problem_title(named, {})) if name else alert)
    return replace(delivery, alerts=tuple(alerts))


ADAPTER = Adapter(SOURCE, matches, parse, repeats=True)
