"""`tarsy llm-service`: the model layer as a process of its own."""

import signal
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import anyio
import typer

from tarsy.cli.environment import process_environment, process_settings

if TYPE_CHECKING:
    from tarsy.llm.service import Models

# Long enough for most answers under way; an orchestrator repeats what is cut off.
DEFAULT_GRACE = 30.0


def llm_service(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes any free one.")] = 50051,
    tls_cert: Annotated[Path | None, typer.Option(help="Certificate chain (PEM); with --tls-key, serves over TLS.", exists=True)] = None,
    tls_key: Annotated[Path | None, typer.Option(help="The certificate's key (PEM).", exists=True)] = None,
    tls_client_ca: Annotated[
        Path | None, typer.Option(help="Clients must present a certificate signed by this authority.", exists=True)
    ] = None,
    grace: Annotated[float, typer.Option(help="Seconds that running answers get when the service stops.")] = DEFAULT_GRACE,
) -> None:
    """Serve language models over gRPC, for TARSy processes that set TARSY_LLM_SERVICE_ADDR."""
    if (tls_cert is None) != (tls_key is None):
        raise typer.BadParameter("--tls-cert and --tls-key belong together")
    if tls_client_ca and not tls_cert:
        raise typer.BadParameter("--tls-client-ca needs --tls-cert and --tls-key: in the clear no client shows a certificate")
    try:
        anyio.run(_serve, host, port, tls_cert, tls_key, tls_client_ca, grace)
    except OSError as error:
        typer.echo(f"tarsy llm-service: {error}", err=True)
        raise typer.Exit(1) from error


async def _serve(host: str, port: int, cert: Path | None, key: Path | None, client_ca: Path | None, grace: float) -> None:
    from tarsy.demo.samples import recording_loader
    from tarsy.kit.logs import configure_logs
    from tarsy.llm.in_process import in_process_client
    from tarsy.llm.providers.replay import RecordingFiles
    from tarsy.llm.service import ServerTLS, start_service

    configure_logs()
    settings = process_settings()
    # The samples' recordings too: an orchestrator that has none at hand still offers them.
    models = in_process_client(env=process_environment(), recordings=recording_loader(RecordingFiles()), replay_speed=settings.replay_speed)
    tls = ServerTLS(cert, key, client_ca) if cert and key else None
    # Before the port is announced: the process that reads it may stop us at once.
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        service = await start_service(_traced(models, process_environment()), host=host, port=port, tls=tls)
        typer.echo(f"LLM service listening on {host}:{service.port}{' (TLS)' if tls else ''}")
        async for _ in signals:
            break
        await service.stop(grace)


def _traced(models: "Models", env: Mapping[str, str]) -> "Models":
    """Return the models with spans below those of the caller, if the environment names a collector."""
    from tarsy.telemetry.traced_calls import TracedService
    from tarsy.telemetry.tracing import Tracing, is_traced

    return TracedService(models, Tracing(env)) if is_traced(env) else models
