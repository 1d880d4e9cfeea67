"""A model judges whether quotations support what they are cited for: it can fail what code has found, and nothing else."""

from pathlib import Path
from typing import Any

import anyio
import pytest
import yaml

from support.agent_scenario import Scenario, agent, answers, calls, chain, fails, says, stage
from support.memory_run import MemoryRun
from tarsy.agent.evidence.review import read_answer
from tarsy.agent.evidence.support import Judgement, objections, parse_judgements, quoted_statements
from tarsy.config.resolve.resolved import ResolvedJudge
from tarsy.domain.budget import Ceiling
from tarsy.domain.citation import CitationStatus
from tarsy.domain.evidence import ALERT, Evidence
from tarsy.domain.interaction import LLMInteractionKind
from tarsy.domain.run_input import CeilingMet
from tarsy.domain.timeline import TimelineEventType
from tarsy.domain.verdict import Confidence

TRACK = "0.look/1.Investigator"
LOG = "03:02:11 write /data/wal: No space left on device\n03:02:12 pod web-1 evicted"
GOOD = """\
## Why

- The disk is full [A1: "No space left on device"].
- So web-1 was evicted [A1: "pod web-1 evicted"].

## Ruled out

- a crash [A1: "pod web-1 evicted"]

```verdict
outcome: fault
object: Pod/web-1
mechanism: The disk of web-1 is full.
confidence: high
since: 03:02
evidence: [A1]
category: capacity
```"""
ALL_SUPPORT = "1: supports\n2: supports\n3: supports"


def concluded(judged: Any, *, judge: ResolvedJudge | None = ResolvedJudge(), ceiling: Ceiling | None = None) -> MemoryRun:  # noqa: B008 - frozen
    """A run whose analysis is right, and whose judge answers `judged`."""

    async def go() -> MemoryRun:
        asked = [says(TRACK, 0, calls("c0", "k8s.logs", pod="web-1")), says(TRACK, 1, GOOD)]
        asked += [says(f"{TRACK}/support", 2, *judged)] if judged else []
        tools = [answers(TRACK, "c0", "k8s.logs", LOG, '{"pod": "web-1"}')]
        made = chain(stage(agent(judge=judge)), **({"budget": ceiling} if ceiling else {}))
        run = MemoryRun(Scenario(made, asked, tools, alert="web-1 is down"), TRACK)
        await run.go_on()
        return run

    return anyio.run(go)


def analysis(run: MemoryRun) -> dict[str, Any]:
    (event,) = [one for one in run.journal.events.values() if one.event_type is TimelineEventType.FINAL_ANALYSIS]
    assert event.content == GOOD.partition("\n\n```")[0]
    return dict(event.metadata)


def test_without_the_setting_nothing_is_judged() -> None:
    run = concluded((), judge=None)
    assert analysis(run)["confidence"] == {"shown": "high", "reason": ""}
    assert {call.kind for call in run.journal.llm} == {LLMInteractionKind.ITERATION}


def test_quotations_that_a_model_finds_right_stay_verified_and_its_call_is_recorded() -> None:
    run = concluded((ALL_SUPPORT,))
    assert analysis(run) == analysis(concluded((), judge=None))
    judging = run.journal.llm[-1]
    assert (judging.kind, judging.track, judging.turn) == (LLMInteractionKind.SUPPORT, f"{TRACK}/support", 2)
    shown = judging.request["messages"][-1]["content"]
    assert shown.index("No space left on device") < shown.index("pod web-1 evicted") < shown.index("The disk of web-1 is full.")


@pytest.mark.parametrize(
    ("judged", "reason", "confidence"),
    [
        (
            "1: contradicts\n2: supports\n3: supports",
            "judged by a model: the words quoted contradict the statement",
            "a link of the chain of causes cites words that do not support it, judged by a model",
        ),
        (
            "1: unrelated\n2: supports\n3: supports",
            "judged by a model: the words quoted do not bear on the statement",
            "a link of the chain of causes cites words that do not support it, judged by a model",
        ),
    ],
)
def test_a_quotation_that_does_not_support_its_statement_counts_as_failed(judged: str, reason: str, confidence: str) -> None:
    run = concluded((judged,))
    failed, *others = [one.status for one in run.journal.citations]
    assert failed is CitationStatus.FAILED
    assert set(others) == {CitationStatus.QUOTE_FOUND}
    assert run.journal.citations[0].reason == reason
    metadata = analysis(run)
    assert metadata["citations"]["failed"] == 1
    assert metadata["confidence"] == {"shown": "low", "reason": confidence}
    assert [one["severity"] for one in metadata["remarks"]] == ["failure"]


