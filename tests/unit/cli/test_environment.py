"""What a command runs with."""

from pathlib import Path

import pytest

from tarsy.cli.environment import process_environment, process_settings


def test_keys_and_settings_may_stand_beside_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "tarsy.yaml").touch()
    (tmp_path / "config" / ".env").write_text("OPENAI_API_KEY=near\nTARSY_API_TOKENS=alice=a\n")
    (tmp_path / ".env").write_text("OPENAI_API_KEY=far\nXAI_API_KEY=far\n")
    monkeypatch.chdir(tmp_path)
    environment = process_environment()
    assert (environment["OPENAI_API_KEY"], environment["XAI_API_KEY"]) == ("near", "far")
    assert process_settings().api_tokens == "alice=a"
