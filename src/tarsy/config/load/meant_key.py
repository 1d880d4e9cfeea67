"""What a key that may not stand where it does was meant to be: a key that may, and only if no other key is nearer. Pure module."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from pydantic import BaseModel

from tarsy.config.parsed_data import mapping
from tarsy.config.problems import did_you_mean, nearest
from tarsy.config.schema.documents import ProvidersDocument, TarsyDocument
from tarsy.config.schema.key_places import key_places
from tarsy.config.schema.values import NO_EFFECT

_FILES: Mapping[type[BaseModel], str] = {TarsyDocument: "tarsy.yaml", ProvidersDocument: "llm-providers.yaml"}


def useful_keys(section: type[BaseModel] | None) -> frozenset[str]:
    """The keys of a section that do something; to suggest another would be bad advice."""
    fields = section.model_fields.items() if section else ()
    return frozenset(name for name, info in fields if NO_EFFECT not in (mapping(info.json_schema_extra) or {}))  # pyright: ignore[reportUnknownMemberType] - pydantic leaves it open


def places_of(key: str, model: type[BaseModel]) -> str:
    """Where a key can stand, first in its own file; empty for one that no file knows."""
    if own := key_places(model).get(key):
        return _listed(own)
    others = ((file, key_places(document).get(key)) for document, file in _FILES.items() if document is not model)
    return next((f"{_listed(places)} of {file}" for file, places in others if places), "")


def meant_key(key: str, model: type[BaseModel], here: AbstractSet[str]) -> str:
    """The key among those that may stand `here` that was probably meant. One that is nearer, but stands elsewhere, is told as that."""
    everywhere = {name for document in _FILES for name in key_places(document)}
    near = nearest(key, everywhere | here)
    if near is None or near in here:
        return did_you_mean(key, here)
    return f'"{near}" can stand in {places_of(near, model)}'


def _listed(places: Sequence[str]) -> str:
    # Four lead to the right one; all of them would hide the message.
    shown = ", ".join(place or "the file itself, at the top" for place in places[:4])
    return f"{shown}, …" if len(places) > 4 else shown
