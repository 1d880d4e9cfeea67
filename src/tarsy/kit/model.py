"""What checks values against their declared types, built when it is first used: a start needs few of them, and many are only parts of others."""

from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter

Value = TypeVar("Value")


class Model(BaseModel):
    """A Pydantic model that is built when its first value is made."""

    model_config = ConfigDict(defer_build=True)


@contextmanager
def built_late() -> Generator[None]:
    """Models that libraries declare meanwhile are built when they are first used, like ours."""
    before = BaseModel.model_config
    BaseModel.model_config = Model.model_config
    try:
        yield
    finally:
        BaseModel.model_config = before


@cache
def adapter(kind: type[Value]) -> TypeAdapter[Value]:
    """What reads and writes values of a plain dataclass."""
    return TypeAdapter(kind)
