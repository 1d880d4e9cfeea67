"""The model client that asks an LLM service over gRPC. Transport failures are error chunks; the connection heals by itself."""

import os
from collections.abc import AsyncGenerator, Iterable, Mapping
from functools import partial

from anyio.to_thread import run_sync
from google.protobuf.message import DecodeError
from grpc_health.v1 import health_pb2
from opentelemetry.propagate import inject

from tarsy.config.resolve.resolved import ResolvedProvider
from tarsy.config.schema.providers import USUAL_PROJECT
from tarsy.config.templates import MissingVariableError, expand
from tarsy.domain.llm import Chunk, ErrorChunk, ErrorCode, GenerateInput, LLMHealth
from tarsy.domain.recording import merge_text
from tarsy.llm.access import USUAL_LOCATION
from tarsy.llm.failures import code_in_words
from tarsy.llm.grpc_call import Answer, Service
from tarsy.llm.grpc_status import RpcError, Status
from tarsy.llm.http2.channel import Channel
from tarsy.llm.http2.dial import dial
from tarsy.llm.http2.link import Link
from tarsy.llm.http2.target import Target, UnusableAddressError, target_of
from tarsy.llm.http2.tls import ClientTLS
from tarsy.llm.proto.llm.v1 import llm_pb2 as pb
from tarsy.llm.signals import CodeExecutions
from tarsy.llm.wire import (
    CALL_METADATA,
    GENERATE,
    MESSAGE_SIZE,
    SERVICE,
    Endpoint,
    call_metadata,
    chunks_from_proto,
    request_to_proto,
)

_HEALTH = "/grpc.health.v1.Health/Check"
_HEALTH_TIMEOUT = 2.0
# Schemes that are gRPC's own ways to spell an address; others only say whether it is in the clear.
_GRPC_SCHEMES = {"dns", "unix", "xds"}

# The contract asks for no health check: a service that says it has none, or none under this name, is there and answers.
_WITHOUT_HEALTH = {Status.UNIMPLEMENTED, Status.NOT_FOUND}

# What a broken call means, and whether another try may help.
_STATUS: Mapping[Status, tuple[ErrorCode, bool]] = {
    Status.CANCELLED: (ErrorCode.CANCELLED, True),
    Status.DEADLINE_EXCEEDED: (ErrorCode.TIMEOUT, True),
    Status.UNAUTHENTICATED: (ErrorCode.CREDENTIALS, False),
    Status.PERMISSION_DENIED: (ErrorCode.CREDENTIALS, False),
    Status.INVALID_ARGUMENT: (ErrorCode.INVALID_REQUEST, False),
    Status.UNIMPLEMENTED: (ErrorCode.INVALID_REQUEST, False),
    # gRPC's own word for a message above the size limit.
    Status.RESOURCE_EXHAUSTED: (ErrorCode.CONTEXT_TOO_LONG, False),
}