def test_a_mechanism_that_the_quotations_do_not_show_lowers_the_confidence() -> None:
    metadata = analysis(concluded(("1: supports\n2: supports\n3: unrelated",)))
    assert metadata["confidence"]["shown"] == "low"
    assert metadata["confidence"]["reason"].startswith("the mechanism is not supported: judged by a model")
    assert metadata["citations"]["failed"] == 0


@pytest.mark.parametrize(
    ("judged", "remark"),
    [
        (("I think that all is well.",), "not judged by a model: its answer could not be read"),
        (("1: supports\n2: maybe\n3: supports",), "not judged by a model: its answer could not be read"),
        (("1: supports\n2: supports\n3: supports\n3: unrelated",), "not judged by a model: its answer could not be read"),
        ((fails("provider_unavailable", "503"),), "not judged by a model: 503"),
    ],
)
def test_an_answer_that_cannot_be_read_changes_nothing_and_is_reported(judged: Any, remark: str) -> None:
    metadata = analysis(concluded(judged))
    assert metadata.pop("remarks") == [{"statement": "all quotations", "complaint": remark, "severity": "remark"}]
    assert metadata == analysis(concluded((), judge=None))


def test_without_budget_nothing_is_judged_and_that_is_reported() -> None:
    run = concluded((ALL_SUPPORT,), ceiling=Ceiling(model_calls=2))
    assert [one["complaint"] for one in analysis(run)["remarks"]] == ["not judged by a model because of its ceiling of 2 model calls"]
    assert LLMInteractionKind.SUPPORT not in {call.kind for call in run.journal.llm}
    met = [one.value.about for one in run.journal.inputs.values() if isinstance(one.value, CeilingMet)]
    assert "support" in met


@pytest.mark.parametrize(
    ("answer", "judged"),
    [
        ("1: supports\n2: Contradicts.", (Judgement.SUPPORTS, Judgement.CONTRADICTS)),
        ("**2**: unrelated\n1. supports\n", (Judgement.SUPPORTS, Judgement.UNRELATED)),
        ("1: supports", None),
        ("1: supports\n2: supports\n3: supports", None),
        ("1: supports\n1: supports", None),
        ("1: supports, 2: supports", None),
    ],
)
def test_an_answer_has_one_judgement_for_each_statement(answer: str, judged: tuple[Judgement, ...] | None) -> None:
    assert parse_judgements(answer, 2) == judged


_CORPUS = Path(__file__).parents[3] / "corpus" / "evidence" / "third"
TRUE_WORDS = sorted((_CORPUS / "dishonest").glob("*-true-words-*.md"))


@pytest.mark.parametrize("file", TRUE_WORDS, ids=lambda file: file.stem)
def test_lies_with_true_words_are_not_shown_as_certain_when_the_judge_sees_them(file: Path) -> None:
    _, front, text = file.read_text().split("---\n", 2)
    scene = yaml.safe_load((_CORPUS / "scenes" / f"{yaml.safe_load(front)['scene']}.yaml").read_text())
    fields = ("id", "text", "tool", "arguments", "failed", "refused")
    results = [Evidence(**{name: one[name] for name in fields if name in one}) for one in scene["results"]]
    review = read_answer(text).review([Evidence(id=ALERT, text=scene["alert"]), *results])
    quoted = quoted_statements(review.checked, review.verdict)
    assert review.verdict
    assert quoted
    # Which of them is the lie differs; the right judge finds the mechanism, or a link of it, unsupported.
    for wrong in range(len(quoted)):
        judgements = tuple(Judgement.UNRELATED if place == wrong else Judgement.SUPPORTS for place in range(len(quoted)))
        shown = review.judged(objections(quoted, judgements)).confidence
        assert shown
        assert shown[0] is Confidence.LOW


def test_blank_lines_of_a_judge_take_no_time() -> None:
    assert parse_judgements("\n" * 100_000 + "1: supports", 1) == (Judgement.SUPPORTS,)
