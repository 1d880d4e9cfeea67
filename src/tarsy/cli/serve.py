"""`tarsy serve` and `tarsy llm-service`: the processes of an installation."""

import gc
import os
import signal
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from tarsy.cli.environment import ConfigDir, process_environment, process_settings
from tarsy.cli.terminal import explained
from tarsy.settings import PROCESS_NAME, CannotServeError, ProcessRole

# Long enough for most answers under way; an orchestrator repeats what is cut off.
DEFAULT_GRACE = 30.0


def serve(
    context: typer.Context,
    host: Annotated[
        str, typer.Option(help="Address to listen on; any address except loopback needs a login (see TARSY_API_TOKENS).")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes any free one.")] = 8080,
    role: Annotated[ProcessRole, typer.Option(help="Serve the API and dashboard, run sessions, or both.")] = ProcessRole.ALL,
    config: ConfigDir = None,
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
    # Loading the program creates many objects and no garbage: a collection after every 700 of them takes a tenth of the start.
    gc.set_threshold(10_000)
    import anyio

    from tarsy.config.load.loader import load_config
    from tarsy.kit.logs import configure_logs
    from tarsy.processes import cores, default_processes, process_specs, run_processes
    from tarsy.server import run_server

    configure_logs(process=os.environ.get(PROCESS_NAME))
    settings = process_settings(config, host=host, port=port, role=role, insecure=insecure)
    if processes is None and role is ProcessRole.ALL:
        sessions = load_config(settings.config_dir, settings.env).config.queue.max_concurrent_sessions
        processes = default_processes(cores(), sessions)
    if processes is None or processes == 1:
        # Measured: a session costs a twentieth less CPU than on the standard loop, which is used on platforms without uvloop.
        anyio.run(run_server, settings, backend_options={"use_uvloop": find_spec("uvloop") is not None})
        return
    if role is not ProcessRole.ALL:
        raise CannotServeError(
            f"--processes {processes} starts one API process and {processes} worker processes, so it cannot be combined with --role {role}."
        )
    more = [*(("--config", str(settings.config_dir)) if settings.config_dir else ()), *(("--insecure",) if insecure else ())]
    program = context.find_root().command

    def run(arguments: Sequence[str]) -> int:
        try:
            with explained():
                program.main(list(arguments), "tarsy")
        except SystemExit as ended:
            return ended.code if isinstance(ended.code, int) else 1
        return 0

    raise typer.Exit(run_processes(process_specs(processes, host=host, port=port, more=more), run))


def llm_service(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes any free one.")] = 50051,
    tls_cert: Annotated[Path | None, typer.Option(help="Certificate chain (PEM); with --tls-key, serves over TLS.", exists=True)] = None,
    tls_key: Annotated[Path | None, typer.Option(help="The certificate's key (PEM).", exists=True)] = None,
    tls_client_ca: Annotated[
        Path | None, typer.Option(help="Clients must present a certificate signed by this authority.", exists=True)
    ] = None,
    grace: Annotated[float, typer.Option(help="Seconds to wait for running answers when the service stops.")] = DEFAULT_GRACE,
) -> None:
    """Serve language models over gRPC, for TARSy processes that set TARSY_LLM_SERVICE_ADDR."""
    if (tls_cert is None) != (tls_key is None):
        raise typer.BadParameter("--tls-cert and --tls-key belong together")
    if tls_client_ca and not tls_cert:
        raise typer.BadParameter("--tls-client-ca needs --tls-cert and --tls-key: without TLS, clients present no certificate")
    import anyio

    from tarsy.demo.samples import recording_loader
    from tarsy.kit.logs import configure_logs
    from tarsy.llm.in_process import in_process_client
    from tarsy.llm.providers.replay import RecordingFiles
    from tarsy.llm.service import ServerTLS, start_service
    from tarsy.telemetry.traced_calls import traced_models

    configure_logs()
    env, replay_speed = process_environment(), process_settings().replay_speed

    async def run() -> None:
        # With the recordings of the samples, so that clients can play them without having the files.
        client = in_process_client(env=env, recordings=recording_loader(RecordingFiles()), replay_speed=replay_speed)
        tls = ServerTLS(tls_cert, tls_key, tls_client_ca) if tls_cert and tls_key else None
        # Before the port is announced, because its reader may stop the service at once.
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            service = await start_service(traced_models(client, env), host=host, port=port, tls=tls)
            typer.echo(f"LLM service listening on {host}:{service.port}{' (TLS)' if tls else ''}")
            async for _ in signals:
                break
            await service.stop(grace)

    try:
        anyio.run(run)
    except OSError as error:
        typer.echo(f"tarsy llm-service: {error}", err=True)
        raise typer.Exit(1) from error
