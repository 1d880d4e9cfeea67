"""The files of the sample incidents."""

import re
from pathlib import Path
from typing import Any

import yaml

INCIDENTS = Path(__file__).parent / "incidents"


class _TextLoader(yaml.CSafeLoader):
    """Loads every scalar as text: a version stays `1.10`, and a time is not a number in base sixty. Only `<<` keeps its meaning."""


_TextLoader.yaml_implicit_resolvers = {"<": [("tag:yaml.org,2002:merge", re.compile("<<"))]}


def read_yaml(path: Path) -> Any:
    """Load a file of an incident with all scalars as text; the pydantic model converts numbers."""
    return yaml.load(path.read_text(encoding="utf-8"), Loader=_TextLoader)  # noqa: S506 - a safe loader with fewer types