class GrpcLLMClient:
    """Asks the LLM service at `address`: host:port in the clear, grpcs://host:port or with `tls` given over TLS."""

    def __init__(self, address: str, *, tls: ClientTLS | None = None, env: Mapping[str, str] = os.environ) -> None:
        scheme, _, rest = address.rpartition("://")
        self._address = address if scheme in _GRPC_SCHEMES else rest
        self._tls = tls or (ClientTLS() if scheme == "grpcs" else None)
        self._env = env
        self._open: Service | None = None

    async def generate(self, request: GenerateInput) -> AsyncGenerator[Chunk]:
        try:
            where = _endpoint(request.provider, self._env)
        except MissingVariableError as error:
            yield ErrorChunk(f"the provider {request.provider.name} has no address: {error}", ErrorCode.CREDENTIALS)
            return
        reading = _Reading()
        answer: Answer | None = None
        try:
            answer = self._ask(request, where)
            while not reading.is_final and (messages := await answer.more()):
                # What came at once is heard at once: a service that sends ten words in one packet costs as much as one that sends a sentence.
                for chunk in reading.read(messages):
                    yield chunk
            if not reading.is_final:
                yield ErrorChunk("the LLM service ended the answer without saying so", ErrorCode.PARTIAL_STREAM, retryable=True)
        except RpcError as error:
            yield self._transport_error(error, said=reading.said)
        finally:
            if answer is not None:
                answer.close(is_whole=reading.is_final)

    async def health(self) -> LLMHealth:
        """Ask the service whether it takes calls."""
        try:
            serving = await self._is_serving()
        except RpcError as error:
            if error.status in _WITHOUT_HEALTH:
                return LLMHealth(ok=True, detail=f"the LLM service at {self._address} answers; it has no health check")
            return LLMHealth(ok=False, detail=f"the LLM service at {self._address} cannot be reached: {error.details}")
        return LLMHealth(ok=serving, detail=f"the LLM service at {self._address} is {'serving' if serving else 'not serving'}")

    async def aclose(self) -> None:
        if self._open is not None:
            service, self._open = self._open, None
            await service.aclose()

    def _ask(self, request: GenerateInput, where: Endpoint) -> Answer:
        metadata = ((CALL_METADATA, call_metadata(request)), *_trace_metadata())
        return self._service().ask(GENERATE, request_to_proto(request, where).SerializeToString(), metadata)

    async def _is_serving(self) -> bool:
        question = health_pb2.HealthCheckRequest(service=SERVICE).SerializeToString()
        answer = await self._service().ask_once(_HEALTH, question, _HEALTH_TIMEOUT)
        return health_pb2.HealthCheckResponse.FromString(answer).status == health_pb2.HealthCheckResponse.SERVING

    def _service(self) -> Service:
        """Opened on first use: what it holds belongs to the event loop it is used in."""
        if self._open is None:
            try:
                target = target_of(self._address)
            except UnusableAddressError as error:
                raise RpcError(Status.UNAVAILABLE, str(error)) from error
            scheme = "http" if self._tls is None else "https"
            self._open = Service(Channel(partial(self._dial, target)), target.authority, scheme=scheme, largest_message=MESSAGE_SIZE)
        return self._open

    async def _dial(self, target: Target) -> Link:
        # Reading the authorities takes a moment.
        context = None if self._tls is None else await run_sync(self._tls.context, self._env)
        return await dial(target, context, self._env)

    def _transport_error(self, error: RpcError, *, said: bool) -> ErrorChunk:
        code, retryable = _STATUS.get(error.status, (ErrorCode.PROVIDER_UNAVAILABLE, True))
        message = f"the LLM service at {self._address} failed: {error.status.name}: {error.details}"
        if code is ErrorCode.PROVIDER_UNAVAILABLE and code_in_words(message) is ErrorCode.TIMEOUT:
            code = ErrorCode.TIMEOUT
        if said and retryable:
            return ErrorChunk(f"the answer broke off: {message}", ErrorCode.PARTIAL_STREAM, retryable=True)
        return ErrorChunk(message, code, retryable)


class _Reading:
    """What an answer has said so far."""

    def __init__(self) -> None:
        self.said = False
        self.is_final = False
        self._executions = CodeExecutions()

    def read(self, messages: Iterable[bytes]) -> list[Chunk]:
        """The chunks of some messages; none after the one that says it is the last."""
        heard: list[Chunk] = []
        for response in map(_response, messages):
            heard += chunks_from_proto(response)
            if response.is_final:
                self.is_final = True
                break
        chunks = [whole for chunk in merge_text(heard) for whole in self._executions.feed(chunk)]
        if self.is_final:
            chunks += self._executions.end()
        self.said = self.said or bool(chunks)
        return chunks


def _response(message: bytes) -> pb.GenerateResponse:
    try:
        return pb.GenerateResponse.FromString(message)
    except DecodeError as error:
        raise RpcError(Status.INTERNAL, f"a message cannot be read: {error}") from error


def _trace_metadata() -> tuple[tuple[str, str], ...]:
    """The trace that the call belongs to, where it is traced."""
    headers: dict[str, str] = {}
    inject(headers)
    return tuple(headers.items())


def _endpoint(provider: ResolvedProvider, env: Mapping[str, str]) -> Endpoint:
    """Look up what the contract carries by value; keys stay with the service."""
    return Endpoint(
        base_url=expand(provider.base_url, env) if provider.base_url else None,
        project=env.get(provider.project_env or USUAL_PROJECT),
        location=env.get(provider.location_env or USUAL_LOCATION),
    )
