"""Writing the reports of a measurement."""

from pathlib import Path

from tarsy.evals.report.document import as_json
from tarsy.evals.report.junit import as_junit
from tarsy.evals.report.page import as_html
from tarsy.evals.report.report import Report


def write_reports(report: Report, directory: Path) -> tuple[Path, ...]:
    """Write all three and say where they are."""
    texts = {"report.json": as_json(report), "report.xml": as_junit(report), "report.html": as_html(report)}
    for name, text in texts.items():
        (directory / name).write_text(text, encoding="utf-8")
    return tuple(directory / name for name in texts)
