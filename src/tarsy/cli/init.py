"""`tarsy init`: write a configuration to begin with."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

TEMPLATES = Path(__file__).parent / "templates"
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
    url: Annotated[str, typer.Option(help="local-model: the address of the model server.")] = "http://localhost:11434/v1",
    model: Annotated[str, typer.Option(help="local-model: the model's name there.")] = "qwen3:32b",
    *,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")] = False,
) -> None:
    """Write commented configuration files that work as they are."""
    files = sorted(path for path in (TEMPLATES / template).iterdir() if path.is_file())
    targets = [directory / _RENAMED.get(file.name, file.name) for file in files]
    existing = [str(target) for target in targets if target.exists()]
    if existing and not force:
        typer.echo(f"Already there: {', '.join(existing)}. Use --force to overwrite, or --dir for another place.", err=True)
        raise typer.Exit(1)
    directory.mkdir(parents=True, exist_ok=True)
    for file, target in zip(files, targets, strict=True):
        target.write_text(filled(file.read_text(encoding="utf-8"), url=url, model=model), encoding="utf-8")
        typer.echo(f"wrote {target}")
    place = "" if directory == Path("config") else f" --config {directory}"
    typer.echo(f"Next: tarsy doctor{place}, then tarsy serve{place}")


def filled(text: str, *, url: str, model: str) -> str:
    """Put the address and the name in, quoted as JSON strings are: YAML reads those whatever they hold."""
    import json  # noqa: PLC0415 - only when the command runs

    return text.replace("base_url: URL", f"base_url: {json.dumps(url)}").replace("model: MODEL", f"model: {json.dumps(model)}")
