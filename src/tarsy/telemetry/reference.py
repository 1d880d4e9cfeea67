"""The page of metrics, made from the registry: `python -m tarsy.telemetry.reference > docs/metrics.md`."""

import sys

from tarsy.telemetry.metrics import MetricGroup, Metrics

_INTRODUCTION = """\
# Metrics

This page is generated from the program (`python -m tarsy.telemetry.reference`). [Monitoring](monitoring.md) explains how to scrape metrics and which dashboard and alert
rules come with TARSy. Every process reports its own figures. Only the last table comes from one process, for the whole installation.
"""
# The headings, in the order of the page.
_GROUPS = {
    "intake": "Monitoring systems",
    "sessions": "Sessions",
    "work": "Workers",
    "models": "Models",
    "tools": "Tools",
    "process": "The process",
    "installation": "The whole installation",
}


def render() -> str:
    """Return the whole page."""
    metrics = Metrics()
    return "\n".join([_INTRODUCTION, *(_table(title, getattr(metrics, group)) for group, title in _GROUPS.items())])


def _table(title: str, group: MetricGroup) -> str:
    rows: list[str] = []
    for metric, labels in group.label_names.items():
        family = next(iter(metric.describe()))
        # Prometheus shows counters with this suffix.
        name = f"{family.name}_total" if family.type == "counter" else family.name
        rows.append(f"| `{name}` | {family.type} | {', '.join(f'`{label}`' for label in labels)} | {family.documentation} |")
    heading = [f"## {title}", "", (group.__doc__ or "").strip(), "", "| metric | kind | labels | |", "|---|---|---|---|"]
    return "\n".join([*heading, *sorted(rows), ""])


if __name__ == "__main__":
    sys.stdout.write(render())
