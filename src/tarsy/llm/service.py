"""The LLM service: the in-process client behind gRPC, with health checks, reflection and a graceful shutdown."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

import grpc
import structlog
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from opentelemetry.context import attach
from opentelemetry.propagate import extract

from tarsy.domain.llm import Chunk, ErrorChunk, ErrorCode, FinishChunk, GenerateInput
from tarsy.llm.proto.llm.v1 import llm_pb2 as pb
from tarsy.llm.wire import (
    CALL_METADATA,
    MESSAGE_OPTIONS,
    SERVICE,
    UnreadableRequestError,
    chunk_to_proto,
    request_from_proto,
)

log = structlog.get_logger(__name__)

# Clients may send a keepalive ping every ten seconds, with or without calls.
KEEPALIVE_OPTIONS = (("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000), ("grpc.keepalive_permit_without_calls", 1))


@dataclass(frozen=True, slots=True)
class ServerTLS:
    """The certificate chain and key to serve with, PEM files; with `client_ca`, callers must show a certificate signed by it."""

    certificate: Path
    key: Path
    client_ca: Path | None = None


class Models(Protocol):
    """The client that the service serves: the in-process client, or a wrapper around it."""

    def generate(self, request: GenerateInput) -> AsyncGenerator[Chunk]: ...

    async def aclose(self) -> None: ...


class LLMService:
    """A running server. `port` is the one that it has bound."""

    def __init__(self, client: Models, server: grpc.aio.Server, health_servicer: Any) -> None:
        self._client = client
        self._server = server
        self._health = health_servicer
        self.port = 0

    async def generate(
        self, message: pb.GenerateRequest, context: grpc.aio.ServicerContext[Any, Any]
    ) -> AsyncGenerator[pb.GenerateResponse]:
        """Answer one call. gRPC cancels it when its caller leaves."""
        metadata = dict(context.invocation_metadata() or ())
        extra = metadata.get(CALL_METADATA)
        # Each call has a task, and with it a context, of its own.
        attach(extract({name: value for name, value in metadata.items() if isinstance(value, str)}))
        try:
            request = request_from_proto(message, extra if isinstance(extra, bytes) else None)
        except UnreadableRequestError as error:
            yield chunk_to_proto(ErrorChunk(str(error), ErrorCode.INVALID_REQUEST))
            return
        async with aclosing(self._client.generate(request)) as chunks:
            async for chunk in chunks:
                yield chunk_to_proto(chunk)
                if isinstance(chunk, ErrorChunk | FinishChunk):
                    return
        yield pb.GenerateResponse(is_final=True)

    async def wait(self) -> None:
        """Wait until `stop` has ended the server."""
        await self._server.wait_for_termination()

    async def stop(self, grace: float) -> None:
        """Accept no new calls, give running ones `grace` seconds, then cancel them."""
        await self._health.enter_graceful_shutdown()
        await self._server.stop(grace)
        await self._client.aclose()


async def start_service(client: Models, *, host: str, port: int, tls: ServerTLS | None = None) -> LLMService:
    """Start serving `client`; port 0 takes a free one.

    Raises:
        OSError: the address cannot be bound, or the TLS files cannot be read.
    """
    # Without it, two services could share a port, and its callers, unnoticed.
    server = grpc.aio.server(options=(*MESSAGE_OPTIONS, *KEEPALIVE_OPTIONS, ("grpc.so_reuseport", 0)))
    # The type stubs know no asynchronous servicers.
    health_servicer: Any = cast("Any", health).aio.HealthServicer()
    register: Any = health_pb2_grpc.add_HealthServicer_to_server  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - untyped
    register(health_servicer, server)
    service = LLMService(client, server, health_servicer)
    generate: Any = service.generate
    handler = grpc.unary_stream_rpc_method_handler(
        generate,
        request_deserializer=pb.GenerateRequest.FromString,
        response_serializer=pb.GenerateResponse.SerializeToString,
    )
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, {"Generate": handler}),))
    reflection.enable_server_reflection((SERVICE, health.SERVICE_NAME, reflection.SERVICE_NAME), server)
    address = listen_address(host, port)
    try:
        if tls is None:
            service.port = server.add_insecure_port(address)
        else:
            pair = (tls.key.read_bytes(), tls.certificate.read_bytes())
            client_ca = tls.client_ca.read_bytes() if tls.client_ca else None
            credentials = grpc.ssl_server_credentials([pair], root_certificates=client_ca, require_client_auth=client_ca is not None)
            service.port = server.add_secure_port(address, credentials)
    except RuntimeError as error:
        raise OSError(f"cannot listen on {address}: {error}") from error
    await server.start()
    for name in ("", SERVICE):
        await health_servicer.set(name, health_pb2.HealthCheckResponse.SERVING)
    log.info("llm_service.started", host=host, port=service.port, tls=tls is not None)
    return service


def listen_address(host: str, port: int) -> str:
    """Return host and port in gRPC's spelling: without brackets it takes the port of an IPv6 address for its last group."""
    return f"[{host}]:{port}" if ":" in host and not host.startswith("[") else f"{host}:{port}"
