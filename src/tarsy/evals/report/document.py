"""The report as JSON, and read back as a baseline. Pure module."""

import json
from dataclasses import asdict
from typing import Any

from tarsy.evals.comparison import Comparison
from tarsy.evals.report.report import Report
from tarsy.evals.summary import Summary


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
