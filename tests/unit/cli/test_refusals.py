"""What the command line refuses, and how it says so."""

import io
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from tarsy.cli.investigate import investigate
from tarsy.cli.main import app
from tarsy.cli.terminal import explained
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


def test_a_file_that_cannot_be_written_is_told_in_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "nowhere" / "file"
    with pytest.raises(SystemExit) as left, explained():
        target.write_text("x")
    assert left.value.code == 1
    assert str(target) in capsys.readouterr().err


@pytest.mark.parametrize("speed", ["fast", "-1", "nan", "inf"])
def test_a_pace_that_means_nothing_is_refused(speed: str) -> None:
    with pytest.raises(CannotServeError, match=f'TARSY_REPLAY_SPEED is "{speed}"'):
        settings_from({"TARSY_REPLAY_SPEED": speed})
