"""`tarsy eval` as a person runs it: measured, compared, killed and continued, and cases made of what happened."""

import json
import os
import pty
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
import yaml

from support.tarsy_process import Tarsy, plain_environment
from support.tarsy_process import tarsy as cold_tarsy
from tarsy.db.connection import create_engine
from tarsy.db.outbox import Publisher
from tarsy.db.session.repository import SessionRepository

# A database is started for each run.
pytestmark = [pytest.mark.xdist_group("evals"), pytest.mark.timeout(300)]
NAMES = ("--case", "image-tag-missing", "--case", "rollout-readiness-path", "--case", "healthy-planned-maintenance")
# What a run measures anew each time.
MEASURED = {"seconds"}


def report_of(directory: Path) -> Any:
    return json.loads((directory / "eval-results" / "report.json").read_text(encoding="utf-8"))


def results(directory: Path) -> list[Mapping[str, Any]]:
    return [{name: value for name, value in one.items() if name not in MEASURED} for one in report_of(directory)["trials"]]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, warm: tuple[str, ...]) -> Path:
    directory = tmp_path_factory.mktemp("undisturbed")
    done = cold_tarsy("eval", "run", "--model", "oracle", *NAMES, cwd=directory, command=warm)
    assert done.returncode == 0, done.stderr
    assert "[3/3] pass  oracle" in done.stdout
    return directory


def test_a_run_writes_its_reports_and_is_not_repeated(undisturbed: Path, tarsy: Tarsy) -> None:
    names = {path.name for path in (undisturbed / "eval-results").iterdir()}
    assert names == {"trials.jsonl", "report.json", "report.xml", "report.html"}
    (summary,) = report_of(undisturbed)["summaries"]
    assert summary["pass_at_1"]["mean"] == 1.0
    again = tarsy("eval", "run", "--model", "oracle", *NAMES, cwd=undisturbed)
    assert again.returncode == 0
    assert "[1/" not in again.stdout


