"""Cases, attempts and trials for tests of the evals."""

from pathlib import Path
from typing import Any

import yaml

from tarsy.agent.evidence.checker import Seen, check
from tarsy.agent.evidence.verdict import read_verdict
from tarsy.domain.evidence import Evidence
from tarsy.evals.attempts import Attempt, CitedEvidence
from tarsy.evals.cases import CaseFile, Expectation
from tarsy.evals.trials import Trial, TrialIdentity

CASE: dict[str, Any] = {
    "title": "The cart cannot reach its database",
    "family": "configuration",
    "difficulty": "easy",
    "tags": ["red-herring"],
    "alert": "KubePodCrashLooping shop/cart",
    "world": {"kind": "cluster", "file": "world.yaml"},
    "reference": "The config map names a database host that does not exist.",
    "expect": {
        "outcome": "fault",
        "object": ["ConfigMap/shop/cart-config", "Deployment/shop/cart"],
        "mechanism": {"any_of": [["host", "does not exist|nxdomain"]], "none_of": [["memory"]]},
        "must_cite": [{"text": "lookup db-old: no such host", "call": {"tool": "pods_log", "arguments": {"namespace": "shop"}}}],
    },
}


def case_file(**changes: Any) -> CaseFile:
    return CaseFile.model_validate({**CASE, **changes})


def expectation(**changes: Any) -> Expectation:
    return Expectation.model_validate({**CASE["expect"], **changes})


def write_case(directory: Path, *, world_text: str = "now: 2026-03-10T09:00:00Z\nnamespaces: [shop]\n", **changes: Any) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "case.yaml").write_text(yaml.safe_dump({**CASE, **changes}, sort_keys=False), encoding="utf-8")
    (directory / "world.yaml").write_text(world_text, encoding="utf-8")
    return directory


def attempt_on(answer: str, seen: dict[str, str], **changes: Any) -> Attempt:
    """An attempt that answered so after it had seen these results."""
    verdict = read_verdict(answer)
    checked = check(answer, Seen({name: Evidence(id=name, text=text) for name, text in seen.items()}), verdict)
    cited = tuple(CitedEvidence(one, seen.get(one.citation.evidence_id, "")) for one in checked.citations)
    values: dict[str, Any] = {"status": "completed", "analysis": answer, "verdict": verdict, "cited": cited}
    return Attempt(**{**values, **changes})


def trial(case: str, *, passed: bool = True, run: int = 1, **changes: Any) -> Trial:
    identity = TrialIdentity(
        case=case,
        model=changes.pop("model", "tested"),
        run=run,
        case_digest=changes.pop("case_digest", "c"),
        model_digest="m",
        prompt_digest="p",
        configuration_digest="k",
    )
    values: dict[str, Any] = {"title": case, "family": "network", "difficulty": "easy", "checks": (), "status": "completed"}
    return Trial(identity=identity, passed=passed, **{**values, **changes})
