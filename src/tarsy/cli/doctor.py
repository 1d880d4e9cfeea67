"""`tarsy doctor`: look at everything TARSy needs and say what to do about what is missing."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tarsy.cli.environment import process_settings

if TYPE_CHECKING:
    from tarsy.settings import Settings
    from tarsy.setup.trials import Finding


def doctor(
    config: Annotated[Path | None, typer.Option(envvar="TARSY_CONFIG_DIR", help="Directory of the configuration files.")] = None,
    host: Annotated[str, typer.Option(help="The address you want to serve on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port you want to serve on.")] = 8080,
    *,
    call: Annotated[
        bool, typer.Option("--call", help="Make one small call to every model in use. This may cost a fraction of a cent.")
    ] = False,
) -> None:
    """Check Python, database, configuration, keys, tool servers and port. Exit status 1 if something needs fixing."""
    import logging

    import anyio

    from tarsy.kit.logs import configure_logs

    # What would be logged is a finding, told in full.
    configure_logs(level=logging.CRITICAL)
    healthy = anyio.run(_examine, config, host, port, call)
    raise typer.Exit(0 if healthy else 1)


async def _examine(config: Path | None, host: str, port: int, call: bool) -> bool:  # noqa: FBT001 - anyio.run passes by position
    from tarsy.setup.trials import Verdict

    failed = 0
    async for finding in _findings(config, host, port, call=call):
        typer.echo(str(finding))
        failed += finding.verdict is Verdict.FAIL
    typer.echo(f"\n{failed} to fix." if failed else "\nReady. Start it with: tarsy serve")
    return not failed


async def _findings(config: Path | None, host: str, port: int, *, call: bool) -> "AsyncGenerator[Finding]":
    from tarsy.cli import checkup as machine
    from tarsy.config.problems import ConfigError
    from tarsy.settings import CannotServeError
    from tarsy.setup.trials import fail

    yield machine.check_python()
    try:
        settings = process_settings(config)
    except (ConfigError, CannotServeError) as error:
        yield fail("settings", str(error))
        return
    disk = machine.check_disk(settings)
    if disk:
        yield disk
    async for finding in machine.check_database(settings):
        yield finding
    yield await machine.check_port(host, port)
    async for finding in _configured(settings, host, call=call):
        yield finding


async def _configured(settings: "Settings", host: str, *, call: bool) -> "AsyncGenerator[Finding]":
    from tarsy.cli import checkup
    from tarsy.cli.checkup import check_dotenv, price_remarks
    from tarsy.config.load.loader import load_config
    from tarsy.config.problems import ConfigError
    from tarsy.setup.trials import warn
    from tarsy.wiring import llm_client

    try:
        loaded = load_config(settings.config_dir, settings.env)
    except ConfigError as error:
        for finding in checkup.check_configuration(error):
            yield finding
        return
    found = (check_dotenv(loaded.directory), checkup.check_login(host, settings, loaded.config))
    prices = [warn("configuration", str(remark)) for remark in await price_remarks(loaded)]
    for finding in (*checkup.check_configuration(loaded), *prices, *filter(None, found), *checkup.check_keys(loaded)):
        yield finding
    client = llm_client(settings, loaded.env)
    try:
        if settings.llm_service_addr:
            yield await checkup.check_llm_service(settings.llm_service_addr, client)
        if call:
            async for finding in checkup.check_calls(loaded, client):
                yield finding
    finally:
        await client.aclose()
    for finding in await checkup.check_tools(loaded):
        yield finding
