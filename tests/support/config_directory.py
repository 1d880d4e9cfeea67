"""A directory with configuration files, as a test writes them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from tarsy.config.load.loader import LoadedConfig, load_config
from tarsy.config.problems import ConfigError, Problem

EVERY_KEY = {
    "GOOGLE_API_KEY": "g",
    "OPENAI_API_KEY": "o",
    "ANTHROPIC_API_KEY": "a",
    "XAI_API_KEY": "x",
    "GOOGLE_CLOUD_PROJECT": "p",
    "KUBECONFIG": "/kubeconfig",
}


@dataclass
class ConfigDirectory:
    path: Path
    env: dict[str, str] = field(default_factory=lambda: dict(EVERY_KEY))

    def write(self, tarsy: str | Mapping[str, Any] = "", providers: str | Mapping[str, Any] | None = None) -> None:
        self._write("tarsy.yaml", tarsy)
        if providers is not None:
            self._write("llm-providers.yaml", providers)

    def write_piece(self, name: str, content: str | Mapping[str, Any]) -> None:
        (self.path / "tarsy.d").mkdir(exist_ok=True)
        self._write(f"tarsy.d/{name}", content)

    def _write(self, name: str, content: str | Mapping[str, Any]) -> None:
        text = content if isinstance(content, str) else yaml.safe_dump(dict(content), sort_keys=False)
        (self.path / name).write_text(text, encoding="utf-8")

    def load(self, tarsy: str | Mapping[str, Any] = "", providers: str | Mapping[str, Any] | None = None) -> LoadedConfig:
        self.write(tarsy, providers)
        return load_config(self.path, self.env)

    def problems(self, tarsy: str | Mapping[str, Any] = "", providers: str | Mapping[str, Any] | None = None) -> tuple[Problem, ...]:
        self.write(tarsy, providers)
        with pytest.raises(ConfigError) as caught:
            load_config(self.path, self.env)
        return caught.value.problems
