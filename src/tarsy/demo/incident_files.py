"""The files of the sample incidents."""

import re
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict

INCIDENTS = Path(__file__).parent / "incidents"


class FilePart(BaseModel):
    """A part of a file. Unknown keys are errors, so that a typo is found when the file is loaded."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class _TextLoader(yaml.CSafeLoader):
    """Loads every scalar as text: a version stays `1.10`, and a time is not a number in base sixty. Only `<<` keeps its meaning."""


_TextLoader.yaml_implicit_resolvers = {"<": [("tag:yaml.org,2002:merge", re.compile("<<"))]}


def read_yaml(path: Path) -> Any:
    """Load a file of an incident with all scalars as text; the pydantic model converts numbers."""
    return yaml.load(path.read_text(encoding="utf-8"), Loader=_TextLoader)  # noqa: S506 - a safe loader with fewer types
