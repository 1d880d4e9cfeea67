"""Zabbix: a webhook media type whose parameters have the names that Zabbix's own media types give them, sent as JSON.

https://www.zabbix.com/documentation/current/en/manual/config/notifications/media/webhook
https://www.zabbix.com/documentation/current/en/manual/appendix/macros/supported_by_location
"""

import json
from contextlib import suppress
from typing import Any

from tarsy.domain.alert import Alert, AlertStatus, Links, Severity
from tarsy.intake.delivery import Adapter, WebhookRequest
from tarsy.intake.fields import (
    MAX_ANNOTATION,
    MAX_LABEL,
    Fields,
    fingerprint,
    labels,
    located,
    place_of,
    severity_of,
    tags,
    title,
    web_address,
)

SOURCE = "zabbix"
_SEVERITIES = {"5": Severity.CRITICAL, "4": Severity.HIGH, "3": Severity.WARNING, "2": Severity.WARNING, "1": Severity.INFO}


def matches(request: WebhookRequest) -> bool:
    return "event_id" in request.body and "event_value" in request.body


def parse(request: WebhookRequest) -> Alert | None:
    # A macro that has no value here stays as it was written.
    body = Fields({name: value for name, value in request.body.values.items() if not _is_macro(value)})
    if not body.text("event_id", "event_name", "alert_subject"):
        return None
    resolved = body.word("event_value") == "0"
    name, host = body.text("event_name", "alert_subject"), body.text("host_name", "host_host")
    listed: Any = body.values.get("event_tags")
    # {EVENT.TAGSJSON} arrives as JSON text, {EVENT.TAGS} as plain text.
    with suppress(ValueError, RecursionError):
        listed = json.loads(listed) if isinstance(listed, str) else listed
    site, trigger, event = body.link("zabbix_url"), body.text("trigger_id"), body.text("event_id")
    page = f"{site.rstrip('/')}/tr_events.php?triggerid={trigger}&eventid={event}" if site and trigger and event else None
    return Alert(
        source=SOURCE,
        # The trigger stands for the problem; each of its firings has an event of its own.
        fingerprint=body.text("trigger_id", "event_id", limit=MAX_LABEL) or fingerprint(name, host),
        # Every server numbers its triggers from the same number on.
        instance=place_of(site),
        title=title(located(name, host), fallback="Zabbix problem"),
        severity=_SEVERITIES.get(body.text("event_nseverity")) or severity_of(body.text("event_severity")),
        status=AlertStatus.RESOLVED if resolved else AlertStatus.FIRING,
        labels=labels([*body.picked(host="host_name", ip="host_ip", trigger="trigger_id").items(), *tags(listed).items()]),
        annotations=labels(
            [("description", body.text("trigger_description", "alert_message")), ("value", body.text("event_opdata"))], MAX_ANNOTATION
        ),
        links=Links(source=web_address(page), runbook=body.link("trigger_url")),
        starts_at=body.time("event_timestamp"),
        ends_at=body.time("event_recovery_timestamp") if resolved else None,
        body=request.text,
    )


def _is_macro(value: object) -> bool:
    return isinstance(value, str) and (
        value == "*UNKNOWN*" or (value.startswith("{") and value.endswith("}") and value[1:-1].replace(".", "").isupper())
    )


ADAPTER = Adapter(SOURCE, matches, parse)
