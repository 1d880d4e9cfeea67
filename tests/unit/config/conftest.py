"""A configuration directory of its own for each test."""

from pathlib import Path

import pytest

from support.config_directory import ConfigDirectory


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ConfigDirectory:
    # Neither ./config nor ./.env of whoever runs the tests may count.
    other = tmp_path / "elsewhere"
    other.mkdir()
    monkeypatch.chdir(other)
    path = tmp_path / "given"
    path.mkdir()
    return ConfigDirectory(path)
