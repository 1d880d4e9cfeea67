"""JSON of a sender that TARSy does not know, read by the usual names of fields: what docs/sender-recipes.md states under "Any other sender"."""

import re
from typing import Any, cast

from tarsy.domain.alert import Alert, AlertStatus, Change, ChangeOutcome, Links
from tarsy.intake.delivery import Delivery, WebhookRequest
from tarsy.intake.fields import MAX_ALERTS, MAX_LABEL, Fields, as_body, fingerprint, labels, located, severity_of, title

# Each names one problem by itself.
_IDS = (
    *("fingerprint", "dedup_key", "dedupKey", "dedupe_key", "incident_key", "alert_id", "alertId", "alertID", "incident_id", "incidentId"),
    *("problem_id", "problemId", "issue_id", "issueId", "check_id", "checkId", "monitor_id", "monitorId", "monitorID"),
)
# Objects whose `id` does.
_SUBJECTS = ("alert", "incident", "problem", "issue", "check", "monitor")
# Checkmk's: HOST or SERVICE. It identifies, and is no label.
_KIND = "what"
# What is checked, and where: together they name a problem.
_CHECKS = (
    *("alertname", "alert_name", "rule_id", "ruleId", "rule_name", "ruleName", "check_name", "checkName", "monitor_name", "test_name"),
    *("testName", "service", "service_name", "check", _KIND),
)
_PLACES = ("host", "hostname", "host_name", "node", "instance", "device", "pod", "namespace", "cluster", "site", "region", "environment")
_TITLES = (
    *("alertname", "alert_name", "title", "rule_name", "ruleName", "check_name", "checkName", "monitor_name", "subject", "summary"),
    *("name", "event", "message", "msg", "description", "text"),
)
# In the order in which they count. Senders with a numeric status disagree about its meaning, so numbers are not read.
_STATES = (
    *("status", "state", "alert_status", "alertStatus", "alert_state", "event_type", "eventType", "alert_type", "alertType"),
    *("notification_type", "current_state", "new_state", "transition", "event_action", "action", "event", "severity", "level"),
)
ENDINGS = frozenset(
    {
        *("resolved", "resolve", "recovered", "recovery", "closed", "close", "cleared", "clear", "ok", "up", "normal", "healthy", "ended"),
        *("passing", "inactive"),
    }
)
_BEGINNINGS = frozenset(
    {
        *("firing", "fired", "triggered", "trigger", "alert", "alerting", "problem", "down", "critical", "warning", "error", "failed"),
        *("failing", "failure", "open", "opened", "active", "unhealthy"),
    }
)
# A sentence is no status.
_MAX_STATE = 60
# What is not ok is no end.
_WORD = re.compile(r"(?:not[ _-]+)?[a-z]+")
# Text that differs from one notification about a problem to the next: UUIDs, times, and numbers that are no part of a name such as web-1.
_CHANGING = re.compile(
    r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?[\d.]*(?:Z|[+-]\d\d:?\d\d)?"
    r"|(?<![\w.-])-?\d[\d.,:]*(?:%|[kKMGT]?i?[bB]|ms|s|m|h|d)?(?![\w-])"
)
# As much of a body as identifies it.
_MAX_IDENTITY = 16_000


def parse_unknown(request: WebhookRequest, source: str) -> Delivery | Change | None:
    """Return the alerts of a JSON object or of a list of objects, or the change of an inventory system; None for any other body."""
    value: Any = request.value
    items = cast("list[Any]", value) if isinstance(value, list) else [value]
    if not items or not all(Fields.of(item) for item in items[:MAX_ALERTS]):
        return None
    if isinstance(value, dict):
        bodies = [request.text]
        if change := _inventory_change(request.body, source, request.text):
            return change
    else:
        bodies = [as_body(item, request.text) for item in items[:MAX_ALERTS]]
    alerts = tuple(_alert(Fields.of(item), source, body) for item, body in zip(items, bodies, strict=False))
    return Delivery(source=source, alerts=alerts, truncated=len(items) - len(alerts))


def _alert(body: Fields, source: str, text: str) -> Alert:
    # The alert may be an object within the body. Outer fields come first.
    places = (body, *(Fields.of(value) for value in list(body.values.values())[:MAX_LABEL] if isinstance(value, dict)))

    def first(names: tuple[str, ...]) -> str:
        return next((found for name in names for place in places if (found := place.text(name, limit=MAX_LABEL))), "")

    headline, where, check = first(_TITLES), first(_PLACES), first(_CHECKS)
    identity = first(_IDS) or next((found for name in _SUBJECTS if (found := body.at(name).text("id", limit=MAX_LABEL))), "")
    if identity:
        key = fingerprint(source, identity)
    elif check:
        key = fingerprint(source, check, where)
    else:
        key = fingerprint(source, where, _CHANGING.sub("#", headline or text[:_MAX_IDENTITY]))
    own = [(name, place.text(name, limit=MAX_LABEL)) for name in (*_PLACES, *_CHECKS) if name != _KIND for place in places]
    return Alert(
        source=source,
        fingerprint=key,
        title=title(located(headline, where), fallback=f"Alert from {source}"),
        severity=severity_of(*(first((name,)) for name in ("severity", "priority", "level", "urgency"))),
        status=AlertStatus.RESOLVED if _is_over(body, places) else AlertStatus.FIRING,
        labels=labels((name, value) for name, value in own if value),
        links=Links(source=next((link for place in places if (link := place.link("link", "url", "permalink", "html_url"))), None)),
        body=text,
    )


def _is_over(body: Fields, places: tuple[Fields, ...]) -> bool:
    """Return whether the last known word of the first field with such a word means the end: `DOWN -> UP`, `ALERT_RECOVERY`."""
    if "heartbeat" in body and "monitor" in body:
        # Uptime Kuma: 1 is up.
        return body.at("heartbeat").values.get("status") == 1
    for name in _STATES:
        for place in places:
            words = [word for word in _WORD.findall(place.word(name)[:_MAX_STATE]) if word in ENDINGS or word in _BEGINNINGS]
            if words:
                return words[-1] in ENDINGS
    return False


def _inventory_change(body: Fields, source: str, text: str) -> Change | None:
    """Return the change of an object that NetBox, or a system with its form, reports."""
    event, model, item = body.word("event"), body.text("model"), body.at("data")
    if event not in {"created", "updated", "deleted"} or not model or "snapshots" not in body:
        return None
    author = body.text("username")
    headline = f"{model} {item.text('display', 'name', 'id')} {event}{f' by {author}' if author else ''}"
    return Change(
        source=source,
        fingerprint=body.text("request_id", limit=MAX_LABEL) or fingerprint(headline, body.text("timestamp")),
        title=title(headline, fallback="Change"),
        outcome=ChangeOutcome.SUCCEEDED,
        labels=labels([("model", model), ("name", item.text("name")), ("author", author)]),
        at=body.time("timestamp"),
        body=text,
    )
