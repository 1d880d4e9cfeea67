"""`tarsy export` and `tarsy replay`: a session as a file, and the file as a session again."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from support.tarsy_process import COMMAND_SECONDS, Served, Tarsy, plain_environment, served
from support.vendor_server import VendorServer, vendor_server
from support.vendors import Answer, Call, ChatCompletions
from tarsy.db.connection import create_engine
from tarsy.db.session.recordings import RecordingSource
from tarsy.domain.recording import recording_text
from tarsy.domain.tool import vendor_name

pytestmark = [pytest.mark.xdist_group("replay"), pytest.mark.timeout(300)]

# The first, with a question, and one whose agent loads a skill; tests/contract/demo plays and replays all.
SAMPLES = ("crashloop", "stale-certificate")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, module_database_url: str) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("installation"), env={"DATABASE_URL": module_database_url}) as running:
        yield running


@pytest.fixture(scope="module")
def recordings(server: Served, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Samples, investigated by the server and exported; the first with a question asked."""
    directory = tmp_path_factory.mktemp("recordings")
    with server.client() as http:
        samples = {sample["name"]: sample for sample in http.get("/api/v1/samples").json()["samples"]}
        sessions = {name: _submitted(http, samples[name]) for name in SAMPLES}
        for session in sessions.values():
            _wait_for(http, session, "session.completed")
        asked = sessions[SAMPLES[0]]
        http.post(f"/api/v1/sessions/{asked}/chat/messages", json={"content": samples[SAMPLES[0]]["questions"][0]}).raise_for_status()
        _wait_for(http, asked, "chat.message", work="chat")
    anyio.run(_export, server.env["DATABASE_URL"], directory, sessions)
    return directory


async def _export(database_url: str, directory: Path, sessions: Mapping[str, str]) -> None:
    engine = create_engine(database_url)
    for name, session in sessions.items():
        recording = await RecordingSource(engine).read(session)
        assert recording
        (directory / f"{name}.json").write_text(recording_text(recording))
    await engine.dispose()


def _submitted(http: httpx.Client, sample: dict[str, Any]) -> str:
    alert = {"data": sample["alert_data"], "alert_type": sample["alert_type"]}
    return http.post("/api/v1/alerts", json=alert).raise_for_status().json()["session_id"]


def _wait_for(http: httpx.Client, session: str, kind: str, **fields: str) -> None:
    with http.stream("GET", f"/api/v1/sessions/{session}/events", params={"last_event_id": 0}) as events:
        for line in events.iter_lines():
            if line.startswith("data:"):
                event = json.loads(line.removeprefix("data:"))
                if event["type"] == kind and fields.items() <= event.items():
                    return


def test_exported_sessions_replay_to_the_last_byte(tarsy: Tarsy, recordings: Path, tmp_path: Path) -> None:
    run = tarsy("replay", "--check", recordings, cwd=tmp_path)
    files = sorted(recordings.glob("*.json"))
    assert len(files) == len(SAMPLES)
    assert run.stdout.splitlines() == [f"{file}: identical" for file in files], run.stdout + run.stderr
    assert (run.returncode, run.stderr) == (0, "")


def test_a_recording_is_self_contained_and_written_the_same_each_time(
    tarsy: Tarsy, server: Served, recordings: Path, tmp_path: Path
) -> None:
    recorded = json.loads((recordings / "crashloop.json").read_text())
    session = recorded["title"].removeprefix("Session ")
    again = tarsy("export", session, cwd=tmp_path, env=server.env)
    assert again.stdout == (recordings / "crashloop.json").read_text()
    assert again.stderr == ""
    assert {"alert", "chain", "calls", "catalogs", "tools", "questions", "outcome"} <= recorded.keys()
    assert all(call["request_hash"] for call in recorded["calls"])


