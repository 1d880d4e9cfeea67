"""Alertmanager's webhook, version 4, and what Grafana's shares with it.

https://prometheus.io/docs/alerting/latest/configuration/#webhook_config
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import quote

from tarsy.domain.alert import Alert, AlertStatus, Links
from tarsy.intake.delivery import Adapter, Delivery, WebhookRequest
from tarsy.intake.fields import (
    MAX_ALERTS,
    MAX_ANNOTATION,
    MAX_LABEL,
    Fields,
    as_body,
    fingerprint,
    place_of,
    severity_of,
    title,
    web_address,
)

SOURCE = "alertmanager"
_WORKLOADS = ("pod", "deployment", "statefulset", "daemonset", "job_name", "persistentvolumeclaim", "service", "container")
_MACHINES = ("instance", "node", "host", "hostname", "device")


def matches(request: WebhookRequest) -> bool:
    return is_group(request.body) and "orgId" not in request.body


def is_group(body: Fields) -> bool:
    """Return whether the body holds alerts with their common labels, as Alertmanager and Grafana send them."""
    return isinstance(body.values.get("alerts"), list) and "groupKey" in body and "commonLabels" in body


def parse(request: WebhookRequest) -> Delivery | None:
    return parse_group(request, SOURCE)


def parse_group(request: WebhookRequest, source: str) -> Delivery | None:
    body = request.body
    items = body.list("alerts")
    if not items:
        return None
    group, truncated = _Group.of(body), body.values.get("truncatedAlerts")
    # A larger number is no count.
    left_out = truncated if isinstance(truncated, int) and 0 < truncated < 10**9 else 0
    return Delivery(
        source=source,
        alerts=tuple(_alert(group, item, source) for item in items[:MAX_ALERTS]),
        truncated=left_out + max(0, len(items) - MAX_ALERTS),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """The fields that all alerts of a body share."""

    key: str
    is_grouped: bool
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    status: str
    url: str | None
    instance: str

    @classmethod
    def of(cls, body: Fields) -> Self:
        url = body.link("externalURL")
        return cls(
            key=body.text("groupKey", limit=MAX_LABEL),
            is_grouped=bool(body.at("groupLabels")),
            labels=body.labels("commonLabels"),
            annotations=body.labels("commonAnnotations", limit=MAX_ANNOTATION),
            status=body.word("status"),
            url=url,
            instance=place_of(url),
        )

    def key_of(self, labels: Mapping[str, str]) -> str:
        # A sender that puts all alerts into one group does not group: alerts of the same name belong together then.
        return self.key if self.is_grouped else self.key + labels.get("alertname", "")


def _alert(group: _Group, value: Any, source: str) -> Alert:
    item = Fields.of(value)
    own = item.labels("labels")
    labels, body = own or group.labels, as_body(value, item.text("fingerprint"))
    annotations = item.labels("annotations", limit=MAX_ANNOTATION) or group.annotations
    linked = Fields(annotations)
    resolved = (item.word("status") or group.status) == "resolved"
    silence, matchers = item.link("silenceURL"), ",".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in own.items())
    if not silence and group.url and len(matchers) <= MAX_LABEL:
        silence = web_address(f"{group.url.rstrip('/')}/#/silences/new?filter={quote(f'{{{matchers}}}')}")
    return Alert(
        source=source,
        fingerprint=item.text("fingerprint", limit=MAX_LABEL) or fingerprint(own or body),
        instance=group.instance,
        title=problem_title(labels, annotations),
        severity=severity_of(labels.get("severity", ""), labels.get("priority", ""), labels.get("level", "")),
        status=AlertStatus.RESOLVED if resolved else AlertStatus.FIRING,
        labels=labels,
        annotations=annotations,
        links=Links(
            source=item.link("generatorURL"),
            dashboard=item.link("panelURL", "dashboardURL") or linked.link("dashboard_url", "dashboard"),
            runbook=linked.link("runbook_url", "runbook"),
            silence=silence,
        ),
        starts_at=item.time("startsAt"),
        ends_at=item.time("endsAt") if resolved else None,
        group_key=group.key_of(labels),
        body=body,
    )


def problem_title(labels: Mapping[str, str], annotations: Mapping[str, str]) -> str:
    """Return the rule's name and summary, and the place of the problem unless they mention it."""
    name = labels.get("alertname", "")
    summary = Fields(annotations).text("summary", "message", "title", "description").rstrip(".")
    problem = summary if name.lower() in summary.lower() else ": ".join(part for part in (name, summary) if part)
    namespace = labels.get("namespace") or labels.get("exported_namespace") or ""
    # With kube-state-metrics, the labels without "exported" can be those of the exporter itself.
    workload = next((labels[name] for name in _WORKLOADS if name in labels), "") if namespace else ""
    machine = next((labels[name] for name in _MACHINES if name in labels), "")
    place = "/".join(part for part in (namespace, workload) if part) or machine
    located = f"{problem} ({place})" if problem and place and place.rpartition("/")[2] not in problem else problem
    return title(located, place, fallback="Unnamed alert")


ADAPTER = Adapter(SOURCE, matches, parse, repeats=True)
