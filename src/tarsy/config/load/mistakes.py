"""Validation of a document: pydantic's errors as problems with a remedy, and what is left of a document when its faulty parts are removed."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from copy import deepcopy
from typing import Any, TypeVar, cast, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from tarsy.config.load import retired_keys
from tarsy.config.load.source import Source
from tarsy.config.parsed_data import as_mapping
from tarsy.config.problems import KeyPath, Problem, did_you_mean, nearest
from tarsy.config.schema.documents import ProvidersDocument, TarsyDocument, key_places
from tarsy.config.schema.values import KnownNames, Section, has_effect

Document = TypeVar("Document", bound=Section)

_KINDS = {
    "int_type": "a whole number",
    "bool_type": "true or false",
    "string_type": "a text",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a mapping",
    "mapping_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}


def validate(model: type[Document], source: Source, data: Any, names: KnownNames) -> tuple[Document | None, list[Problem]]:
    """Validate a document and list every mistake. With mistakes, return the document without the faulty parts, for further checks."""
    try:
        return model.model_validate(data, context=names), []
    except ValidationError as error:
        found = error.errors(include_url=False)
    problems: list[Problem] = []
    for details in found:
        # A list counts as too short also if each of its items has a mistake of its own.
        if not (details["type"] == "too_short" and details["input"]):
            message, remedy = _describe(model, details, source.data)
            problems.append(source.problem(details["loc"], message, remedy))
    return _salvage(model, deepcopy(data), found, names), problems


def _salvage(model: type[Document], data: Any, found: Sequence[ErrorDetails], names: KnownNames) -> Document | None:
    """Remove faulty parts until the rest is valid; return None if a required key is missing at the top."""
    # Every round removes something, so this ends; a mistake in a leaf can remove its whole entry.
    while isinstance(data, dict) and found and all(details["loc"] and details["loc"][0] in data for details in found):
        faulty = {_faulty_part(data, details["loc"]) for details in found}
        # Later items of a list first, so that the indexes of the others stay the same.
        for path in sorted(faulty, key=lambda path: [(part, "") if isinstance(part, int) else (0, part) for part in path], reverse=True):
            parent = cast("Any", data)
            for part in path[:-1]:
                parent = parent[part]
            del parent[path[-1]]
        try:
            return model.model_validate(data, context=names)
        except ValidationError as error:
            found = error.errors(include_url=False)
    return None


def _faulty_part(data: Any, path: KeyPath) -> KeyPath:
    """Return the path of the faulty value, or of the part that lacks it."""
    for length in range(len(path)):
        try:
            data = data[path[length]]
        except (KeyError, IndexError, TypeError):
            return path[: length or 1]
    return path


def _describe(model: type[Section], details: ErrorDetails, document: Any) -> tuple[str, str]:
    """Return the message and the remedy for one of pydantic's errors."""
    path, value, context = details["loc"], details["input"], details.get("ctx", {})
    # Values of transports and addresses may be secret.
    is_shown = isinstance(value, str | int | float) and not {"transport", "base_url"} & set(path)
    shown = "this" if not is_shown else f'"{value}"' if isinstance(value, str) else str(value)
    message, remedy = details["msg"], ""
    match details["type"]:
        case "refused":
            message, remedy = context["message"], context["remedy"]
        case "extra_forbidden":
            message, remedy = _unknown_key(model, path, value, document)
        case "missing":
            message = f"{path[-1]} is missing"
        case "enum":
            message = f"{shown} is not one of {context['expected']}"
            options = [option.strip(" '") for option in context["expected"].replace(" or ", ",").split(",")]
            # Without a near one, no remedy: the message lists the options already.
            remedy = did_you_mean(str(value), options) if nearest(str(value), options) else ""
        case "too_short":
            message = "this list must not be empty"
        case "greater_than_equal":
            message, remedy = f"{value} is too small", f"the minimum is {context['ge']}"
        case "less_than_equal":
            message, remedy = f"{value} is too large", f"the maximum is {context['le']}"
        case kind if kind in _KINDS:
            message = f"{shown} is not {_KINDS[kind]}"
        case _:
            pass
    return message, remedy


def _unknown_key(model: type[Section], path: KeyPath, value: object, document: Any) -> tuple[str, str]:
    key = str(path[-1])
    section = section_at(model, path[:-1])
    known = section.model_fields if section else {}
    if key == retired_keys.ITERATION_STRATEGY:
        # Where an agent is only named, its type can be repeated but not changed.
        choosable = known.keys() - {"type"} if "name" in known else known.keys()
        return f"iteration_strategy: {value} is no longer a key", retired_keys.strategy_remedy(value, choosable)
    if remedy := retired_keys.replacement(retired_keys.UnknownKey(path, value, known, document)):
        return f'"{key}" is not a key of this TARSy', remedy
    if places := places_of(key, model):
        return f'"{key}" is not a key here', f"it belongs in {places}"
    # Keys that are set beside the unknown one cannot be what was meant.
    beside: Any = document
    for part in path[:-1]:
        try:
            beside = beside[part]
        except (KeyError, IndexError, TypeError):
            beside = None
    return f'unknown key "{key}"', suggest_key(key, model, useful_keys(section) - frozenset(as_mapping(beside) or {}))


def section_at(model: type[BaseModel], path: KeyPath) -> type[BaseModel] | None:
    """Return the model of the section at `path`, if there is one."""
    here: Any = model
    for part in path:
        if isinstance(here, type) and issubclass(here, BaseModel):
            field = here.model_fields.get(str(part))
            here = field.annotation if field else None
        else:
            here = get_args(here)[0 if isinstance(part, int) else -1] if get_args(here) else None
        if type(None) in get_args(here):
            here = next(option for option in get_args(here) if option is not type(None))
        if hasattr(here, "__metadata__"):
            here = get_args(here)[0]
    return here if isinstance(here, type) and issubclass(here, BaseModel) else None


_FILES: Mapping[type[BaseModel], str] = {TarsyDocument: "tarsy.yaml", ProvidersDocument: "llm-providers.yaml"}


def useful_keys(section: type[BaseModel] | None) -> frozenset[str]:
    """Return the keys of a section that have an effect; others are not suggested."""
    fields = section.model_fields.items() if section else ()
    return frozenset(name for name, info in fields if has_effect(info))


def places_of(key: str, model: type[BaseModel]) -> str:
    """Describe where a key is valid, first in its own file; empty if it is not valid anywhere."""
    for document, file in sorted(_FILES.items(), key=lambda entry: entry[0] is not model):
        if places := key_places(document).get(key):
            # Four are enough to find the right one; all of them would hide the message.
            shown = ", ".join(place or "the file itself, at the top" for place in places[:4])
            more = ", …" if len(places) > 4 else ""
            return f"{shown}{more}" if document is model else f"{shown}{more} of {file}"
    return ""


def suggest_key(key: str, model: type[BaseModel], here: AbstractSet[str]) -> str:
    """Suggest the valid key that is probably meant. If a nearer one is valid in another section, suggest that place."""
    everywhere = {name for document in _FILES for name in key_places(document)}
    near = nearest(key, everywhere | here)
    if near is None or near in here:
        return did_you_mean(key, here)
    return f'"{near}" belongs in {places_of(near, model)}'