def test_a_recording_that_was_tampered_with_is_found_out(tarsy: Tarsy, recordings: Path, tmp_path: Path) -> None:
    recorded = json.loads((recordings / "crashloop.json").read_text())
    recorded["tools"][0]["content"] = "No resources found."
    recorded["outcome"]["final_analysis"] = "It was the moon."
    (tmp_path / "tampered.json").write_text(json.dumps(recorded))
    run = tarsy("replay", "tampered.json", cwd=tmp_path)
    assert run.returncode == 1
    assert run.stdout.startswith("tampered.json: ")
    assert "  final_analysis\n  recorded: It was the moon.\n  replayed: " in run.stdout
    assert "No resources found." in run.stdout
    short = tarsy("replay", "--check", tmp_path, cwd=tmp_path)
    assert (short.returncode, len(short.stdout.splitlines())) == (1, 1)


def test_a_malformed_file_does_not_hide_what_came_of_the_others(tarsy: Tarsy, recordings: Path, tmp_path: Path) -> None:
    (tmp_path / "a-broken.yaml").write_text("kind: Pod\n")
    (tmp_path / "b-whole.json").write_text((recordings / "crashloop.json").read_text())
    (tmp_path / "c-chainless.yaml").write_text("tarsy_recording: 1\noutcome: {status: completed}\n")
    run = tarsy("replay", "--check", tmp_path, cwd=tmp_path)
    assert (run.returncode, run.stdout) == (1, f"{tmp_path / 'b-whole.json'}: identical\n")
    assert f"{tmp_path / 'a-broken.yaml'} is not a recording of TARSy: kind is not a known field." in run.stderr
    assert f"{tmp_path / 'c-chainless.yaml'}: not replayed: the recording holds no chain" in run.stderr


