"""Cases, attempts and trials for tests of the evals."""

import json
from collections.abc import Mapping
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import yaml

from tarsy.agent.evidence.checker import Seen, check
from tarsy.agent.evidence.review import read_answer
from tarsy.agent.evidence.verdict import read_verdict
from tarsy.agent.prompt.fence import result_line
from tarsy.demo.chain import SERVER
from tarsy.domain.evidence import ALERT, Evidence
from tarsy.evals.attempts import Attempt, CitedEvidence, cited_evidence
from tarsy.evals.cases import SUITE, Case, CaseFile, load_cases
from tarsy.evals.investigators.script import Conversation, Reply, Script
from tarsy.evals.trials import Trial, TrialIdentity
from tarsy.evals.worlds.loading import open_world
from tarsy.evals.worlds.world import ToolAnswer
from tarsy.tools.masking import Masker

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


@cache
def suite() -> tuple[Case, ...]:
    """Return the cases that ship, read once."""
    return load_cases(SUITE)


def case_file(**changes: Any) -> CaseFile:
    return CaseFile.model_validate({**CASE, **changes})


def expecting(**changes: Any) -> CaseFile:
    """A case with these changes of its expectation."""
    return case_file(expect={**CASE["expect"], **changes})


def write_case(directory: Path, *, world_text: str = "now: 2026-03-10T09:00:00Z\nnamespaces: [shop]\n", **changes: Any) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "case.yaml").write_text(yaml.safe_dump({**CASE, **changes}, sort_keys=False), encoding="utf-8")
    (directory / "world.yaml").write_text(world_text, encoding="utf-8")
    return directory


def attempt_on(answer: str, seen: dict[str, str], **changes: Any) -> Attempt:
    """An attempt that answered so after it had seen these results."""
    verdict = read_verdict(answer)
    results = Seen({name: Evidence(id=name, text=text, tool="kube.logs") for name, text in seen.items()})
    cited = cited_evidence(check(answer, results, verdict), results)
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


def investigated(scripts: Mapping[str, Script], case: Case) -> dict[str, Attempt]:
    """What scripts make of a case, without the pipeline: the world answers their calls, and their citations are checked.

    What several scripts do alike is done once: they look at much, and checking hundreds of quotations is the slow part.
    """
    world, mask = open_world(case), Masker.for_group("kubernetes")
    names = tuple(tool.name for tool in world.tools)
    alert = Evidence(id=ALERT, text=case.file.alert)

    @cache
    def answered(number: int, tool: str, arguments: str) -> Evidence:
        name = f"{SERVER}.{tool}"
        answer = world.answer(name, json.loads(arguments)) if name in names else ToolAnswer("There is no such tool.", is_error=True)
        return Evidence(id=f"A{number}", text=mask(answer.text), tool=name, arguments=arguments, failed=answer.is_error, read_at=world.now)

    @cache
    def shown(one: Evidence) -> str:
        return f"{result_line(one.id, one.tool, one.arguments, one.read_at)}{' failed:' if one.failed else ''}\n{one.text}"

    @cache
    def cited(text: str, evidence: tuple[Evidence, ...]) -> tuple[CitedEvidence, ...]:
        seen = Seen({one.id: one for one in (alert, *evidence)})
        return cited_evidence(check(text, seen), seen)

    attempts: dict[str, Attempt] = {}
    for script_name, script in scripts.items():
        evidence: tuple[Evidence, ...] = ()
        for rounds in count():
            conversation = Conversation(names, rounds, tuple(map(shown, evidence)), definitions=tuple(world.tools))
            reply = script(case, conversation)
            if isinstance(reply, Reply):
                answer = read_answer(reply.text)
                found = cited(answer.text, evidence)
                attempts[script_name] = Attempt(status="completed", analysis=answer.text, verdict=answer.parsed.verdict, cited=found)
                break
            wanted = enumerate(reply.wanted, start=len(evidence) + 1)
            evidence += tuple(answered(number, tool, json.dumps(arguments)) for number, (tool, arguments) in wanted)
    return attempts
