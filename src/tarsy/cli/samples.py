"""`tarsy samples` and `tarsy demo`: incidents to try without a key, a cluster or a configuration."""

from typing import Annotated

import typer

from tarsy.cli.environment import process_settings

app = typer.Typer(no_args_is_help=True)


@app.command("list")
def list_all() -> None:
    """List the sample incidents and what each is about."""
    from tarsy.demo.samples import list_samples

    for sample in list_samples():
        typer.echo(f"{sample.name:<14} {sample.title}")


def demo(
    name: Annotated[str | None, typer.Argument(help="A sample incident.", show_default="the first one")] = None,
    *,
    fast: Annotated[bool, typer.Option("--fast", help="Do not wait for the recorded model to think.")] = False,
    ask: Annotated[bool, typer.Option("--ask", help="Afterwards, ask the questions that come with the sample.")] = False,
) -> None:
    """Watch TARSy investigate a sample incident. The tools are a simulated cluster; without a vendor's key the model's answers are recorded; everything else is real."""
    import anyio

    from tarsy.cli.live_view import run_sample
    from tarsy.config.load.loader import load_config
    from tarsy.demo.samples import UnknownSampleError, list_samples, load_sample
    from tarsy.installation import sample_model

    try:
        sample = load_sample(name) if name else list_samples()[0]
    except UnknownSampleError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from error
    settings = process_settings(replay_speed=0.0 if fast else None)
    model = sample_model(load_config(settings.config_dir, settings.env).config)
    told = f"The model is {model.model} ({model.name})" if model else "The model is recorded"
    typer.echo(f"{sample.title}\n{sample.description}\n{told}; the cluster is simulated.\n")
    questions = sample.questions if ask else ()
    succeeded = anyio.run(run_sample, settings, sample.alert_data, sample.alert_type, questions)
    raise typer.Exit(0 if succeeded else 1)
