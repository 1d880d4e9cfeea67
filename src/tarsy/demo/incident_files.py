"""The files of the sample incidents. What a world of them may say is apart: a server lists the samples long before it plays one."""

import re
from pathlib import Path
from typing import Any

import yaml

INCIDENTS = Path(__file__).parent / "incidents"


class _TextLoader(yaml.CSafeLoader):
    """Reads every scalar as text: a version stays `1.10`, a clock time is not a number in base sixty. Only `<<` keeps its meaning."""


_TextLoader.yaml_implicit_resolvers = {"<": [("tag:yaml.org,2002:merge", re.compile("<<"))]}


def read_yaml(path: Path) -> Any:
    """Read one of the incidents' files; the model that validates it turns text into numbers where numbers are meant."""
    return yaml.load(path.read_text(encoding="utf-8"), Loader=_TextLoader)  # noqa: S506 - a safe loader with fewer types
