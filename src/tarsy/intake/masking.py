"""Pure module: alerts and changes with the secrets in them hidden, and in characters that can be stored."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tarsy.domain.alert import Alert, Change, Links
from tarsy.kit.text import storable

Mask = Callable[[str], str]


def masked_alert(alert: Alert, mask: Mask) -> Alert:
    links = alert.links
    told = _masked(
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
        title=told["title"],
        labels=told["labels"],
        annotations=told["annotations"],
        links=Links(**told["links"]),
        # It names the group and is never shown; its length is the sender's choice.
        group_key=storable(alert.group_key) if alert.group_key else None,
        fingerprint=storable(alert.fingerprint),
        body=storable(mask(alert.body)),
    )


def masked_change(change: Change, mask: Mask) -> Change:
    told = _masked({"title": change.title, "labels": dict(change.labels), "link": change.link}, mask)
    return replace(change, title=told["title"], labels=told["labels"], link=told["link"], body=storable(mask(change.body)))


def _masked(parts: Mapping[str, Any], mask: Mask) -> dict[str, Any]:
    """The parts as one text, so that a value is hidden for the name it stands under; where there is nothing to hide, that is all."""
    plain = json.dumps(parts, ensure_ascii=False)
    hidden = mask(plain)
    if hidden == plain:
        return _each(parts, storable)
    try:
        read = json.loads(hidden)
    except ValueError:
        read = None
    # A mask that took a piece of the structure along has hidden too much to be read: then each value for itself.
    return _each(read, storable) if _same_shape(read, parts) else _each(parts, lambda text: storable(mask(text)))


def _same_shape(one: Any, other: Any) -> bool:
    if isinstance(other, Mapping):
        return isinstance(one, dict) and one.keys() == other.keys() and all(_same_shape(one[name], other[name]) for name in other)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return isinstance(one, str) == isinstance(other, str)


def _each(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, Mapping):
        return {storable(str(name)): _each(item, change) for name, item in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return change(value) if isinstance(value, str) else value
