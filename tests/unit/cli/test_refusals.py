"""What the command line refuses, and how it says so."""

import io
from pathlib import Path

import httpx
import pytest
import typer
from typer.testing import CliRunner

from tarsy.cli.client import TarsyClient, connect
from tarsy.cli.investigate import investigate
from tarsy.cli.main import app, main
from tarsy.cli.terminal import ServerRefusedError, explained
from tarsy.llm.providers.replay import RecordingFiles, RecordingUnreadableError
from tarsy.settings import CannotServeError, settings_from


def _run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, arguments)
    return result.exit_code, " ".join(result.output.split())


def test_a_certificate_is_asked_of_callers_only_over_tls(tmp_path: Path) -> None:
    authority = tmp_path / "ca.pem"
    authority.touch()
    status, answered = _run("llm-service", "--port", "0", "--tls-client-ca", str(authority))
    assert status == 2
    assert "--tls-client-ca needs" in answered


def test_a_directory_without_recordings_is_no_passed_check(tmp_path: Path) -> None:
    status, answered = _run("replay", "--check", str(tmp_path))
    assert status == 2
    assert "no recording" in answered


def test_an_alert_that_is_no_text_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"caf\xe9"), encoding="latin-1"))
    with pytest.raises(typer.Exit) as left:
        investigate("-")
    assert left.value.exit_code == 2
    assert capsys.readouterr().err.startswith("Cannot read the alert from -: ")


def test_a_terminal_that_lacks_a_letter_gets_the_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    written = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(written, encoding="cp1252"))
    monkeypatch.setattr("sys.argv", ["tarsy", "init", "--dir", str(tmp_path / "日本é")])
    with pytest.raises(SystemExit) as left:
        main()
    assert (left.value.code, b"??\xe9" in written.getvalue()) == (0, True)


def test_a_configuration_that_is_no_text_is_not_added_to(tmp_path: Path) -> None:
    (tmp_path / "tarsy.yaml").write_bytes(b"# caf\xe9\n")
    status, answered = _run("init", "--dir", str(tmp_path))
    assert (status, "it is not UTF-8 text. Nothing was written." in answered) == (1, True), answered


def test_a_configuration_keeps_its_own_line_ends(tmp_path: Path) -> None:
    (tmp_path / "tarsy.yaml").write_bytes(b"# ours\r\nqueue: {worker_count: 2}\r\n")
    status, answered = _run("init", "--dir", str(tmp_path))
    written = (tmp_path / "tarsy.yaml").read_bytes()
    assert (status, written.startswith(b"# ours\r\nqueue: {worker_count: 2}\r\n"), written.count(b"\r\n") > 2) == (0, True, True), answered
    assert written.count(b"\r\n") == written.count(b"\n")
    assert b"\r" not in (tmp_path / ".env.example").read_bytes()


def test_a_request_body_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "body").write_bytes(b"caf\xe9")
    status, answered = _run("routes", "test", str(tmp_path / "body"))
    assert (status, "FILE: this is not UTF-8 text" in answered) == (2, True), answered
    (tmp_path / "body").write_bytes(b"\n")
    status, answered = _run("routes", "test", str(tmp_path / "body"))
    assert (status, "FILE: this is empty" in answered) == (2, True), answered


def test_a_file_that_cannot_be_written_is_reported_in_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "nowhere" / "file"
    with pytest.raises(SystemExit) as left, explained():
        target.write_text("x")
    assert left.value.code == 1
    assert str(target) in capsys.readouterr().err


@pytest.mark.parametrize("speed", ["fast", "-1", "nan", "inf"])
def test_a_pace_that_means_nothing_is_refused(speed: str) -> None:
    with pytest.raises(CannotServeError, match=f'TARSY_REPLAY_SPEED is "{speed}"'):
        settings_from({"TARSY_REPLAY_SPEED": speed})


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        (("hint", "latest", " "), "the hint is empty"),
        (("ask", "latest", ""), "the question is empty"),
        (("fork", "latest", "--hint", ""), "the hint is empty"),
        (("llm-service", "--port", "99999"), "less than or equal to 65535"),
        (("tools", "call", "cluster.pods_list", "namespace=shop", "{}"), "is not key=value"),
    ],
)
def test_an_argument_that_means_nothing_is_refused_before_a_server_is_asked(arguments: tuple[str, ...], reported: str) -> None:
    status, answered = _run(*arguments)
    assert (status, reported in answered) == (2, True), answered


@pytest.mark.parametrize("text", ['{"calls": [{"x": 1}]}', "calls: [", "[]"])
def test_a_file_that_is_no_recording_is_refused_without_the_words_of_a_validator(tmp_path: Path, text: str) -> None:
    (tmp_path / "odd.json").write_text(text)
    with pytest.raises(RecordingUnreadableError, match=r"odd\.json is not a recording of TARSy: [\w. ]+\.$"):
        RecordingFiles()(str(tmp_path / "odd.json"))


def test_the_help_lists_every_command_under_a_heading_with_its_whole_description() -> None:
    status, answered = _run("--help")
    assert status == 0
    assert "Getting started" in answered
    assert "Commands" not in answered
    assert "everything else is real." in answered.replace("│", " ")


async def test_a_token_without_a_name_or_with_a_slash_in_it_is_unknown() -> None:
    client = TarsyClient(httpx.AsyncClient(base_url="http://tarsy", transport=httpx.MockTransport(lambda _request: httpx.Response(204))))
    for name in ("", "../sessions"):
        with pytest.raises(ServerRefusedError, match=f'There is no token "{name}"'):
            await client.revoke_token(name)


async def test_a_token_and_a_user_in_the_address_are_refused_together() -> None:
    with pytest.raises(ServerRefusedError, match="leave one of them out") as refused:
        async with connect("http://ana:hunter2@tarsy.example.com", "a-token"):
            pass
    assert "hunter2" not in str(refused.value)
    async with connect("http://ana:hunter2@tarsy.example.com") as client:
        assert client.url == "http://ana:hunter2@tarsy.example.com"


async def test_a_session_is_named_by_its_first_digits_if_they_are_unique() -> None:
    ids = ["4f0c6d0e-2f4b-4a57-9d1d-6a4f6f1d7e21", "4f1c6d0e-2f4b-4a57-9d1d-6a4f6f1d7e21"]

    def answer(request: httpx.Request) -> httpx.Response:
        prefix = request.url.params.get("id_prefix", "")
        return httpx.Response(
            200, json={"sessions": [{"id": one} for one in ids if one.startswith(prefix)][: int(request.url.params["limit"])]}
        )

    client = TarsyClient(httpx.AsyncClient(base_url="http://tarsy", transport=httpx.MockTransport(answer)))
    assert [await client.session_id(wanted) for wanted in ("4f0", ids[1], "latest")] == [ids[0], ids[1], ids[0]]
    for wanted, reported in (("4f", "Several sessions"), ("5", "There is no session 5."), ("../me", "There is no session ../me.")):
        with pytest.raises(ServerRefusedError, match=reported):
            await client.session_id(wanted)
