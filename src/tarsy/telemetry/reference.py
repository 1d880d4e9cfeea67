"""The page of metrics, made from the registry: `python -m tarsy.telemetry.reference > docs/metrics.md`."""

import sys
from collections.abc import Iterator
from typing import cast

from prometheus_client.metrics import MetricWrapperBase

from tarsy.telemetry.metrics import Metrics

_INTRODUCTION = """\
# Metrics

This page is generated from the program (`python -m tarsy.telemetry.reference`). [Monitoring](monitoring.md) explains how to scrape metrics and which dashboard and alert
rules come with TARSy. Every process reports its own figures. Only the last table comes from one process, for the whole installation.
"""
# What each group is about, in the order of the page.
_GROUPS = {
    "intake": "Monitoring systems",
    "sessions": "Sessions",
    "work": "Workers",
    "models": "Models",
    "tools": "Tools",
    "process": "The process",
    "installation": "The whole installation",
}
# How Prometheus shows them, where that is another name than the one they were given.
_SUFFIXES = {"counter": "_total"}


def render() -> str:
    """The whole page."""
    metrics = Metrics()
    parts = [_INTRODUCTION, *(_table(title, getattr(metrics, group)) for group, title in _GROUPS.items())]
    return "\n".join(parts)


def _table(title: str, group: object) -> str:
    rows = [f"| `{name}` | {kind} | {labels} | {told} |" for name, kind, labels, told in sorted(_described(group))]
    return "\n".join([f"## {title}", "", (group.__doc__ or "").strip(), "", "| metric | kind | labels | |", "|---|---|---|---|", *rows, ""])


def _described(group: object) -> Iterator[tuple[str, str, str, str]]:
    for metric in vars(group).values():
        if isinstance(metric, MetricWrapperBase):
            family = next(iter(metric.describe()))
            # The library shows them nowhere else.
            names = cast("tuple[str, ...]", metric._labelnames)  # noqa: SLF001 - see above  # pyright: ignore[reportPrivateUsage, reportUnknownMemberType]
            labels = ", ".join(f"`{name}`" for name in names)
            yield f"{family.name}{_SUFFIXES.get(family.type, '')}", family.type, labels, family.documentation


if __name__ == "__main__":
    sys.stdout.write(render())
