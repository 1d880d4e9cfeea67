"""The model client that asks an LLM service over gRPC. Transport failures are error chunks; the connection heals by itself."""

import os
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from tarsy.config.resolve.resolved import ResolvedProvider
from tarsy.config.schema.providers import USUAL_PROJECT
from tarsy.config.templates import MissingVariableError, expand
from tarsy.domain.llm import Chunk, ErrorChunk, ErrorCode, GenerateInput, LLMHealth
from tarsy.kit.trace_context import traceparent
from tarsy.llm.access import USUAL_LOCATION
from tarsy.llm.code_execution import CodeExecutions
from tarsy.llm.failures import code_in_words
from tarsy.llm.proto.llm.v1 import llm_pb2 as pb
from tarsy.llm.wire import (
    CALL_METADATA,
    GENERATE,
    MESSAGE_OPTIONS,
    SERVICE,
    TRACE_METADATA,
    Endpoint,
    call_metadata,
    chunks_from_proto,
    request_to_proto,
)

# A service that comes back is found within two seconds; a peer that vanished without a word is noticed within forty.
_CHANNEL_OPTIONS = (
    *MESSAGE_OPTIONS,
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2_000),
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
)
_HEALTH_TIMEOUT = 2.0

# The contract asks for no health check: a service that says it has none, or none under this name, is there and answers.
_WITHOUT_HEALTH = {grpc.StatusCode.UNIMPLEMENTED, grpc.StatusCode.NOT_FOUND}

# What a broken call means, and whether another try may help.
_STATUS: Mapping[grpc.StatusCode, tuple[ErrorCode, bool]] = {
    grpc.StatusCode.CANCELLED: (ErrorCode.CANCELLED, True),
    grpc.StatusCode.DEADLINE_EXCEEDED: (ErrorCode.TIMEOUT, True),
    grpc.StatusCode.UNAUTHENTICATED: (ErrorCode.CREDENTIALS, False),
    grpc.StatusCode.PERMISSION_DENIED: (ErrorCode.CREDENTIALS, False),
    grpc.StatusCode.INVALID_ARGUMENT: (ErrorCode.INVALID_REQUEST, False),
    grpc.StatusCode.UNIMPLEMENTED: (ErrorCode.INVALID_REQUEST, False),
    # gRPC's own word for a message above the size limit.
    grpc.StatusCode.RESOURCE_EXHAUSTED: (ErrorCode.CONTEXT_TOO_LONG, False),
}


@dataclass(frozen=True, slots=True)
class ClientTLS:
    """How to trust the service: the authorities gRPC knows (GRPC_DEFAULT_SSL_ROOTS_FILE_PATH names others), or the one in `ca`;
    a certificate to show if it asks for one.
    """

    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None


class GrpcLLMClient:
    """Asks the LLM service at `address`: host:port in the clear, grpcs://host:port or with `tls` given over TLS."""

    def __init__(self, address: str, *, tls: ClientTLS | None = None, env: Mapping[str, str] = os.environ) -> None:
        scheme, _, self._address = address.rpartition("://")
        self._tls = tls or (ClientTLS() if scheme == "grpcs" else None)
        self._env = env
        self._open: grpc.aio.Channel | None = None

    async def generate(self, request: GenerateInput) -> AsyncGenerator[Chunk]:
        try:
            where = _endpoint(request.provider, self._env)
        except MissingVariableError as error:
            yield ErrorChunk(f"the provider {request.provider.name} has no address: {error}", ErrorCode.CREDENTIALS)
            return
        ask: Any = self._channel().unary_stream(
            GENERATE, request_serializer=pb.GenerateRequest.SerializeToString, response_deserializer=pb.GenerateResponse.FromString
        )
        call = ask(request_to_proto(request, where), metadata=((CALL_METADATA, call_metadata(request)), *_trace_metadata()))
        said = False
        executions = CodeExecutions()
        try:
            async for message in call:
                for chunk in chunks_from_proto(message):
                    for whole in executions.pass_on(chunk):
                        said = True
                        yield whole
                if message.is_final:
                    for left in executions.end():
                        yield left
                    return
            yield ErrorChunk("the LLM service ended the answer without saying so", ErrorCode.PARTIAL_STREAM, retryable=True)
        except grpc.aio.AioRpcError as error:
            yield self._transport_error(error, said=said)
        finally:
            # A reader that goes away takes the call with it, and the service lets go of the vendor.
            call.cancel()

    async def health(self) -> LLMHealth:
        """Ask the service whether it takes calls."""
        try:
            serving = await self._is_serving()
        except grpc.aio.AioRpcError as error:
            if error.code() in _WITHOUT_HEALTH:
                return LLMHealth(ok=True, detail=f"the LLM service at {self._address} answers; it has no health check")
            return LLMHealth(ok=False, detail=f"the LLM service at {self._address} cannot be reached: {error.details()}")
        return LLMHealth(ok=serving, detail=f"the LLM service at {self._address} is {'serving' if serving else 'not serving'}")

    async def _is_serving(self) -> bool:
        stub: Any = health_pb2_grpc.HealthStub(self._channel())
        answer = await stub.Check(health_pb2.HealthCheckRequest(service=SERVICE), timeout=_HEALTH_TIMEOUT)
        return answer.status == health_pb2.HealthCheckResponse.SERVING

    async def aclose(self) -> None:
        if self._open is not None:
            channel, self._open = self._open, None
            await channel.close()

    def _channel(self) -> grpc.aio.Channel:
        """Opened on first use: a channel belongs to the event loop it is made in."""
        if self._open is None:
            self._open = (
                grpc.aio.insecure_channel(self._address, options=_CHANNEL_OPTIONS)
                if self._tls is None
                else grpc.aio.secure_channel(self._address, _credentials(self._tls), options=_CHANNEL_OPTIONS)
            )
        return self._open

    def _transport_error(self, error: grpc.aio.AioRpcError, *, said: bool) -> ErrorChunk:
        code, retryable = _STATUS.get(error.code(), (ErrorCode.PROVIDER_UNAVAILABLE, True))
        message = f"the LLM service at {self._address} failed: {error.code().name}: {error.details()}"
        if code is ErrorCode.PROVIDER_UNAVAILABLE and code_in_words(message) is ErrorCode.TIMEOUT:
            code = ErrorCode.TIMEOUT
        if said and retryable:
            return ErrorChunk(f"the answer broke off: {message}", ErrorCode.PARTIAL_STREAM, retryable=True)
        return ErrorChunk(message, code, retryable)


def _trace_metadata() -> tuple[tuple[str, str], ...]:
    """The trace that the call belongs to, where it is traced."""
    header = traceparent.get()
    return ((TRACE_METADATA, header),) if header else ()


def _endpoint(provider: ResolvedProvider, env: Mapping[str, str]) -> Endpoint:
    """Look up what the contract carries by value; keys stay with the service."""
    return Endpoint(
        base_url=expand(provider.base_url, env) if provider.base_url else None,
        project=env.get(provider.project_env or USUAL_PROJECT),
        location=env.get(provider.location_env or USUAL_LOCATION),
    )


def _credentials(tls: ClientTLS) -> grpc.ChannelCredentials:
    return grpc.ssl_channel_credentials(
        root_certificates=tls.ca.read_bytes() if tls.ca else None,
        private_key=tls.key.read_bytes() if tls.key else None,
        certificate_chain=tls.certificate.read_bytes() if tls.certificate else None,
    )