def test_a_live_model_without_its_key_is_reported_before_anything_else(tarsy: Tarsy, tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text("kind: Pod\n")
    run = tarsy("replay", "broken.yaml", "--live-model", "anthropic-default", cwd=tmp_path)
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr == 'The provider "anthropic-default" cannot be asked: set ANTHROPIC_API_KEY in the environment or in .env.\n'


def test_what_cannot_be_replayed_is_explained_in_a_sentence(tarsy: Tarsy, server: Served, tmp_path: Path) -> None:
    (tmp_path / "no-outcome.yaml").write_text("tarsy_recording: 1\ncalls: []\n")
    (tmp_path / "no-recording.yaml").write_text("kind: Pod\n")
    given = "inputs: [{track: t, turn: 0, kind: ceiling, fields: {room: %s}}]\n"
    (tmp_path / "no-room.yaml").write_text(given % "null")
    (tmp_path / "endless-room.yaml").write_text(given % ".inf")
    for file, part in (
        ("no-outcome.yaml", "holds no chain"),
        ("no-recording.yaml", "is not a recording of TARSy"),
        ("no-room.yaml", "has a number as `room`"),
        ("endless-room.yaml", "has a number as `room`"),
    ):
        run = tarsy("replay", file, cwd=tmp_path)
        assert run.returncode == 1
        assert part in run.stderr
        assert "Traceback" not in run.stderr
    for unknown in ("00000000-0000-0000-0000-000000000000", "tomorrow"):
        run = tarsy("export", unknown, cwd=tmp_path, env=server.env)
        assert (run.returncode, run.stderr.startswith(f"There is no session {unknown}.")) == (1, True)


async def _replay_with(
    program: tuple[str, ...], vendor: VendorServer, directory: Path, *arguments: str
) -> subprocess.CompletedProcess[bytes]:
    (directory / "config").mkdir(exist_ok=True)
    provider = {"type": "openai", "model": "qwen3:8b", "base_url": f"{vendor.url}/v1"}
    (directory / "config" / "llm-providers.yaml").write_text(json.dumps({"llm_providers": {"local": provider}}))
    with anyio.fail_after(COMMAND_SECONDS):
        return await anyio.run_process([*program, "replay", *arguments], cwd=directory, env=plain_environment(), check=False)


async def test_a_live_model_is_asked_with_the_recorded_tools_at_hand(warm: tuple[str, ...], recordings: Path, tmp_path: Path) -> None:
    model = ChatCompletions()
    async with vendor_server() as vendor:
        # The analysis cites nothing, so it is asked for once more.
        answers = (*["It was the config map."] * 2, "A config map broke it.", "The sync did.")
        vendor.replies.extend(model.reply(Answer(text=(answer,))) for answer in answers)
        run = await _replay_with(warm, vendor, tmp_path, "--live-model", "local", str(recordings / "crashloop.json"))
        asked = vendor.bodies
    answered = run.stdout.decode()
    assert run.returncode == 1, run.stderr
    assert "replayed: It was the config map." in answered
    assert len(asked) == len(answers)
    assert any("pods_list" in tool["function"]["name"] for tool in asked[0]["tools"])


async def test_a_fork_plays_the_first_steps_and_lets_the_live_model_go_on(warm: tuple[str, ...], recordings: Path, tmp_path: Path) -> None:
    recorded = json.loads((recordings / "crashloop.json").read_text())
    model, answers = ChatCompletions(), (*["Seen enough."] * 2, "Short.", "Because.")
    async with vendor_server() as vendor:
        vendor.replies.extend(model.reply(Answer(text=(answer,))) for answer in answers)
        run = await _replay_with(warm, vendor, tmp_path, "--live-model", "local", "--from-step", "2", str(recordings / "crashloop.json"))
        asked = vendor.bodies
    assert run.returncode == 1, run.stderr
    results = [message["content"] for message in asked[0]["messages"] if message["role"] == "tool"]
    assert any(recorded["tools"][0]["content"] in result for result in results)
    assert len(asked) == len(answers)


async def test_a_live_model_that_uses_a_recorded_id_for_another_call_gets_no_result_of_it(
    warm: tuple[str, ...], recordings: Path, tmp_path: Path
) -> None:
    recorded = json.loads((recordings / "crashloop.json").read_text())["tools"][0]
    model = ChatCompletions()
    arguments = json.dumps({**json.loads(recorded["arguments"]), "name": "another"})
    other = Call(recorded["call_id"], vendor_name(recorded["name"]), arguments)
    async with vendor_server() as vendor:
        vendor.replies.append(model.reply(Answer(calls=(other,))))
        vendor.replies.extend(model.reply(Answer(text=(answer,))) for answer in ("Seen enough.", "Seen enough.", "Short.", "Because."))
        await _replay_with(warm, vendor, tmp_path, "--live-model", "local", str(recordings / "crashloop.json"))
        asked = vendor.bodies
    (result,) = [message["content"] for message in asked[1]["messages"] if message["role"] == "tool"]
    assert f"The recording holds no result for this call of {recorded['name']}." in result
    assert recorded["content"] not in result


def test_live_tools_are_those_of_the_readers_own_servers(tarsy: Tarsy, recordings: Path, tmp_path: Path) -> None:
    """The simulated cluster answers again; its answers depend only on the incident."""
    recorded = json.loads((recordings / "crashloop.json").read_text())
    recorded["tools"] = []
    server = recorded["chain"]["mcp_servers"]["cluster"]
    own = {"command": sys.executable, "args": server["transport"]["args"]}
    # A program of the file's own choice.
    server["transport"] |= {"command": "/bin/sh", "args": ["-c", "touch started"]}
    (tmp_path / "without-results.json").write_text(json.dumps(recorded))
    refused = tarsy("replay", "--live-tools", "without-results.json", cwd=tmp_path)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert 'your configuration has no tool server "cluster"' in refused.stderr
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "tarsy.yaml").write_text(json.dumps({"mcp_servers": {"cluster": {"transport": {"type": "stdio", **own}}}}))
    with_tools = tarsy("replay", "--live-tools", "without-results.json", cwd=tmp_path)
    without = tarsy("replay", "without-results.json", cwd=tmp_path)
    assert "holds no result for this call" in without.stdout
    assert with_tools.stdout.startswith("without-results.json: "), with_tools.stderr
    assert "holds no result for this call" not in with_tools.stdout
    assert without.returncode == 1
    assert not (tmp_path / "started").exists()


def test_options_that_make_no_sense_are_refused(tarsy: Tarsy, recordings: Path, tmp_path: Path) -> None:
    file = recordings / "crashloop.json"
    assert "--from-step needs --live-model" in tarsy("replay", "--from-step", "1", file, cwd=tmp_path).stderr
    run = tarsy("replay", "--live-model", "gemini-2.5-por", file, cwd=tmp_path)
    assert (run.returncode, run.stderr) == (1, 'There is no provider "gemini-2.5-por"; did you mean "gemini-2.5-pro"?\n')
