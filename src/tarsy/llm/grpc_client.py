"""The model client that calls an LLM service over gRPC. Transport failures become error chunks."""

import asyncio
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.message import DecodeError
from grpc_health.v1 import health_pb2, health_pb2_grpc
from opentelemetry.propagate import inject

from tarsy.config.schema.providers import USUAL_PROJECT
from tarsy.config.templates import MissingVariableError, expand
from tarsy.domain.llm import Chunk, ErrorChunk, ErrorCode, GenerateInput, LLMHealth
from tarsy.llm.access import USUAL_LOCATION
from tarsy.llm.failures import code_from_text
from tarsy.llm.proto.llm.v1 import llm_pb2 as pb
from tarsy.llm.signals import CodeExecutions
from tarsy.llm.wire import (
    CALL_METADATA,
    GENERATE,
    MESSAGE_OPTIONS,
    SERVICE,
    call_metadata,
    chunks_from_proto,
    request_to_proto,
)

# Seconds before a call is repeated that the service refused before it answered, because it has enough others or is restarting.
RETRY_PAUSES = (0.0, 0.01, 0.05, 0.25, 1.0)
REFUSED = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED}
CHANNEL_OPTIONS = (
    *MESSAGE_OPTIONS,
    ("grpc.primary_user_agent", "tarsy"),
    # A service that comes back is found within two seconds.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2_000),
    # The time limit for a connection attempt, in spite of its name: across continents, with TLS and a lost packet or two.
    ("grpc.min_reconnect_backoff_ms", 10_000),
    # A peer that vanished is noticed within forty seconds. Not pinged without calls: servers hang up on clients that ping too often.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
)
# Address schemes that gRPC itself understands, and those that only say whether to use TLS.
GRPC_SCHEMES = {"dns", "unix", "xds"}
PLAIN_SCHEMES = {"http", "grpc"}
TLS_SCHEMES = {"https", "grpcs"}
HEALTH_TIMEOUT = 2.0
# How long a service may take to end a call after its final message, before the call is cancelled.
END_SECONDS = 1.0

# The contract does not require a health check: a service that has none, or none under this name, is reachable.
_WITHOUT_HEALTH = {grpc.StatusCode.UNIMPLEMENTED, grpc.StatusCode.NOT_FOUND}

# The meaning of a failed call, and whether another try may help.
_STATUS: Mapping[grpc.StatusCode, tuple[ErrorCode, bool]] = {
    grpc.StatusCode.CANCELLED: (ErrorCode.CANCELLED, True),
    grpc.StatusCode.DEADLINE_EXCEEDED: (ErrorCode.TIMEOUT, True),
    grpc.StatusCode.UNAUTHENTICATED: (ErrorCode.CREDENTIALS, False),
    grpc.StatusCode.PERMISSION_DENIED: (ErrorCode.CREDENTIALS, False),
    grpc.StatusCode.INVALID_ARGUMENT: (ErrorCode.INVALID_REQUEST, False),
    grpc.StatusCode.UNIMPLEMENTED: (ErrorCode.INVALID_REQUEST, False),
    # Also gRPC's own status for a message above the size limit: the words tell them apart.
    grpc.StatusCode.RESOURCE_EXHAUSTED: (ErrorCode.RATE_LIMITED, True),
}


@dataclass(frozen=True, slots=True)
class ClientTLS:
    """How to trust the service, and the certificate to present if it asks for one.

    Without `ca`, the authorities that gRPC knows are trusted, or those of GRPC_DEFAULT_SSL_ROOTS_FILE_PATH.
    """

    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None

    def read(self) -> dict[str, bytes | None]:
        """Return the files as gRPC's arguments.

        Raises:
            ServiceAddressError: a file cannot be read, or there is a certificate without a key or the reverse.
        """
        if (self.certificate is None) is not (self.key is None):
            raise ServiceAddressError("a client certificate and its key belong together: configure both or neither.")
        files = {"root_certificates": self.ca, "private_key": self.key, "certificate_chain": self.certificate}
        try:
            return {name: path.read_bytes() if path else None for name, path in files.items()}
        except OSError as error:
            raise ServiceAddressError(f"a TLS file for it cannot be read: {error}.") from error


class ServiceAddressError(ValueError):
    """The address of the LLM service or the TLS files for it cannot be used; the operator can act."""


