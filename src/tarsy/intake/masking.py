"""Masking secrets in alerts and changes, and removing characters that cannot be stored."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tarsy.domain.alert import Alert, Change, Links
from tarsy.domain.session import MAX_ALERT_BYTES
from tarsy.kit.text import clip, storable


def masked_alert(alert: Alert, mask: Callable[[str], str]) -> Alert:
    links = alert.links
    masked = _masked(
        {
            "title": alert.title,
            "labels": dict(alert.labels),
            "annotations": dict(alert.annotations),
            "links": {"source": links.source, "dashboard": links.dashboard, "runbook": links.runbook, "silence": links.silence},
        },
        mask,
    )
    return replace(
        alert,
        title=masked["title"],
        labels=masked["labels"],
        annotations=masked["annotations"],
        links=Links(**masked["links"]),
        # It names the group and is never shown; its length is the sender's choice.
        group_key=storable(alert.group_key) if alert.group_key else None,
        fingerprint=storable(alert.fingerprint),
        body=_body(alert.body, mask),
    )


def masked_change(change: Change, mask: Callable[[str], str]) -> Change:
    masked = _masked({"title": change.title, "labels": dict(change.labels), "link": change.link}, mask)
    return replace(change, title=masked["title"], labels=masked["labels"], link=masked["link"], body=_body(change.body, mask))


def _body(text: str, mask: Callable[[str], str]) -> str:
    """Mask the text as sent, of which as much is kept as of an alert that is submitted by itself."""
    return storable(mask(clip(text, MAX_ALERT_BYTES)))


def _masked(parts: Mapping[str, Any], mask: Callable[[str], str]) -> dict[str, Any]:
    """Mask the parts as one JSON text, so that patterns see names and values together."""
    plain = json.dumps(parts, ensure_ascii=False)
    hidden = mask(plain)
    if hidden == plain:
        return _each(parts, storable)
    try:
        read = json.loads(hidden)
    except ValueError:
        read = None
    # If the mask has damaged the structure of the JSON, mask each value by itself.
    return _each(read, storable) if _same_shape(read, parts) else _each(parts, lambda text: storable(mask(text)))


def _same_shape(one: Any, other: Any) -> bool:
    if isinstance(other, Mapping):
        return isinstance(one, dict) and one.keys() == other.keys() and all(_same_shape(one[name], other[name]) for name in other)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return isinstance(one, str) == isinstance(other, str)


def _each(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, Mapping):
        return {storable(str(name)): _each(item, change) for name, item in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return change(value) if isinstance(value, str) else value
