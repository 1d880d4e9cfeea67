"""Where each key may stand, read off the models. Pure module."""

from collections.abc import Iterator, Mapping
from functools import cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel


@cache
def key_places(document: type[BaseModel]) -> Mapping[str, tuple[str, ...]]:
    """For each key the sections that have it, as people write them: `agent_chains.NAME.stages[]`."""
    places: dict[str, list[str]] = {}
    for key, place in _keys(document, ""):
        if place not in places.setdefault(key, []):
            places[key].append(place)
    return {key: tuple(found) for key, found in places.items()}


def _keys(model: type[BaseModel], place: str) -> Iterator[tuple[str, str]]:
    for name, field in model.model_fields.items():
        yield name, place
        inner = f"{place}.{name}" if place else name
        for section, where in _sections(field.annotation, inner):
            yield from _keys(section, where)


def _sections(annotation: Any, place: str) -> Iterator[tuple[type[BaseModel], str]]:
    """The sections within a value: the value itself, the items of a list, the entries of a mapping."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation, place
        return
    arguments, origin = get_args(annotation), get_origin(annotation)
    if origin is Annotated:
        yield from _sections(arguments[0], place)
    elif origin in {Union, UnionType}:
        for option in arguments:
            yield from _sections(option, place)
    elif origin is tuple:
        yield from _sections(arguments[0], f"{place}[]")
    elif arguments:
        yield from _sections(arguments[-1], f"{place}.NAME")
