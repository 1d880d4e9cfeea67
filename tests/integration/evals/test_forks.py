"""Recorded investigations, left at some step by one model and gone on with by another, on the same evidence."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest

from support.eval_cases import suite, write_case
from tarsy.config.load.loader import load_config
from tarsy.config.resolve.resolver import resolve_chain
from tarsy.config.schema.configuration import with_any_model
from tarsy.domain.recording import (
    RecordedAlert,
    RecordedCall,
    RecordedCatalog,
    RecordedChunk,
    RecordedInput,
    RecordedTool,
    RecordedToolCallChunk,
    Recording,
)
from tarsy.domain.tool import ToolDefinition
from tarsy.domain.usage import TokenUsage
from tarsy.evals.cases import Case, EvalError, load_cases, select_cases
from tarsy.evals.investigators.script import Calls, Conversation, Reply, verdict_block
from tarsy.evals.models import SCRIPTS, find_models
from tarsy.evals.plan import Plan
from tarsy.evals.run import run_evals
from tarsy.evals.trials import Trial, TrialFile
from tarsy.settings import Settings

pytestmark = [pytest.mark.timeout(180), pytest.mark.usefixtures("own_database")]
TRACK = "0.analysis/1.KubernetesAgent"
POD = json.dumps({"pod": "cart-1"})


@dataclass
class Second:
    """The model that takes over: it makes one more call, to the tool that the test names, and concludes."""

    looks: tuple[tuple[str, dict[str, Any]], ...] = ()
    received: list[Conversation] = field(default_factory=list[Conversation])

    def __call__(self, _case: Case, conversation: Conversation) -> Calls | Reply:
        self.received.append(conversation)
        if self.looks and len(self.received) == 1:
            return Calls(self.looks)
        verdict = verdict_block(
            {"outcome": "fault", "object": "Deployment/shop/cart", "mechanism": "The disk is full.", "evidence": ["A2"]}
        )
        return Reply(f'## Why\n\n- The disk is full [A2: "no space left on device"].\n\n{verdict}\n')


def ignore(_trial: Trial, _number: int, _count: int) -> None:
    """What comes of it is looked at in the end."""


def fork(directory: Path, cases: Sequence[Case], step: int, model: str = "second") -> Trial:
    loaded = load_config(None, {})
    plan = Plan(cases=tuple(cases), models=find_models(loaded, [model]), fork_at=step)
    outcome = anyio.run(run_evals, Settings(env={}), plan, TrialFile(directory / "trials.jsonl"), ignore)
    (trial,) = outcome.trials
    return trial


@pytest.fixture
def second(monkeypatch: pytest.MonkeyPatch) -> Second:
    script = Second()
    monkeypatch.setitem(SCRIPTS, "second", script)
    return script


def answered(turn: int, *chunks: RecordedChunk) -> RecordedCall:
    usage = RecordedChunk(usage=TokenUsage(input_tokens=5000, output_tokens=100, total_tokens=5100))
    return RecordedCall(track=TRACK, turn=turn, chunks=(*chunks, usage))


def calls(call_id: str) -> RecordedChunk:
    return RecordedChunk(tool_call=RecordedToolCallChunk(id=call_id, name="kube.logs", arguments=POD))


def result(call_id: str, content: str) -> RecordedTool:
    return RecordedTool(track=TRACK, call_id=call_id, name="kube.logs", arguments=POD, content=content)


def at(turn: int, kind: str, name: str, time: str) -> RecordedInput:
    return RecordedInput.model_validate({"track": TRACK, "turn": turn, "kind": kind, "name": name, "fields": {"at": time}})


RECORDING = Recording(
    tarsy_recording=2,
    alert=RecordedAlert(alert_type="kubernetes", data="CartDown: shop/cart", nonce="5eed", created_at="2026-05-01T10:00:00+00:00"),
    calls=(answered(0, calls("turn-0-0")), answered(1, calls("turn-1-0")), answered(2, RecordedChunk(text="It was the network."))),
    catalogs=(RecordedCatalog(track=TRACK, tools=(ToolDefinition(name="kube.logs"),)),),
    # The same call twice, and the world has moved in between.
    tools=(result("turn-0-0", "starting"), result("turn-1-0", "FATAL no space left on device")),
    inputs=(
        at(0, "now", "", "2026-05-01T10:00:05+00:00"),
        at(0, "read", "A1", "2026-05-01T10:00:20+00:00"),
        at(1, "read", "A2", "2026-05-01T10:01:40+00:00"),
        at(3, "now", "", "2026-05-01T10:09:59+00:00"),
    ),
)


@pytest.fixture
def case(tmp_path: Path) -> tuple[Case, ...]:
    chain = resolve_chain(with_any_model(load_config(None, {}).config), "kubernetes")
    recording = RECORDING.model_copy(update={"chain": chain.model_dump(mode="json")})
    expect = {"outcome": "fault", "must_cite": [{"text": "no space left on device"}]}
    folder = write_case(tmp_path / "cases" / "cart", world={"kind": "recording", "file": "recording.json"}, expect=expect)
    (folder / "recording.json").write_text(recording.model_dump_json(exclude_defaults=True), encoding="utf-8")
    return load_cases(tmp_path / "cases")


def test_another_model_goes_on_from_a_step_with_the_evidence_that_the_first_had(
    case: tuple[Case, ...], second: Second, tmp_path: Path
) -> None:
    trial = fork(tmp_path, case, -1)
    (received,) = second.received
    first, again = received.results
    assert "at 2026-05-01T10:00:20Z" in first
    assert "starting" in first
    assert "at 2026-05-01T10:01:40Z" in again
    assert "no space left on device" in again
    assert trial.passed, trial.failures
    assert (trial.identity.model, trial.turns, trial.tool_calls, trial.verified) == ("second from call -1", 3, 2, 1)
    # What was played was paid for when it was recorded.
    assert trial.total_tokens < 5000


def test_what_the_second_model_asks_beyond_the_recording_is_reported_with_the_nearest_call(
    case: tuple[Case, ...], second: Second, tmp_path: Path
) -> None:
    second.looks = (("logs", {"pod": "cart-2"}), ("logs", {"pod": "cart-1"}))
    trial = fork(tmp_path, case, 2)
    unknown, known = second.received[1].results[2:]
    assert 'no result of kube.logs with {"pod":"cart-2"}' in unknown
    assert '{"pod":"cart-1"}' in unknown
    assert "starting" in known
    # The clock stands where the recording was left.
    assert "at 2026-05-01T10:01:40Z" in known
    assert trial.turns == 4


def test_from_step_0_the_second_model_investigates_alone(case: tuple[Case, ...], second: Second, tmp_path: Path) -> None:
    trial = fork(tmp_path, case, 0)
    assert second.received[0].results == ()
    assert not trial.passed


def test_a_sample_is_forked_as_well(second: Second, tmp_path: Path) -> None:
    cases = select_cases(suite(), names=["sample-image-pull", "image-tag-missing"])
    trial = fork(tmp_path, cases, -1)
    # The other case has no recording.
    assert trial.identity.case == "sample-image-pull"
    assert len(second.received[0].results) == trial.tool_calls > 3


@pytest.mark.parametrize(
    ("name", "step", "model", "reported"),
    [
        ("cart", 3, "second", "cannot be forked at 3: its recording has 3 calls of the agents of chain kubernetes"),
        ("cart", -4, "second", "cannot be forked at -4"),
        ("image-tag-missing", 1, "second", "None of these cases has a recording to fork"),
        ("sample-oom-leak", 1, "second", "it is a script, and that recording is in ReAct"),
        ("cart", 1, "liar-disk", "Adversaries, such as liar-disk, investigate from the beginning: run them without --fork"),
    ],
)
@pytest.mark.usefixtures("second")
def test_what_cannot_be_forked_is_reported_in_a_sentence(
    name: str, step: int, model: str, reported: str, case: tuple[Case, ...], tmp_path: Path
) -> None:
    with pytest.raises(EvalError, match=reported):
        fork(tmp_path, select_cases([*case, *suite()], names=[name]), step, model)
