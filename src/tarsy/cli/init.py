"""`tarsy init`: write a configuration to begin with, or add to one what it lacks."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

URL = "http://localhost:11434/v1"
MODEL = "qwen3:32b"


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
    """Write commented configuration files that work as they are. Existing files keep every line and get what is missing."""
    from tarsy.setup.template_files import CannotAddError, local_model, planned_files

    said = [path for path, given in (("llm_providers.local.base_url", url), ("llm_providers.local.model", model)) if given]
    try:
        planned = planned_files(template, directory, local_model(url or URL, model or MODEL), replaced=said, force=force)
    except CannotAddError as error:
        typer.echo(f"{error} Fix it, or use --force to overwrite it.", err=True)
        raise typer.Exit(1) from error
    directory.mkdir(parents=True, exist_ok=True)
    for file in planned:
        file.path.write_text(file.text, encoding="utf-8")
        typer.echo(file.told)
    place = "" if directory == Path("config") else f" --config {directory}"
    typer.echo(f"Next: tarsy doctor{place}, then tarsy serve{place}")
