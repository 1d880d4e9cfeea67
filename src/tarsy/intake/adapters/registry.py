"""The known senders, and reading any request: by the sender it names, by its shape, or as plain text."""

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

# The source of alerts whose sender is known neither by the URL nor by the shape of the body.
UNKNOWN_SOURCE = "webhook"


def read_plain(request: WebhookRequest, source: str = UNKNOWN_SOURCE) -> Delivery:
    """Read a body as one firing alert in plain text. The same text again is the same alert."""
    body = whole_characters(request.text).replace("\0", "")
    headline = alert_title(body, "")
    if isinstance(request.value, list | dict) and headline.startswith(("[", "{")):
        # No field of the data is a title: the text begins with the data itself.
        headline = ""
    alert = Alert(
        source=source,
        fingerprint=fingerprint(source, body),
        title=title(headline, fallback=f"Alert from {source}"),
        severity=Severity.UNKNOWN,
        status=AlertStatus.FIRING,
        body=body,
    )
    return Delivery(source=source, alerts=(alert,))


_MODULES = (
    # Before the others: the data of an event may look like a body of another sender.
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
    """Return whether a sender reports that alerts are resolved."""
    if source in mappings:
        return "status" in mappings[source].parts
    return source in ADAPTERS and ADAPTERS[source].sends_resolved


def recognise(request: WebhookRequest) -> Adapter | None:
    """Return the adapter that recognises the shape of a body, or None."""
    return next((adapter for adapter in ADAPTERS.values() if adapter.recognises(request)), None)


def deliver(request: WebhookRequest, source: str | None = None, mappings: Mapping[str, GenericMapping] = MappingProxyType({})) -> Delivery:
    """Read a request. `source` is the sender that its URL names; `mappings` are those of the configured senders.

    Never fails: a body that the adapter cannot read is one alert in plain text.
    """
    if source and source in mappings:
        delivery = read_mapped(request, source, mappings[source])
    else:
        adapter = ADAPTERS.get(source) if source else recognise(request)
        delivery = adapter.deliver(request) if adapter else None
    return delivery or (read_plain(request, source) if source else read_plain(request))
