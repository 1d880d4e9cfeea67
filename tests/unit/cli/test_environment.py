"""What a command runs with."""

from pathlib import Path

import pytest

from tarsy.cli.doctor_checks import check_configuration, check_default_model
from tarsy.cli.environment import process_environment, process_settings
from tarsy.config.load.loader import load_config


def test_keys_and_settings_may_stand_beside_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "tarsy.yaml").touch()
    (tmp_path / "config" / ".env").write_text("OPENAI_API_KEY=near\nTARSY_API_TOKENS=alice=a\n")
    (tmp_path / ".env").write_text("OPENAI_API_KEY=far\nXAI_API_KEY=far\n")
    monkeypatch.chdir(tmp_path)
    environment = process_environment()
    assert (environment["OPENAI_API_KEY"], environment["XAI_API_KEY"]) == ("near", "far")
    assert process_settings().api_tokens == "alice=a"


def test_the_doctor_reports_what_the_environment_lacks_once_and_every_other_warning(tmp_path: Path) -> None:
    variants = "{kubernetes-server: {label: is used by chain, variants: {eu: kubernetes-server}}}"
    (tmp_path / "tarsy.yaml").write_text(f"routes: [{{name: a, group_by: [pod], tool_servers: {variants}}}]\n")
    loaded = load_config(tmp_path, {})
    assert len(loaded.warnings) == 3
    [_, warning] = check_configuration(loaded)
    assert 'alerts with different labels "is used by chain"' in warning.text


def test_the_doctor_shows_no_password_of_a_models_address(tmp_path: Path) -> None:
    (tmp_path / "tarsy.yaml").write_text("defaults: {llm_provider: own}\n")
    (tmp_path / "llm-providers.yaml").write_text(
        "llm_providers: {own: {type: openai, model: m, base_url: 'http://me:geheim@gpu.lan/v1'}}\n"
    )
    assert check_default_model(load_config(tmp_path, {})).text == "own (openai m at http://***@gpu.lan/v1)"
