"""The report as JUnit XML, which CI systems show: a suite for each model, a test for each trial. Pure module."""

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from tarsy.evals.report.html import as_html
from tarsy.evals.report.report import Report
from tarsy.evals.statistics import Comparison, Summary, by_model
from tarsy.evals.trials import Trial

# XML 1.0 has no place for these, not even escaped.
_NOT_XML = re.compile(r"[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_junit(report: Report) -> str:
    root = ET.Element("testsuites", name="tarsy eval")
    for model, trials in by_model(report.trials).items():
        failures = sum(not one.passed for one in trials)
        seconds = f"{sum(one.seconds for one in trials):.3f}"
        suite = ET.SubElement(root, "testsuite", name=_clean(model), tests=str(len(trials)), failures=str(failures), time=seconds)
        for trial in trials:
            _add(suite, trial)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _add(suite: ET.Element, trial: Trial) -> None:
    identity = trial.identity
    case = ET.SubElement(
        suite,
        "testcase",
        classname=_clean(f"{identity.model}.{trial.family}"),
        name=_clean(f"{identity.case} #{identity.run}"),
        time=f"{trial.seconds:.3f}",
    )
    if not trial.passed:
        failure = ET.SubElement(case, "failure", message=_clean("; ".join(check.name for check in trial.failures)))
        failure.text = _clean("\n".join(f"{check.name}: {check.detail}" for check in trial.failures))


def _clean(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)


def as_json(report: Report) -> str:
    """Everything in the report; `trials` is what a later run takes as its baseline."""
    document = {
        "tarsy_eval": 1,
        "version": report.version,
        "created_at": report.created_at.isoformat(),
        "digests": report.digests,
        "regression": report.is_regression,
        "left_out": report.left_out,
        "summaries": [_summary(one) for one in report.summaries],
        "comparisons": [_comparison(one) for one in report.comparisons],
        "trials": [one.model_dump(mode="json") for one in report.trials],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _summary(summary: Summary) -> dict[str, Any]:
    return asdict(summary) | {"pass_hat_k": {str(k): rate for k, rate in summary.pass_hat_k.items()}}


def _comparison(comparison: Comparison) -> dict[str, Any]:
    return asdict(comparison) | {"regression": comparison.is_regression, "progress": comparison.is_progress}


def write_reports(report: Report, directory: Path) -> tuple[Path, ...]:
    """Write all three and say where they are."""
    texts = {"report.json": as_json(report), "report.xml": as_junit(report), "report.html": as_html(report)}
    for name, text in texts.items():
        (directory / name).write_text(text, encoding="utf-8")
    return tuple(directory / name for name in texts)
