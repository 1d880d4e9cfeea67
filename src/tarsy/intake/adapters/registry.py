"""Pure module: a body of no known shape is one alert, word for word."""

from collections.abc import Mapping
from types import MappingProxyType

from tarsy.domain.alert import Alert, AlertStatus, Severity, alert_title
from tarsy.intake.adapters import (
    alertmanager,
    argocd,
    azure_monitor,
    change,
    cloudevents,
    cloudwatch,
    datadog,
    dynatrace,
    elastic,
    github,
    google_monitoring,
    grafana,
    newrelic,
    opsgenie,
    pagerduty,
    sentry,
    splunk,
    zabbix,
)
from tarsy.intake.adapters.generic import GenericMapping, read_mapped
from tarsy.intake.delivery import Adapter, Delivery, WebhookRequest
from tarsy.intake.fields import fingerprint, title
from tarsy.kit.text import whole_characters

# Where an alert comes from when neither its address nor its shape tells.
UNTOLD = "webhook"


def read_plain(request: WebhookRequest, source: str = UNTOLD) -> Delivery:
    """One alert that fires. The same text again is the same alert again."""
    body = whole_characters(request.text).replace("\0", "")
    alert = Alert(
        source=source,
        fingerprint=fingerprint(source, body),
        title=title(_headline(request, body), fallback=f"Alert from {source}"),
        severity=Severity.UNKNOWN,
        status=AlertStatus.FIRING,
        body=body,
    )
    return Delivery(source=source, alerts=(alert,))


def _headline(request: WebhookRequest, body: str) -> str:
    found = alert_title(body, "")
    # Data in which no field is a title begins like data: no person would call a problem that.
    return "" if isinstance(request.value, list | dict) and found.startswith(("[", "{")) else found


_MODULES = (
    # An event says by itself what it is, whatever its data looks like.
    cloudevents,
    alertmanager,
    grafana,
    pagerduty,
    opsgenie,
    datadog,
    newrelic,
    cloudwatch,
    azure_monitor,
    google_monitoring,
    sentry,
    zabbix,
    elastic,
    splunk,
    dynatrace,
    github,
    argocd,
    change,
)
ADAPTERS: Mapping[str, Adapter] = MappingProxyType({module.ADAPTER.source: module.ADAPTER for module in _MODULES})


def sends_resolved(source: str, mappings: Mapping[str, GenericMapping] = MappingProxyType({})) -> bool:
    """Whether a sender tells when something is over."""
    if source in mappings:
        return "status" in mappings[source].parts
    return source in ADAPTERS and ADAPTERS[source].sends_resolved


def recognise(request: WebhookRequest) -> Adapter | None:
    """The sender of a body, by its shape."""
    return next((adapter for adapter in ADAPTERS.values() if adapter.recognises(request)), None)


def deliver(request: WebhookRequest, source: str | None = None, mappings: Mapping[str, GenericMapping] = MappingProxyType({})) -> Delivery:
    """What a request says. `source` is the sender that its address names; `mappings` are the senders that the operator described.

    Never fails: what cannot be read as its sender's words is one alert in plain text.
    """
    if source and source in mappings:
        delivery = read_mapped(request, source, mappings[source])
    else:
        adapter = ADAPTERS.get(source) if source else recognise(request)
        delivery = adapter.deliver(request) if adapter else None
    return delivery or (read_plain(request, source) if source else read_plain(request))
