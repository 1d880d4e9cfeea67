"""Any sender, read by a mapping of JMESPath expressions to the parts of an alert or a change.

https://jmespath.org/specification.html
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

import jmespath

from tarsy.domain.alert import Alert, AlertStatus, Links
from tarsy.intake.adapters.change import change_of
from tarsy.intake.adapters.unknown import ENDINGS
from tarsy.intake.delivery import Delivery, WebhookRequest
from tarsy.intake.fields import MAX_ALERTS, MAX_ANNOTATION, MAX_LABEL, Fields, as_body, fingerprint, severity_of, title

_ENDINGS = ENDINGS | {"false", "0"}


@dataclass(frozen=True, slots=True, kw_only=True)
class GenericMapping:
    """JMESPath expressions. `each` selects the list of alerts in a body; the other expressions are applied to its items."""

    kind: Literal["alert", "change"] = "alert"
    each: str | None = None
    # By name, as in an alert: title, fingerprint, severity, status, labels, annotations, starts_at, ends_at, link, dashboard, runbook, group_key.
    parts: Mapping[str, str]


def parse_mapped(request: WebhookRequest, source: str, mapping: GenericMapping) -> Delivery | None:
    """Return the alerts or changes that `mapping` finds in a body, or None if it finds none."""
    found = _evaluated(mapping.each, request.value) if mapping.each else [request.value]
    items = cast("list[Any]", found) if isinstance(found, list) else []
    evaluated = [{name: _evaluated(expression, item) for name, expression in mapping.parts.items()} for item in items[:MAX_ALERTS]]
    parts = [Fields({name: value for name, value in values.items() if value is not None}) for values in evaluated]
    if not any(parts):
        return None
    bodies = [request.text if mapping.each is None else as_body(item, request.text) for item in items[:MAX_ALERTS]]
    left_out = max(0, len(items) - MAX_ALERTS)
    found_parts = list(zip(parts, bodies, strict=False))
    if mapping.kind == "change":
        return Delivery(source=source, changes=tuple(change_of(fields, source, body) for fields, body in found_parts), truncated=left_out)
    return Delivery(source=source, alerts=tuple(_alert(fields, source, body) for fields, body in found_parts), truncated=left_out)


def _evaluated(expression: str, value: Any) -> Any:
    try:
        return jmespath.search(expression, value)
    except (ValueError, TypeError, RecursionError):
        # A function met a value of another type than it takes: this body does not have the part.
        return None


def _alert(fields: Fields, source: str, body: str) -> Alert:
    headline, labels = fields.text("title"), fields.labels("labels")
    resolved = fields.word("status") in _ENDINGS
    return Alert(
        source=source,
        fingerprint=fields.text("fingerprint", limit=MAX_LABEL) or fingerprint(headline, labels),
        title=title(headline, fallback=f"Alert from {source}"),
        severity=severity_of(fields.text("severity")),
        status=AlertStatus.RESOLVED if resolved else AlertStatus.FIRING,
        labels=labels,
        annotations=fields.labels("annotations", limit=MAX_ANNOTATION),
        links=Links(source=fields.link("link"), dashboard=fields.link("dashboard"), runbook=fields.link("runbook")),
        starts_at=fields.time("starts_at"),
        ends_at=fields.time("ends_at") if resolved else None,
        group_key=fields.text("group_key", limit=MAX_LABEL) or None,
        body=body,
    )
