"""The report as JUnit XML, which CI systems show: a suite for each model, a test for each trial. Pure module."""

import re
from xml.etree import ElementTree as ET

from tarsy.evals.report.report import Report
from tarsy.evals.summary import by_model
from tarsy.evals.trial import Trial

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
