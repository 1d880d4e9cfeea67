"""The page of metrics is the registry's own word."""

from pathlib import Path

from tarsy.telemetry.metrics import Metrics
from tarsy.telemetry.reference import render

PAGE = Path(__file__).parents[3] / "docs" / "metrics.md"


def test_the_page_is_what_the_program_makes_of_it() -> None:
    assert PAGE.read_text() == render(), "run: python -m tarsy.telemetry.reference > docs/metrics.md"


def test_every_metric_of_the_registry_is_on_it() -> None:
    names = [family.name for family in Metrics().registry.collect()]
    assert len(names) > 30
    assert [name for name in names if f"`{name}" not in PAGE.read_text()] == []
