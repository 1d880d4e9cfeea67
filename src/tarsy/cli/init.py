"""`tarsy init`: write a configuration to begin with, or add to one what it lacks."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

TEMPLATES = Path(__file__).parent / "templates"
URL = "http://localhost:11434/v1"
MODEL = "qwen3:32b"
# A file that a program reads by itself must not be written with empty keys.
_RENAMED = {"env.example": ".env.example"}


class Template(StrEnum):
    KUBERNETES = "kubernetes"
    LOCAL_MODEL = "local-model"


def init(
    template: Annotated[
        Template, typer.Argument(help="For a cluster, or for a model at an OpenAI-compatible address.")
    ] = Template.KUBERNETES,
    directory: Annotated[Path, typer.Option("--dir", metavar="DIR", help="Where to write the files.")] = Path("config"),
    url: Annotated[str | None, typer.Option(help="local-model: the address of the model server.", show_default=URL)] = None,
    model: Annotated[str | None, typer.Option(help="local-model: the model's name there.", show_default=MODEL)] = None,
    *,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")] = False,
) -> None:
    """Write commented configuration files that work as they are. Files that exist keep what they say and get what they lack."""
    files = sorted(path for path in (TEMPLATES / template).iterdir() if path.is_file())
    said = [path for path, given in (("llm_providers.local.base_url", url), ("llm_providers.local.model", model)) if given]
    elsewhere = _entries_of_pieces(directory)
    planned: list[tuple[Path, str, str]] = []
    for file in files:
        target = directory / _RENAMED.get(file.name, file.name)
        text = filled(file.read_text(encoding="utf-8"), url=url or URL, model=model or MODEL)
        text, kept = _unless_elsewhere(target, text, elsewhere)
        new, told = _added(target, text, said) if target.exists() and not force else (text, f"wrote {target}")
        planned.append((target, new, "\n".join([told, *kept])))
    directory.mkdir(parents=True, exist_ok=True)
    for target, text, told in planned:
        target.write_text(text, encoding="utf-8")
        typer.echo(told)
    place = "" if directory == Path("config") else f" --config {directory}"
    typer.echo(f"Next: tarsy doctor{place}, then tarsy serve{place}")


def _entries_of_pieces(directory: Path) -> dict[str, Path]:
    """What the files of tarsy.d say already, such as `agents.Web`, and which of them says it."""
    from tarsy.config.load.environment import piece_files
    from tarsy.config.load.source import read_source

    found: dict[str, Path] = {}
    for piece in piece_files(directory):
        found |= {f"{path[0]}.{path[1]}": piece for path in read_source(piece).places if len(path) == 2}
    return found


def _unless_elsewhere(target: Path, text: str, elsewhere: dict[str, Path]) -> tuple[str, list[str]]:
    """The template without what stands in tarsy.d, where it may not stand twice; and a line about each entry left out."""
    from tarsy.cli.yaml_merge import without
    from tarsy.config.schema.documents import TARSY_FILE

    if target.name != TARSY_FILE:
        return text, []
    kept = {entry: piece for entry, piece in elsewhere.items() if without(text, [entry]) != text}
    return without(text, kept), [f"  kept {entry} of {piece}" for entry, piece in sorted(kept.items())]


def _added(target: Path, template: str, said: list[str]) -> tuple[str, str]:
    """What becomes of a file that exists, and what to tell about it."""
    from tarsy.cli.yaml_merge import CannotMergeError, merge

    written = target.read_text(encoding="utf-8")
    if target.suffix != ".yaml":
        return written, f"kept {target}"
    try:
        merged = merge(written, template, replaced=said)
    except CannotMergeError as error:
        typer.echo(f"{target} cannot be added to: {error}. Nothing was written. Mend it, or use --force to overwrite.", err=True)
        raise typer.Exit(1) from error
    told = [f"added to {target}: {', '.join(merged.added)}" if merged.added else f"kept {target}: it has all that the template has"]
    return merged.text, "\n".join([*told, *(f"  kept your {value}" for value in merged.kept)])


def filled(text: str, *, url: str, model: str) -> str:
    """Put the address and the name in, quoted as JSON strings are: YAML reads those whatever they hold."""
    import json

    return text.replace("base_url: URL", f"base_url: {json.dumps(url)}").replace("model: MODEL", f"model: {json.dumps(model)}")
