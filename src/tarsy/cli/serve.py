"""`tarsy serve`: the API, the dashboard and the workers, in one process or in several."""

import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from tarsy.cli.environment import process_settings
from tarsy.settings import PROCESS_NAME, CannotServeError, Role, Settings


def serve(
    host: Annotated[
        str, typer.Option(help="Address to listen on; any address except loopback needs a login (see TARSY_API_TOKENS).")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes any free one.")] = 8080,
    role: Annotated[Role, typer.Option(help="Serve the API and dashboard, run sessions, or both.")] = Role.ALL,
    config: Annotated[Path | None, typer.Option(envvar="TARSY_CONFIG_DIR", help="Directory of the configuration files.")] = None,
    processes: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=64,
            help="Number of worker processes, besides one for the API and dashboard; 1: everything in one process. Unset: chosen from queue.max_concurrent_sessions and the cores.",
        ),
    ] = None,
    *,
    insecure: Annotated[bool, typer.Option("--insecure", help="Listen on other addresses than loopback without a login.")] = False,
) -> None:
    """Start TARSy and print the address to open."""
    import anyio

    from tarsy.kit.logs import configure_logs
    from tarsy.server import run_server

    configure_logs(process=os.environ.get(PROCESS_NAME))
    settings = process_settings(config, host=host, port=port, role=role, insecure=insecure)
    count = processes or (_fitting(settings) if role is Role.ALL else 1)
    if count > 1:
        raise typer.Exit(_several(count, settings))
    # Measured: a session costs a twentieth less CPU than on the standard loop, which is what platforms without it get.
    anyio.run(run_server, settings, backend_options={"use_uvloop": find_spec("uvloop") is not None})


def _fitting(settings: Settings) -> int:
    from tarsy.processes import CORES_PER_PROCESS, cores, default_processes

    if (usable := cores()) < 2 * CORES_PER_PROCESS:
        # Whatever the configuration says: it need not be read twice.
        return 1
    from tarsy.config.load.loader import load_config

    return default_processes(usable, load_config(settings.config_dir, settings.env).config.queue.max_concurrent_sessions)


def _several(count: int, settings: Settings) -> int:
    from tarsy.processes import parts, run_processes

    if settings.role is not Role.ALL:
        raise CannotServeError(
            f"--processes {count} starts one API process and {count} worker processes, so it cannot be combined with --role {settings.role}."
        )
    more = [*(("--config", str(settings.config_dir)) if settings.config_dir else ()), *(("--insecure",) if settings.insecure else ())]
    return run_processes(parts(count, host=settings.host, port=settings.port, more=more), _command)


def _command(arguments: Sequence[str]) -> int:
    from tarsy.cli.main import main

    sys.argv = ["tarsy", *arguments]
    try:
        main()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1
