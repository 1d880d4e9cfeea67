"""Validating a document: pydantic's errors as problems a person can act on, and the rest of the document without its mistakes."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from copy import deepcopy
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from tarsy.config.load import retired_keys
from tarsy.config.load.source import Source
from tarsy.config.parsed_data import listing, mapping
from tarsy.config.problems import KeyPath, Problem, did_you_mean, nearest
from tarsy.config.schema.documents import ProvidersDocument, TarsyDocument, key_places
from tarsy.config.schema.values import NO_EFFECT, KnownNames, Section

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
    """Build the document and list every mistake. With mistakes, what could be built without them is returned for further checks."""
    try:
        return model.model_validate(data, context=names), []
    except ValidationError as error:
        found = error.errors(include_url=False)
    problems = [_problem(model, source, details) for details in found if not _follows_from_others(details)]
    return _salvage(model, deepcopy(data), found, names), problems


def _follows_from_others(details: ErrorDetails) -> bool:
    """Whether a list only counts as empty because each of its items has a mistake of its own."""
    return details["type"] == "too_short" and bool(details["input"])


def _salvage(model: type[Document], data: Any, found: Sequence[ErrorDetails], names: KnownNames) -> Document | None:
    # Every round takes something out, so this ends; a mistake in a leaf can take its whole entry along.
    # A document without a key that it needs cannot be built at all.
    while isinstance(data, dict) and found and all(details["loc"] and details["loc"][0] in data for details in found):
        for loc in sorted({_faulty_part(data, details) for details in found}, key=_last_first, reverse=True):
            _take_out(data, loc)
        try:
            return model.model_validate(data, context=names)
        except ValidationError as error:
            found = error.errors(include_url=False)
    return None


def _last_first(path: KeyPath) -> tuple[tuple[int, str], ...]:
    return tuple((part, "") if isinstance(part, int) else (0, part) for part in path)


def _faulty_part(data: Any, details: ErrorDetails) -> KeyPath:
    """The part to take out: the value itself, or what lacks it."""
    loc = details["loc"]
    for length in range(len(loc)):
        try:
            data = data[loc[length]]
        except (KeyError, IndexError, TypeError):
            return loc[: length or 1]
    return loc


def _take_out(data: Any, path: KeyPath) -> None:
    for part in path[:-1]:
        data = data[part]
    del data[path[-1]]


def _problem(model: type[Section], source: Source, details: ErrorDetails) -> Problem:
    path = details["loc"]
    message, cure = _words(model, path, details, source.data)
    return source.problem(path, message, cure)


def _words(model: type[Section], path: KeyPath, details: ErrorDetails, document: Any) -> tuple[str, str]:
    context, value = details.get("ctx", {}), details["input"]
    message, cure = details["msg"], ""
    match details["type"]:
        case "refused":
            message, cure = context["message"], context["cure"]
        case "extra_forbidden":
            message, cure = _unknown_key(model, path, value, document)
        case "missing":
            message = f"{path[-1]} is missing"
        case "enum":
            message, cure = f"{_shown(path, value)} is not one of {context['expected']}", _near(value, context["expected"])
        case "too_short":
            message = "this list must not be empty"
        case "greater_than_equal":
            message, cure = f"{value} is too small", f"the minimum is {context['ge']}"
        case "less_than_equal":
            message, cure = f"{value} is too large", f"the maximum is {context['le']}"
        case kind if kind in _KINDS:
            message = f"{_shown(path, value)} is not {_KINDS[kind]}"
        case _:
            pass
    return message, cure


def _unknown_key(model: type[Section], path: KeyPath, value: object, document: Any) -> tuple[str, str]:
    key = str(path[-1])
    section = section_at(model, path[:-1])
    known = section.model_fields if section else {}
    if key == retired_keys.ITERATION_STRATEGY:
        # Where an agent is only named, its type can be repeated but not chosen.
        choosable = known.keys() - {"type"} if "name" in known else known.keys()
        return f"iteration_strategy: {value} is no longer a key", retired_keys.strategy_cure(value, choosable)
    if cure := retired_keys.replacement(retired_keys.Found(path, value, known, document)):
        return f'"{key}" is not a key of this TARSy', cure
    if places := places_of(key, model):
        return f'"{key}" is not a key here', f"it belongs in {places}"
    return f'unknown key "{key}"', meant_key(key, model, useful_keys(section) - _keys_at(document, path[:-1]))


def _keys_at(document: Any, path: KeyPath) -> frozenset[str]:
    """The keys that stand beside the unknown one: none of them can be what was meant."""
    here: Any = document
    for part in path:
        here = _part_of(here, part)
    return frozenset(mapping(here) or {})


def _part_of(value: Any, part: str | int) -> Any:
    if isinstance(part, str):
        return (mapping(value) or {}).get(part)
    items = listing(value) or []
    return items[part] if part < len(items) else None


def _near(value: object, expected: str) -> str:
    options = [option.strip(" '") for option in expected.replace(" or ", ",").split(",")]
    guess = did_you_mean(str(value), options)
    return guess if guess.startswith("did you mean") else ""


def _shown(path: KeyPath, value: object) -> str:
    # What is written into a transport or an address may be a secret.
    if isinstance(value, str | int | float) and not {"transport", "base_url"} & set(path):
        return f'"{value}"' if isinstance(value, str) else str(value)
    return "this"


def section_at(model: type[BaseModel], path: KeyPath) -> type[BaseModel] | None:
    """The model that describes what stands at `path`."""
    here: Any = model
    for part in path:
        if isinstance(here, type) and issubclass(here, BaseModel):
            field = here.model_fields.get(str(part))
            here = field.annotation if field else None
        else:
            here = get_args(here)[0 if isinstance(part, int) else -1] if get_args(here) else None
        here = _without_none(here)
    return here if isinstance(here, type) and issubclass(here, BaseModel) else None


def _without_none(annotation: Any) -> Any:
    options: Iterable[Any] = [option for option in get_args(annotation) if option is not type(None)]
    return _without_annotated(next(iter(options)) if type(None) in get_args(annotation) else annotation)


def _without_annotated(annotation: Any) -> Any:
    return get_args(annotation)[0] if hasattr(annotation, "__metadata__") else annotation


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
