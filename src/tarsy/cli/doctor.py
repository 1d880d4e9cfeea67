"""`tarsy doctor`: checks everything TARSy needs and prints what to do about each problem."""

import logging
from typing import Annotated

import anyio
import typer

from tarsy.cli.environment import ConfigDir


def doctor(
    config: ConfigDir = None,
    host: Annotated[str, typer.Option(help="The address you want to serve on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port you want to serve on.")] = 8080,
    *,
    call: Annotated[
        bool, typer.Option("--call", help="Make one small call to every model in use. This may cost a fraction of a cent.")
    ] = False,
) -> None:
    """Check Python, database, configuration, keys, tool servers and port. Exit status 1 if something needs fixing."""
    from tarsy.cli.doctor_checks import findings
    from tarsy.kit.logs import configure_logs
    from tarsy.setup.checks import FindingStatus

    # Everything that would be logged is reported as a finding.
    configure_logs(level=logging.CRITICAL)

    async def examine() -> int:
        failed = 0
        async for finding in findings(config, host, port, call=call):
            typer.echo(str(finding))
            failed += finding.status is FindingStatus.FAIL
        return failed

    failed = anyio.run(examine)
    typer.echo(
        f"\n{failed} to fix. The samples need neither a model nor tools: tarsy demo" if failed else "\nReady. Start it with: tarsy serve"
    )
    raise typer.Exit(1 if failed else 0)