class GrpcLLMClient:
    """Calls the LLM service at `address`: host:port in plain text, https://host:port, grpcs://host:port or with `tls` over TLS.

    Proxies are those of the process's environment, as gRPC reads it. The channel is opened by the first call, because it belongs to the event
    loop and to the process it is made in.
    """

    def __init__(self, address: str, *, tls: ClientTLS | None = None, env: Mapping[str, str] = os.environ) -> None:
        """Create the client; nothing is opened yet.

        Raises:
            ServiceAddressError: the address has an unknown scheme or a path, or the TLS files cannot be used with it.
        """
        scheme, _, host_and_port = address.rpartition("://")
        scheme = scheme.lower()
        if scheme and scheme not in GRPC_SCHEMES | PLAIN_SCHEMES | TLS_SCHEMES:
            raise ServiceAddressError(
                f'"{address}" has an unknown scheme: write https://host:port for TLS, http://host:port or host:port for plain text.'
            )
        if scheme in PLAIN_SCHEMES and tls:
            raise ServiceAddressError(f'"{address}" asks for plain text, but TLS files are configured: write https://host:port.')
        host_and_port = host_and_port.removesuffix("/")
        if scheme in PLAIN_SCHEMES | TLS_SCHEMES and "/" in host_and_port:
            raise ServiceAddressError(
                f'"{address}" has a path, which gRPC does not use: write {scheme}://{host_and_port.partition("/")[0]}.'
            )
        self._address = address if scheme in GRPC_SCHEMES else host_and_port
        tls = tls or (ClientTLS() if scheme in TLS_SCHEMES else None)
        self._tls_files = tls.read() if tls else None
        self._env = env
        self._open: grpc.aio.Channel | None = None

    async def generate(self, request: GenerateInput) -> AsyncGenerator[Chunk]:
        provider = request.provider
        try:
            # The contract carries addresses by value; keys stay with the service.
            base_url = expand(provider.base_url, self._env) if provider.base_url else None
        except MissingVariableError as error:
            yield ErrorChunk(f"the provider {provider.name} has no address: {error}", ErrorCode.CREDENTIALS)
            return
        trace: dict[str, str] = {}
        inject(trace)
        resolved = replace(
            request,
            provider=provider.model_copy(update={"base_url": base_url}),
            project=self._env.get(provider.project_env or USUAL_PROJECT),
            location=self._env.get(provider.location_env or USUAL_LOCATION),
        )
        message, metadata = request_to_proto(resolved), ((CALL_METADATA, call_metadata(request)), *trace.items())
        answered = False
        for pause in (*RETRY_PAUSES, None):
            # Without a deserializer, because gRPC would only log a message that cannot be read.
            channel: Any = self._channel()
            call = channel.unary_stream(GENERATE, request_serializer=pb.GenerateRequest.SerializeToString)(message, metadata=metadata)
            try:
                async with aclosing(_chunks(call)) as chunks:
                    async for chunk in chunks:
                        yield chunk
                        answered = True
            except grpc.aio.AioRpcError as error:
                failure = self._transport_error(error.code(), error.details(), answered=answered)
                # A message above a size limit may have the status of a refusal, but repeating it does not help.
                was_refused = error.code() in REFUSED and failure.code is not ErrorCode.CONTEXT_TOO_LONG
                if answered or pause is None or not was_refused:
                    yield failure
                    return
            except DecodeError as error:
                yield self._transport_error(grpc.StatusCode.INTERNAL, f"a message cannot be read: {error}", answered=answered)
                return
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if task is None or task.cancelling():
                    raise
                # gRPC raises this also for a call that the service or `aclose` cancelled.
                yield self._transport_error(grpc.StatusCode.CANCELLED, await call.details(), answered=answered)
                return
            else:
                return
            finally:
                # When the reader leaves early, the service stops its call to the vendor.
                call.cancel()
            await asyncio.sleep(pause)

    async def health(self) -> LLMHealth:
        """Ask the service whether it accepts calls."""
        stub: Any = health_pb2_grpc.HealthStub(self._channel())
        try:
            answer = await stub.Check(health_pb2.HealthCheckRequest(service=SERVICE), timeout=HEALTH_TIMEOUT)
        except grpc.aio.AioRpcError as error:
            if error.code() in _WITHOUT_HEALTH:
                return LLMHealth(ok=True, detail=f"the LLM service at {self._address} answers; it has no health check")
            return LLMHealth(ok=False, detail=f"the LLM service at {self._address} cannot be reached: {error.details()}")
        serving = answer.status == health_pb2.HealthCheckResponse.SERVING
        return LLMHealth(ok=serving, detail=f"the LLM service at {self._address} is {'serving' if serving else 'not serving'}")

    async def aclose(self) -> None:
        if self._open is not None:
            channel, self._open = self._open, None
            await channel.close()

    def _channel(self) -> grpc.aio.Channel:
        if self._open is None:
            if self._tls_files is None:
                self._open = grpc.aio.insecure_channel(self._address, options=CHANNEL_OPTIONS)
            else:
                self._open = grpc.aio.secure_channel(
                    self._address, grpc.ssl_channel_credentials(**self._tls_files), options=CHANNEL_OPTIONS
                )
        return self._open

    def _transport_error(self, status: grpc.StatusCode, details: str | None, *, answered: bool) -> ErrorChunk:
        code, retryable = _STATUS.get(status, (ErrorCode.PROVIDER_UNAVAILABLE, True))
        message = f"the LLM service at {self._address} failed: {status.name}: {details}"
        if code in {ErrorCode.PROVIDER_UNAVAILABLE, ErrorCode.RATE_LIMITED}:
            stated = code_from_text(f"{status.name}: {details}")
            if stated in {ErrorCode.TIMEOUT, ErrorCode.CONTEXT_TOO_LONG}:
                code, retryable = stated, stated is ErrorCode.TIMEOUT
        if answered and retryable:
            return ErrorChunk(f"the answer was interrupted: {message}", ErrorCode.PARTIAL_STREAM, retryable=True)
        return ErrorChunk(message, code, retryable)


async def _chunks(call: Any) -> AsyncGenerator[Chunk]:
    """Translate the messages of a call until the final one."""
    executions = CodeExecutions()
    async for data in call:
        message = pb.GenerateResponse.FromString(data)
        for chunk in chunks_from_proto(message):
            for whole in executions.feed(chunk):
                yield whole
        if message.is_final:
            for left in executions.end():
                yield left
            with suppress(TimeoutError):
                async with asyncio.timeout(END_SECONDS):
                    await call.code()
            return
    yield ErrorChunk("the LLM service ended the answer without a finish message", ErrorCode.PARTIAL_STREAM, retryable=True)
