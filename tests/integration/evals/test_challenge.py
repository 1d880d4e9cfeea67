"""Whether a challenge pays: a model that blames the first error in sight, with and without a second agent that tries to refute it."""

from pathlib import Path

import anyio
import pytest

from support.eval_cases import suite
from support.replaying import replayed
from tarsy.config.load.loader import load_config
from tarsy.db.connection import create_engine
from tarsy.db.outbox import Publisher
from tarsy.db.session.recordings import RecordingSource
from tarsy.db.session.repository import SessionRepository
from tarsy.domain.recording import Recording
from tarsy.evals.cases import select_cases
from tarsy.evals.models import find_models
from tarsy.evals.plan import Plan
from tarsy.evals.run import run_evals
from tarsy.evals.trials import Trial, TrialFile
from tarsy.settings import Settings

pytestmark = [pytest.mark.timeout(180), pytest.mark.usefixtures("own_database")]
# One that only a second look finds, one that is right at once, one that is wrong either way.
NAMES = ("resources-limit-lowered", "image-tag-missing", "network-dns-upstream")


def ignore(_trial: Trial, _number: int, _count: int) -> None:
    """What comes of it is looked at in the end."""


def measured(directory: Path, *, challenge: bool, names: tuple[str, ...] = NAMES) -> dict[str, Trial]:
    models = find_models(load_config(None, {}), ["overconfident"])
    plan = Plan(cases=select_cases(suite(), names=names), models=models, challenge=challenge)
    outcome = anyio.run(run_evals, Settings(env={}), plan, TrialFile(directory / f"{challenge}.jsonl"), ignore)
    return {trial.identity.case: trial for trial in outcome.trials}


def test_an_overconfident_model_scores_better_where_its_verdicts_are_challenged(tmp_path: Path) -> None:
    alone, challenged = measured(tmp_path, challenge=False), measured(tmp_path, challenge=True)
    assert {name for name, trial in alone.items() if trial.passed} == {"image-tag-missing"}
    assert {name for name, trial in challenged.items() if trial.passed} == {*NAMES} - {"network-dns-upstream"}
    # It costs a second, shorter investigation, and one more answer where it was refuted.
    assert all(trial.turns > alone[name].turns for name, trial in challenged.items())
    refuted, upheld = challenged["resources-limit-lowered"], challenged["image-tag-missing"]
    assert refuted.turns > upheld.turns
    assert upheld.analysis == alone["image-tag-missing"].analysis
    # The revised answer cites what the first agent and the challenger saw.
    assert {"A3", "B3"} <= set(refuted.verdict["evidence"])


def test_a_challenged_session_replays_exactly(tmp_path: Path, database_url: str) -> None:
    measured(tmp_path, challenge=True, names=("resources-limit-lowered",))
    recording = anyio.run(_only_recording, database_url)
    assert [call.track.partition("/")[0] for call in recording.calls if call.turn == 0] == ["0.analysis", "1.challenge", "2.revision"]
    assert anyio.run(replayed, database_url, recording) == []


async def _only_recording(database_url: str) -> Recording:
    engine = create_engine(database_url)
    try:
        (session,) = (await SessionRepository(Publisher(engine)).list()).sessions
        found = await RecordingSource(engine).read(session.id)
        assert found is not None
        return found
    finally:
        await engine.dispose()