def test_a_killed_run_goes_on_where_it_was_and_comes_to_the_same(
    undisturbed: Path, tmp_path: Path, warm: tuple[str, ...], tarsy: Tarsy
) -> None:
    command = [*warm, "eval", "run", "--model", "oracle", "--jobs", "1", *NAMES]
    with subprocess.Popen(command, cwd=tmp_path, env=plain_environment(), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline().startswith("[1/3] pass")
        process.send_signal(signal.SIGKILL)
    kept = (tmp_path / "eval-results" / "trials.jsonl").read_bytes()
    assert 1 <= kept.count(b"\n") < 3
    done = tarsy("eval", "run", "--model", "oracle", *NAMES, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "[1/3]" not in done.stdout
    assert (tmp_path / "eval-results" / "trials.jsonl").read_bytes().startswith(kept)
    assert results(tmp_path) == results(undisturbed)


def test_worse_than_the_baseline_is_exit_status_1(undisturbed: Path, tmp_path: Path, tarsy: Tarsy) -> None:
    baseline = undisturbed / "eval-results" / "report.json"
    done = tarsy("eval", "run", "--model", "silent", *NAMES, "--baseline", baseline, cwd=tmp_path)
    assert done.returncode == 1
    assert "oracle → silent: Regression: pass@1 100 % → 0 % on 3 cases" in done.stdout
    compared = tarsy("eval", "compare", tmp_path / "eval-results" / "report.json", baseline, cwd=tmp_path)
    assert compared.returncode == 0
    assert "Progress" in compared.stdout


def test_recorded_results_become_a_case(tmp_path: Path, tarsy: Tarsy) -> None:
    recorded = tmp_path / "outputs"
    recorded.mkdir()
    (recorded / "a.json").write_text(json.dumps({'kubectl_logs:{"pod": "cart-1"}': "FATAL no space left on device"}), encoding="utf-8")
    (tmp_path / "alert.txt").write_text("[FIRING] CartDown namespace: shop", encoding="utf-8")
    expect = ("--expect", "outcome=fault", "--expect", "cite=no space left on device", "--expect", "mechanism=full")
    made = tarsy("eval", "import", "snapshot", recorded, "--alert", "alert.txt", *expect, "--reference", "The disk is full.", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    listed = tarsy("eval", "list", "evals", cwd=tmp_path)
    assert "CartDown" in listed.stdout
    # Words that anyone would guess, and no object: the case can be gamed, and its name is printed.
    gamed = tarsy("eval", "run", "evals", "--adversaries", cwd=tmp_path)
    assert gamed.returncode == 1
    assert "  liar-disk              100 %  outputs\n" in gamed.stdout
    assert "  liar-memory              0 %  \n" in gamed.stdout
    assert "These cases can be gamed" in gamed.stdout
    again = tarsy("eval", "import", "snapshot", recorded, "--alert", "alert.txt", *expect, cwd=tmp_path)
    assert (again.returncode, "exists already" in again.stderr) == (1, True)


def at_a_terminal(command: list[str], answers: str, directory: Path, env: Mapping[str, str], status: int = 0) -> str:
    """The output of a command whose questions are answered at a terminal."""
    ours, its = pty.openpty()
    os.write(ours, answers.encode())
    done = subprocess.run(
        command, cwd=directory, env={**plain_environment(), **env}, stdin=its, capture_output=True, text=True, check=False
    )
    os.close(ours)
    os.close(its)
    assert done.returncode == status, done.stderr
    return done.stdout + done.stderr


def test_a_finished_session_becomes_a_case_that_can_be_run(tmp_path: Path, database_url: str, tarsy: Tarsy, warm: tuple[str, ...]) -> None:
    env = {"DATABASE_URL": database_url, "TARSY_REPLAY_SPEED": "0"}
    assert tarsy("demo", "image-pull", "--fast", cwd=tmp_path, env=env).returncode == 0
    session = anyio.run(_only_session, database_url)
    refused = tarsy("eval", "add", session, cwd=tmp_path, env=env)
    assert "there is no terminal to ask" in refused.stderr
    assert "--expect mechanism=word,word" in refused.stderr
    added = tarsy("eval", "add", "latest", "--yes", cwd=tmp_path, env=env)
    assert (added.returncode, (tmp_path / "evals" / session / "case.yaml").is_file()) == (0, True), added.stderr
    # The first three answers are typed, and the last one is what the verdict suggests.
    answers = "The image was built for arm64.\narm64|architecture,image\ncredentials, the registry\n\n"
    asked = at_a_terminal([*warm, "eval", "add", session, "--name", "pulled"], answers, tmp_path, env)
    assert "The true cause" in asked
    expect = yaml.safe_load((tmp_path / "evals" / "pulled" / "case.yaml").read_text(encoding="utf-8"))["expect"]
    assert expect["mechanism"] == {"any_of": [["arm64|architecture", "image"]], "none_of": [["credentials"], ["the registry"]]}
    assert len(expect["must_cite"]) == 2
    # Words with a number beside them are words, here of no tool result.
    worded = at_a_terminal([*warm, "eval", "add", session, "--name", "worded"], "\n\n\nOOMKilled, 137\n", tmp_path, env, status=1)
    assert 'No tool result holds "OOMKilled, 137", so it cannot be cited.' in worded
    # What a person found out is the label: nobody is asked.
    judged = ("--accuracy", "partly", "--cause", "The arm64 image does not run on amd64 nodes.")
    assert session in tarsy("sessions", "list", "--unreviewed", cwd=tmp_path, env=env).stdout
    reviewed = tarsy("review", session, "useful", *judged, "--acknowledge", "--assign", "ana", cwd=tmp_path, env=env)
    assert tarsy("sessions", "list", "--unreviewed", cwd=tmp_path, env=env).stdout == "There are no sessions.\n"
    assert (reviewed.returncode, reviewed.stdout.startswith("useful, partly, by command line")) == (0, True), reviewed.stderr
    assert "\nacknowledged by command line, " in reviewed.stdout
    assert "\nassigned to ana\n" in reviewed.stdout
    added = tarsy("eval", "add", session, "--name", "reviewed", cwd=tmp_path, env=env)
    assert added.returncode == 0, added.stderr
    case = yaml.safe_load((tmp_path / "evals" / "reviewed" / "case.yaml").read_text(encoding="utf-8"))
    assert case["reference"] == "The arm64 image does not run on amd64 nodes."
    assert "arm64" in case["expect"]["mechanism"]["any_of"][0]
    assert "object" not in case["expect"]
    done = tarsy("eval", "run", "evals", "--model", "oracle", "--model", "silent", cwd=tmp_path, env=env)
    assert "pass  oracle  reviewed" in done.stdout, done.stdout + done.stderr
    assert "pass  oracle  pulled" in done.stdout, done.stdout + done.stderr
    assert f"pass  oracle  {session}" in done.stdout
    assert "FAIL  silent  pulled" in done.stdout
    # The run had a database of its own: in the installation's there is what there was.
    assert anyio.run(_only_session, database_url) == session
    unknown = tarsy("eval", "add", "nothing", cwd=tmp_path, env=env)
    assert "There is no session nothing" in unknown.stderr


async def _only_session(database_url: str) -> str:
    engine = create_engine(database_url)
    try:
        (session,) = (await SessionRepository(Publisher(engine)).list()).sessions
        return session.id
    finally:
        await engine.dispose()


def test_wrong_options_and_cases_are_reported_in_a_sentence(tmp_path: Path, tarsy: Tarsy) -> None:
    assert "there is no case here" in tarsy("eval", "run", tmp_path, "--model", "oracle", cwd=tmp_path).stderr
    assert "No case has all of these" in tarsy("eval", "list", "--tag", "nothing", cwd=tmp_path).stderr
    refused = tarsy("eval", "run", "--model", "oracle", "--budget", "plenty", cwd=tmp_path)
    assert (refused.returncode, refused.stderr.strip()) == (1, '"plenty" is no budget: write 5usd or 2Mtokens.')
    provider = "llm_providers: {own: {type: openai, model: m, base_url: 'http://127.0.0.1:1/v1'}}"
    (tmp_path / "configured").mkdir()
    (tmp_path / "configured" / "llm-providers.yaml").write_text(provider)
    for place, known in (((), False), (("--config", "configured"), True)):
        stderr = tarsy("eval", "run", "--model", "owm", *place, cwd=tmp_path).stderr
        assert ('There is no model "owm"' in stderr, 'did you mean "own"?' in stderr) == (True, known), stderr
    listed = tarsy("eval", "list", "--tag", "injection", cwd=tmp_path)
    assert "injected-alert" in listed.stdout
