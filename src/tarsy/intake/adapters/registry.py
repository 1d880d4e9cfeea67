"""Pure module: the senders that are known, and what any request says: by the sender it names, by its shape, or as plain text."""

from collections.abc import Mapping
from types import MappingProxyType

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
from tarsy.intake.adapters.adapter import Adapter
from tarsy.intake.adapters.generic import GenericMapping, read_mapped
from tarsy.intake.adapters.plain import read_plain
from tarsy.intake.received import Delivery, Received

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


def says_resolved(source: str, mappings: Mapping[str, GenericMapping] = MappingProxyType({})) -> bool:
    """Whether a sender tells when something is over."""
    if source in mappings:
        return "status" in mappings[source].parts
    return source in ADAPTERS and ADAPTERS[source].says_resolved


def recognise(received: Received) -> Adapter | None:
    """The sender of a body, by its shape."""
    return next((adapter for adapter in ADAPTERS.values() if adapter.recognises(received)), None)


def deliver(received: Received, source: str | None = None, mappings: Mapping[str, GenericMapping] = MappingProxyType({})) -> Delivery:
    """What a request says. `source` is the sender that its address names; `mappings` are the senders that the operator described.

    Never fails: what cannot be read as its sender's words is one alert in plain text.
    """
    if source and source in mappings:
        delivery = read_mapped(received, source, mappings[source])
    else:
        adapter = ADAPTERS.get(source) if source else recognise(received)
        delivery = adapter.deliver(received) if adapter else None
    return delivery or (read_plain(received, source) if source else read_plain(received))
