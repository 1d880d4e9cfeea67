"""The files of a template, filled in and merged with what stands there already. Nothing is written here."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from tarsy.config.load.environment import piece_files
from tarsy.config.load.source import read_source
from tarsy.config.schema.documents import TARSY_FILE
from tarsy.setup.yaml_merge import CannotMergeError, merge, without

TEMPLATES = Path(__file__).parent / "templates"
# A file that a program reads by itself must not be written with empty keys.
_RENAMED = {"env.example": ".env.example"}


class CannotAddError(Exception):
    """A file that exists cannot be added to; its author can act."""

    def __init__(self, path: Path, error: CannotMergeError) -> None:
        super().__init__(f"{path} cannot be added to: {error}. Nothing was written.")


@dataclass(frozen=True, slots=True)
class PlannedFile:
    path: Path
    text: str
    # For people: what becomes of the file.
    told: str


def planned_files(
    template: str, directory: Path, filling: Mapping[str, str], *, replaced: Collection[str] = (), force: bool = False
) -> tuple[PlannedFile, ...]:
    """What a template makes of `directory`; the values at the paths `replaced` become the template's.

    Raises:
        CannotAddError: a file there is not YAML, or not a mapping.
    """
    elsewhere = _entries_of_pieces(directory)
    files = sorted(path for path in (TEMPLATES / template).iterdir() if path.is_file())
    return tuple(_planned(file, directory, filling, elsewhere, replaced=replaced, force=force) for file in files)


def _planned(
    file: Path, directory: Path, filling: Mapping[str, str], elsewhere: Mapping[str, Path], *, replaced: Collection[str], force: bool
) -> PlannedFile:
    target = directory / _RENAMED.get(file.name, file.name)
    text, kept = _unless_elsewhere(target, filled(file.read_text(encoding="utf-8"), filling), elsewhere)
    new, told = _added(target, text, replaced) if target.exists() and not force else (text, f"wrote {target}")
    return PlannedFile(target, new, "\n".join([told, *kept]))


def filled(text: str, filling: Mapping[str, str]) -> str:
    """Put values in for the words that stand for them, quoted as JSON strings are: YAML reads those whatever they hold."""
    for place, value in filling.items():
        text = text.replace(place, f"{place.partition(':')[0]}: {json.dumps(value)}")
    return text


def local_model(url: str, model: str) -> Mapping[str, str]:
    """How the template `local-model` is filled in."""
    return {"base_url: URL": url, "model: MODEL": model}


def _entries_of_pieces(directory: Path) -> dict[str, Path]:
    """What the files of tarsy.d say already, such as `agents.Web`, and which of them says it."""
    found: dict[str, Path] = {}
    for piece in piece_files(directory):
        found |= {f"{path[0]}.{path[1]}": piece for path in read_source(piece).places if len(path) == 2}
    return found


def _unless_elsewhere(target: Path, text: str, elsewhere: Mapping[str, Path]) -> tuple[str, list[str]]:
    """The template without what stands in tarsy.d, where it may not stand twice; and a line about each entry left out."""
    if target.name != TARSY_FILE:
        return text, []
    kept = {entry: piece for entry, piece in elsewhere.items() if without(text, [entry]) != text}
    return without(text, kept), [f"  kept {entry} of {piece}" for entry, piece in sorted(kept.items())]


def _added(target: Path, template: str, replaced: Collection[str]) -> tuple[str, str]:
    """What becomes of a file that exists, and what to tell about it."""
    written = target.read_text(encoding="utf-8")
    if target.suffix != ".yaml":
        return written, f"kept {target}"
    try:
        merged = merge(written, template, replaced=replaced)
    except CannotMergeError as error:
        raise CannotAddError(target, error) from error
    told = [f"added to {target}: {', '.join(merged.added)}" if merged.added else f"kept {target}: it has all that the template has"]
    return merged.text, "\n".join([*told, *(f"  kept your {value}" for value in merged.kept)])
