"""The files of a report: JSON, JUnit XML for CI systems, and an HTML page."""

import json
import re
from dataclasses import asdict
from pathlib import Path
from xml.etree import ElementTree as ET

from tarsy.evals.report.html import as_html
from tarsy.evals.report.report import EvalReport
from tarsy.evals.statistics import by_model

# XML 1.0 has no place for these, not even escaped.
_NOT_XML = re.compile(r"[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_junit(report: EvalReport) -> str:
    root = ET.Element("testsuites", name="tarsy eval")
    for model, trials in by_model(report.trials).items():
        failed = sum(not one.passed for one in trials)
        seconds = f"{sum(one.seconds for one in trials):.3f}"
        suite = ET.SubElement(root, "testsuite", name=_clean(model), tests=str(len(trials)), failures=str(failed), time=seconds)
        for trial in trials:
            identity, failures = trial.identity, trial.failures
            case = ET.SubElement(
                suite,
                "testcase",
                classname=_clean(f"{identity.model}.{trial.family}"),
                name=_clean(f"{identity.case} #{identity.run}"),
                time=f"{trial.seconds:.3f}",
            )
            if not trial.passed:
                failure = ET.SubElement(case, "failure", message=_clean("; ".join(check.name for check in failures)))
                failure.text = _clean("\n".join(f"{check.name}: {check.detail}" for check in failures))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _clean(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)


def as_json(report: EvalReport) -> str:
    """Return the report as JSON. A later run can use its `trials` as the baseline."""
    document = {
        "tarsy_eval": 1,
        "version": report.version,
        "created_at": report.created_at.isoformat(),
        "digests": report.digests,
        "regression": report.is_regression,
        "left_out": report.left_out,
        "summaries": [asdict(one) | {"pass_hat_k": {str(k): rate for k, rate in one.pass_hat_k.items()}} for one in report.summaries],
        "comparisons": [asdict(one) | {"regression": one.is_regression, "progress": one.is_progress} for one in report.comparisons],
        "trials": [one.model_dump(mode="json") for one in report.trials],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def write_reports(report: EvalReport, directory: Path) -> tuple[Path, ...]:
    """Write the JSON, JUnit and HTML reports, and return their paths."""
    texts = {"report.json": as_json(report), "report.xml": as_junit(report), "report.html": as_html(report)}
    for name, text in texts.items():
        (directory / name).write_text(text, encoding="utf-8")
    return tuple(directory / name for name in texts)
