"""The adapters of known senders, and parsing any request: by the sender it names, by its shape, or as plain text."""

from collections.abc import Mapping
from types import MappingProxyType

from tarsy.domain.alert import Alert, AlertStatus, Change, Severity, alert_title
from tarsy.domain.write_back import is_own_write_back
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
from tarsy.intake.adapters.generic import GenericMapping, parse_mapped
from tarsy.intake.adapters.unknown import parse_unknown
from tarsy.intake.delivery import Adapter, Delivery, WebhookRequest
from tarsy.intake.fields import fingerprint, title
from tarsy.kit.text import whole_characters

# The source of alerts whose sender is known neither by the URL nor by the shape of the body.
UNKNOWN_SOURCE = "webhook"


def _plain_alert(request: WebhookRequest, source: str) -> Alert:
    """Return a body as one firing alert in plain text. The same text again is the same alert."""
    body = whole_characters(request.text).replace("\0", "")
    headline = alert_title(body, "")
    if isinstance(request.value, (list, dict)) and headline.startswith(("[", "{")):
        # No field of the data is a title: the text begins with the data itself.
        headline = ""
    return Alert(
        source=source,
        fingerprint=fingerprint(source, body),
        title=title(headline, fallback=f"Alert from {source}"),
        severity=Severity.UNKNOWN,
        status=AlertStatus.FIRING,
        body=body,
    )


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


def repeats_firing(source: str) -> bool:
    """Return whether a sender repeats alerts while they fire."""
    return source in ADAPTERS and ADAPTERS[source].repeats


def _is_own_write_back(request: WebhookRequest) -> bool:
    """Return whether a request reports a note that TARSy has written. Other events may quote one, and count."""
    body = request.body
    comment = body.at("comment")
    notes = (
        # Opsgenie reports notes as an action on their alert, PagerDuty as an event.
        body.at("alert").text("note") if body.word("action") == "addnote" else "",
        body.at("event", "data").text("content") if body.at("event").word("event_type") == "incident.annotated" else "",
        # GitHub and Jira report comments; Jira's may be documents, of paragraphs with texts.
        comment.text("body"),
        *(text.text("text") for block in comment.at("body").each("content")[-1:] for text in block.each("content")[-1:]),
    )
    return any(map(is_own_write_back, notes))


def matching_adapter(request: WebhookRequest) -> Adapter | None:
    """Return the adapter that matches the shape of a body, or None."""
    return next((adapter for adapter in ADAPTERS.values() if adapter.matches(request)), None)


def parse_delivery(
    request: WebhookRequest, source: str | None = None, mappings: Mapping[str, GenericMapping] = MappingProxyType({})
) -> Delivery:
    """Parse a request. `source` is the sender that its URL names; `mappings` are those of the configured senders.

    A sender of unknown name is recognised by the shape of the body. JSON of no known shape is read by the usual names of fields, and any
    other body is one alert in plain text.

    Raises:
        TooManyValuesError: JSON within the body has too many values.
    """
    if _is_own_write_back(request):
        return Delivery(source=source or UNKNOWN_SOURCE, remark="TARSy wrote this note itself")
    if source and source in mappings:
        content = parse_mapped(request, source, mappings[source])
    else:
        adapter = ADAPTERS.get(source or "") or matching_adapter(request)
        content = adapter.parse(request) if adapter else None
    name = source or UNKNOWN_SOURCE
    match content or parse_unknown(request, name) or _plain_alert(request, name):
        case Delivery() as delivery:
            return delivery
        case Alert() as alert:
            return Delivery(source=alert.source, alerts=(alert,))
        case Change() as change:
            return Delivery(source=change.source, changes=(change,))
