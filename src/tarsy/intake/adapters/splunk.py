"""Splunk's webhook alert action. It sends the first row of the search's results, and never reports that an alert is resolved.

https://help.splunk.com/en/splunk-enterprise/alert-and-respond/alerting-manual/10.0/configure-alert-actions/use-a-webhook-alert-action
"""

from tarsy.domain.alert import Alert, AlertStatus, Links
from tarsy.intake.delivery import Adapter, WebhookRequest
from tarsy.intake.fields import MAX_LABEL, fingerprint, labels, located, severity_of, title

SOURCE = "splunk"


def matches(request: WebhookRequest) -> bool:
    return "sid" in request.body and "results_link" in request.body and "search_name" in request.body


def parse(request: WebhookRequest) -> Alert | None:
    if not request.body.text("sid", "search_name"):
        return None
    body, row = request.body, request.body.at("result")
    search, app = body.text("search_name", limit=MAX_LABEL), body.text("app", limit=MAX_LABEL)
    host = row.text("host", "dest", "service", limit=MAX_LABEL)
    name = search or (f"Splunk search in {app}" if app else "")
    # Names with an underscore are Splunk's own, such as the raw event.
    fields = [(name, value) for name, value in row.values.items() if not name.startswith("_")]
    return Alert(
        source=SOURCE,
        # The id of the search (sid) is another one each time it runs.
        fingerprint=fingerprint(app, name, host),
        title=title(located(name, host), fallback="Splunk alert"),
        severity=severity_of(row.text("severity"), row.text("urgency"), row.text("priority")),
        status=AlertStatus.FIRING,
        labels=labels([("alertname", search), ("app", app), ("owner", body.text("owner")), *fields]),
        links=Links(source=body.link("results_link")),
        starts_at=row.time("_time"),
        body=request.text,
    )


ADAPTER = Adapter(SOURCE, matches, parse, sends_resolved=False)
