"""Alertmanager's webhook, version 4, and what Grafana's shares with it.

https://prometheus.io/docs/alerting/latest/configuration/#webhook_config
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import quote

from tarsy.domain.alert import Alert, AlertStatus, Links
from tarsy.intake.delivery import Adapter, Delivery, WebhookRequest
from tarsy.intake.fields import MAX_ALERTS, MAX_ANNOTATION, MAX_LABEL, Fields, as_body, fingerprint, severity_of, title, web_address

SOURCE = "alertmanager"
_WORKLOADS = ("pod", "deployment", "statefulset", "daemonset", "job_name", "persistentvolumeclaim", "service", "container")
_MACHINES = ("instance", "node", "host", "hostname", "device")


def recognises(request: WebhookRequest) -> bool:
    return is_group(request.body) and "orgId" not in request.body


def is_group(body: Fields) -> bool:
    """Alerts with the labels they have in common, as Alertmanager and Grafana send them."""
    return isinstance(body.values.get("alerts"), list) and "groupKey" in body and "commonLabels" in body


def read(request: WebhookRequest) -> Delivery | None:
    return read_group(request, SOURCE)


def read_group(request: WebhookRequest, source: str) -> Delivery | None:
    body = request.body
    items = body.list("alerts")
    if not items:
        return None
    group = _Group.of(body)
    return Delivery(
        source=source,
        alerts=tuple(_alert(group, item, source) for item in items[:MAX_ALERTS]),
        truncated=_left_out(body) + max(0, len(items) - MAX_ALERTS),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """What a body says of all its alerts, read once."""

    key: str
    is_grouped: bool
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    status: str
    url: str | None

    @classmethod
    def of(cls, body: Fields) -> Self:
        return cls(
            key=body.text("groupKey", limit=MAX_LABEL),
            is_grouped=bool(body.at("groupLabels")),
            labels=body.labels("commonLabels"),
            annotations=body.labels("commonAnnotations", limit=MAX_ANNOTATION),
            status=body.word("status"),
            url=body.link("externalURL"),
        )

    def key_of(self, labels: Mapping[str, str]) -> str:
        # A sender that puts everything into one group has not grouped: then what has one name belongs together.
        return self.key if self.is_grouped else self.key + labels.get("alertname", "")


def _left_out(body: Fields) -> int:
    count = body.values.get("truncatedAlerts")
    # A billion alerts are not left out; a larger number is no count.
    return count if isinstance(count, int) and 0 < count < 10**9 else 0


def _alert(group: _Group, value: Any, source: str) -> Alert:
    item = Fields.of(value)
    own = item.labels("labels")
    labels, body = own or group.labels, as_body(value, item.text("fingerprint"))
    annotations = item.labels("annotations", limit=MAX_ANNOTATION) or group.annotations
    resolved = (item.word("status") or group.status) == "resolved"
    return Alert(
        source=source,
        fingerprint=item.text("fingerprint", limit=MAX_LABEL) or fingerprint(own or body),
        title=problem_title(labels, annotations),
        severity=severity_of(labels.get("severity", ""), labels.get("priority", ""), labels.get("level", "")),
        status=AlertStatus.RESOLVED if resolved else AlertStatus.FIRING,
        labels=labels,
        annotations=annotations,
        links=_links(group, item, own, Fields(annotations)),
        starts_at=item.time("startsAt"),
        ends_at=item.time("endsAt") if resolved else None,
        group_key=group.key_of(labels),
        body=body,
    )


def _links(group: _Group, item: Fields, labels: Mapping[str, str], said: Fields) -> Links:
    return Links(
        source=item.link("generatorURL"),
        dashboard=item.link("panelURL", "dashboardURL") or said.link("dashboard_url", "dashboard"),
        runbook=said.link("runbook_url", "runbook"),
        silence=item.link("silenceURL") or _silence(group.url, labels),
    )


def _silence(alertmanager: str | None, labels: Mapping[str, str]) -> str | None:
    matchers = ",".join(f'{name}="{value}"' for name, value in labels.items())
    if not alertmanager or len(matchers) > MAX_LABEL:
        return None
    return web_address(f"{alertmanager.rstrip('/')}/#/silences/new?filter={quote(f'{{{matchers}}}')}")


def problem_title(labels: Mapping[str, str], annotations: Mapping[str, str]) -> str:
    """What is wrong and where: the rule's name, what it says, and the place if that does not say it."""
    name = labels.get("alertname", "")
    said = Fields(annotations).text("summary", "message", "title", "description").rstrip(".")
    told = said if name.lower() in said.lower() else ": ".join(part for part in (name, said) if part)
    place = _place(labels)
    return title(f"{told} ({place})" if told and place and place.rpartition("/")[2] not in told else told, place, fallback="Unnamed alert")


def _place(labels: Mapping[str, str]) -> str:
    namespace = labels.get("namespace") or labels.get("exported_namespace") or ""
    # With kube-state-metrics, the labels without "exported" can be those of the exporter itself.
    workload = next((labels[name] for name in _WORKLOADS if name in labels), "") if namespace else ""
    machine = next((labels[name] for name in _MACHINES if name in labels), "")
    return "/".join(part for part in (namespace, workload) if part) or machine


ADAPTER = Adapter(SOURCE, recognises, read)
