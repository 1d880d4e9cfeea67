"""The gRPC client of the LLM service: addresses, TLS, proxies, statuses, retries, and services that misbehave."""

import asyncio
import socket
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, cast

import grpc
import pytest
import trustme

from support.tunnel import tunnel
from support.vendors import ChatCompletions
from tarsy.domain.conversation import ConversationMessage, Role
from tarsy.domain.llm import Chunk, ErrorChunk, ErrorCode, GenerateInput, LLMBackend, TextChunk
from tarsy.llm import grpc_client
from tarsy.llm.grpc_client import RETRY_PAUSES, ClientTLS, GrpcLLMClient
from tarsy.llm.in_process import in_process_client
from tarsy.llm.proto.llm.v1 import llm_pb2 as pb
from tarsy.llm.service import ServerTLS, start_service
from tarsy.llm.wire import MESSAGE_OPTIONS
from tarsy.settings import CannotServeError, settings_from
from tarsy.wiring.infrastructure import llm_client

LAST = pb.GenerateResponse(is_final=True)
Handler = Callable[[pb.GenerateRequest, Any], AsyncGenerator[pb.GenerateResponse]]


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many attempts as in production, without the waiting."""
    monkeypatch.setattr(grpc_client, "RETRY_PAUSES", tuple(0.0 for _ in RETRY_PAUSES))


def text(content: str) -> pb.GenerateResponse:
    return pb.GenerateResponse(text=pb.TextDelta(content=content))


def question(content: str = "Why?") -> GenerateInput:
    provider = ChatCompletions().provider("http://127.0.0.1:9")
    messages = (ConversationMessage(Role.USER, content),)
    return GenerateInput(session_id="s", execution_id="e", messages=messages, provider=provider, backend=LLMBackend.LANGCHAIN)


@asynccontextmanager
async def client_of(address: str, **options: Any) -> AsyncGenerator[GrpcLLMClient]:
    client = GrpcLLMClient(address, env={}, **options)
    try:
        yield client
    finally:
        await client.aclose()


async def answer_of(client: GrpcLLMClient, content: str = "Why?") -> list[Chunk]:
    async with asyncio.timeout(60):
        return [chunk async for chunk in client.generate(question(content))]


async def answer_at(address: str, content: str = "Why?", **options: Any) -> list[Chunk]:
    async with client_of(address, **options) as client:
        return await answer_of(client, content)


async def failure_at(address: str, **options: Any) -> ErrorChunk:
    (error,) = await answer_at(address, **options)
    assert isinstance(error, ErrorChunk)
    return error


@asynccontextmanager
async def grpc_server(
    handler: Any, listen: str = "127.0.0.1:0", *, serializer: Any = pb.GenerateResponse.SerializeToString, **options: Any
) -> AsyncGenerator[str]:
    """Serve `handler` as the one method of the contract; yields the address."""
    server = grpc.aio.server(**options)
    method = grpc.unary_stream_rpc_method_handler(handler, pb.GenerateRequest.FromString, serializer)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("llm.v1.LLMService", {"Generate": method}),))
    port = server.add_insecure_port(listen)
    await server.start()
    try:
        yield listen.replace(":0", f":{port}")
    finally:
        await server.stop(grace=5)


class Greeting(asyncio.Protocol):
    def __init__(self, greeting: bytes | None, connections: list[asyncio.BaseTransport]) -> None:
        self._greeting = greeting
        self._connections = connections

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._connections.append(transport)
        if self._greeting is None:
            transport.close()
        else:
            cast("asyncio.Transport", transport).write(self._greeting)


@asynccontextmanager
async def raw_server(greeting: bytes | None) -> AsyncGenerator[str]:
    """A TCP server that is no gRPC service: sends `greeting` and stays silent, or hangs up at once. Yields the address."""
    connections: list[asyncio.BaseTransport] = []
    server = await asyncio.get_running_loop().create_server(lambda: Greeting(greeting, connections), "127.0.0.1", 0)
    async with server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        for connection in connections:
            connection.close()


async def echo(request: pb.GenerateRequest, _context: Any) -> AsyncGenerator[pb.GenerateResponse]:
    yield text(request.messages[0].content)
    yield LAST


# ---- messages and statuses


@pytest.mark.parametrize("size", [0, 16_384, 300_000, 30_000_000])
async def test_what_is_sent_comes_back_whatever_its_size(size: int) -> None:
    async with grpc_server(echo, options=MESSAGE_OPTIONS) as address:
        assert await answer_at(address, "x" * size) == [TextChunk("x" * size)]


async def test_a_message_above_the_limit_is_refused_on_either_side(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(MESSAGE_OPTIONS) <= set(grpc_client.CHANNEL_OPTIONS)
    # Less than in production, where such messages take seconds.
    limit = 1024 * 1024
    monkeypatch.setattr(grpc_client, "CHANNEL_OPTIONS", tuple((name, limit) for name, _ in MESSAGE_OPTIONS))

    async def huge(_request: pb.GenerateRequest, _context: Any) -> AsyncGenerator[pb.GenerateResponse]:
        yield text("x" * (limit + 1))

    async with grpc_server(huge, options=(("grpc.max_send_message_length", -1),)) as address, client_of(address) as client:
        for content in ("Why?", "x" * (limit + 1)):
            (error,) = await answer_of(client, content)
            assert isinstance(error, ErrorChunk)
            assert (error.code, error.retryable) == (ErrorCode.CONTEXT_TOO_LONG, False)


@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [
        (grpc.StatusCode.CANCELLED, ErrorCode.CANCELLED, True),
        (grpc.StatusCode.DEADLINE_EXCEEDED, ErrorCode.TIMEOUT, True),
        (grpc.StatusCode.UNAUTHENTICATED, ErrorCode.CREDENTIALS, False),
        (grpc.StatusCode.PERMISSION_DENIED, ErrorCode.CREDENTIALS, False),
        (grpc.StatusCode.INVALID_ARGUMENT, ErrorCode.INVALID_REQUEST, False),
        (grpc.StatusCode.UNIMPLEMENTED, ErrorCode.INVALID_REQUEST, False),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, ErrorCode.RATE_LIMITED, True),
        (grpc.StatusCode.UNAVAILABLE, ErrorCode.PROVIDER_UNAVAILABLE, True),
        (grpc.StatusCode.DATA_LOSS, ErrorCode.PROVIDER_UNAVAILABLE, True),
    ],
)
async def test_a_status_means_what_it_always_meant(status: grpc.StatusCode, code: ErrorCode, *, retryable: bool) -> None:
    async def refuse(_request: pb.GenerateRequest, context: Any) -> AsyncGenerator[pb.GenerateResponse]:
        await context.abort(status, "100 % né\n")
        yield LAST

    async with grpc_server(refuse) as address:
        assert await failure_at(address) == ErrorChunk(f"the LLM service at {address} failed: {status.name}: 100 % né\n", code, retryable)


@pytest.mark.parametrize(
    ("status", "details"),
    [
        (grpc.StatusCode.UNKNOWN, "Received http2 header with status: 413"),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, "grpc: received message larger than max (5000000 vs. 4194304)"),
    ],
)
async def test_a_message_that_a_proxy_or_the_service_finds_too_large_is_too_long_and_is_not_sent_again(
    status: grpc.StatusCode, details: str
) -> None:
    calls = 0

    async def refuse(_request: pb.GenerateRequest, context: Any) -> AsyncGenerator[pb.GenerateResponse]:
        nonlocal calls
        calls += 1
        await context.abort(status, details)
        yield LAST

    async with grpc_server(refuse) as address:
        error = await failure_at(address)
    assert (error.code, error.retryable, calls) == (ErrorCode.CONTEXT_TOO_LONG, False, 1)


async def test_a_failure_after_the_first_word_is_a_partial_answer_and_is_not_retried() -> None:
    calls = 0

    async def break_off(_request: pb.GenerateRequest, context: Any) -> AsyncGenerator[pb.GenerateResponse]:
        nonlocal calls
        calls += 1
        yield text("Bec")
        await context.abort(grpc.StatusCode.UNAVAILABLE, "gone")

    async with grpc_server(break_off) as address:
        first, error = await answer_at(address)
    assert first == TextChunk("Bec")
    assert isinstance(error, ErrorChunk)
    assert (error.code, error.retryable, calls) == (ErrorCode.PARTIAL_STREAM, True, 1)


async def test_a_message_that_cannot_be_read_is_a_failure_of_the_service() -> None:
    async def mumble(_request: pb.GenerateRequest, _context: Any) -> AsyncGenerator[bytes]:
        yield b"\xff\xff"

    async with grpc_server(mumble, serializer=None) as address:
        error = await failure_at(address)
    assert (error.code, error.retryable) == (ErrorCode.PROVIDER_UNAVAILABLE, True)
    assert "INTERNAL: a message cannot be read" in error.message


async def test_the_service_sees_the_metadata_and_may_compress() -> None:
    seen: list[dict[str, Any]] = []

    async def inspect(_request: pb.GenerateRequest, context: Any) -> AsyncGenerator[pb.GenerateResponse]:
        seen.append(dict(context.invocation_metadata()))
        yield text("x" * 10_000)
        yield LAST

    async with grpc_server(inspect, compression=grpc.Compression.Gzip) as address:
        assert await answer_at(address) == [TextChunk("x" * 10_000)]
    assert seen[0]["tarsy-call-bin"].startswith(b'{"provider_name"')
    assert seen[0]["user-agent"].startswith("tarsy ")


async def test_a_service_that_takes_one_call_at_a_time_gets_them_one_after_the_other() -> None:
    at_once = 0
    most = 0

    async def count(request: pb.GenerateRequest, _context: Any) -> AsyncGenerator[pb.GenerateResponse]:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        yield text(request.messages[0].content)
        at_once -= 1
        yield LAST

    async with grpc_server(count, options=(("grpc.max_concurrent_streams", 1),)) as address, client_of(address) as client:
        answers = await asyncio.gather(*(answer_of(client, str(number)) for number in range(20)))
    assert answers == [[TextChunk(str(number))] for number in range(20)]
    assert most == 1


# ---- refused calls


@pytest.mark.parametrize("status", [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED])
@pytest.mark.parametrize("content", ["Why?", "x" * 2_000_000], ids=["short", "long"])
async def test_a_call_that_is_refused_before_it_is_answered_is_retried(status: grpc.StatusCode, content: str) -> None:
    calls = 0

    async def refuse_first(request: pb.GenerateRequest, context: Any) -> AsyncGenerator[pb.GenerateResponse]:
        nonlocal calls
        calls += 1
        if calls <= len(RETRY_PAUSES):
            await context.abort(status, "full")
        yield text(f"{len(request.messages[0].content)}")
        yield LAST

    async with grpc_server(refuse_first) as address:
        assert await answer_at(address, content) == [TextChunk(f"{len(content)}")]


async def test_a_service_that_refuses_every_call_is_not_called_for_ever() -> None:
    calls = 0

    async def refuse(_request: pb.GenerateRequest, context: Any) -> AsyncGenerator[pb.GenerateResponse]:
        nonlocal calls
        calls += 1
        await context.abort(grpc.StatusCode.UNAVAILABLE, "full")
        yield LAST

    async with grpc_server(refuse) as address:
        error = await failure_at(address)
    assert (error.code, error.retryable, calls) == (ErrorCode.PROVIDER_UNAVAILABLE, True, 1 + len(RETRY_PAUSES))


# ---- addresses


async def test_a_unix_domain_socket_is_an_address(tmp_path: Path) -> None:
    async with grpc_server(echo, listen=f"unix:{tmp_path}/llm") as address:
        assert await answer_at(address) == [TextChunk("Why?")]
        assert await answer_at(f"unix://{tmp_path}/llm") == [TextChunk("Why?")]


async def test_the_other_spellings_of_an_address_lead_there() -> None:
    async with grpc_server(echo) as address:
        port = address.rpartition(":")[2]
        for spelling in (f"dns:localhost:{port}", f"dns:///localhost:{port}", f"ipv4:127.0.0.1:{port}", f"http://127.0.0.1:{port}"):
            assert await answer_at(spelling) == [TextChunk("Why?")]
        # The first place is not there, the second is.
        assert await answer_at(f"ipv4:127.0.0.1:9,127.0.0.1:{port}") == [TextChunk("Why?")]
        # The first place accepts connections and says nothing.
        async with raw_server(b"") as silent:
            assert await answer_at(f"ipv4:{silent},127.0.0.1:{port}") == [TextChunk("Why?")]


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this machine has no IPv6")
async def test_an_ipv6_address_stands_in_brackets() -> None:
    async with grpc_server(echo, listen="[::1]:0") as address:
        assert await answer_at(address) == [TextChunk("Why?")]


@pytest.mark.parametrize("address", ["xds:///llm", "llm:http"])
async def test_an_address_that_cannot_be_used_is_reported(address: str) -> None:
    error = await failure_at(address)
    assert (error.code, error.retryable) == (ErrorCode.PROVIDER_UNAVAILABLE, True)
    assert f"the LLM service at {address} failed" in error.message
    async with client_of(address) as client:
        assert f"the LLM service at {address} cannot be reached" in (await client.health()).detail


@pytest.mark.parametrize("greeting", [b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", b"220 mail.example ESMTP\r\n", None])
async def test_a_server_without_grpc_is_unavailable(greeting: bytes | None) -> None:
    async with raw_server(greeting) as address:
        error = await failure_at(address)
    assert (error.code, error.retryable) == (ErrorCode.PROVIDER_UNAVAILABLE, True)


# ---- TLS and proxies


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def files(authority: trustme.CA, tmp_path: Path) -> Path:
    """A certificate for localhost with its key, and that of the authority."""
    certificate = authority.issue_cert("localhost", "127.0.0.1")
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    certificate.private_key_pem.write_to_path(str(tmp_path / "key.pem"))
    (tmp_path / "cert.pem").write_bytes(b"".join(blob.bytes() for blob in certificate.cert_chain_pems))
    return tmp_path


@asynccontextmanager
async def tls_service(files: Path, *, client_ca: Path | None = None) -> AsyncGenerator[int]:
    tls = ServerTLS(files / "cert.pem", files / "key.pem", client_ca)
    running = await start_service(in_process_client(env={}), host="127.0.0.1", port=0, tls=tls)
    try:
        yield running.port
    finally:
        await running.stop(grace=5)


async def test_a_service_may_ask_for_a_certificate(files: Path) -> None:
    async with tls_service(files, client_ca=files / "ca.pem") as port:
        shown = ClientTLS(ca=files / "ca.pem", certificate=files / "cert.pem", key=files / "key.pem")
        for tls, ok in ((shown, True), (ClientTLS(ca=files / "ca.pem"), False)):
            async with client_of(f"grpcs://localhost:{port}", tls=tls) as client:
                assert (await client.health()).ok is ok


async def test_a_certificate_for_another_name_is_not_trusted(authority: trustme.CA, files: Path) -> None:
    other = authority.issue_cert("other.example")
    (files / "cert.pem").write_bytes(b"".join(blob.bytes() for blob in other.cert_chain_pems))
    other.private_key_pem.write_to_path(str(files / "key.pem"))
    async with tls_service(files) as port:
        error = await failure_at(f"localhost:{port}", tls=ClientTLS(ca=files / "ca.pem"))
    assert (error.code, error.retryable) == (ErrorCode.PROVIDER_UNAVAILABLE, True)


@pytest.mark.parametrize("scheme", ["", "grpcs://", "https://", "HTTPS://"])
async def test_plain_text_and_tls_do_not_mix(files: Path, scheme: str) -> None:
    async with tls_service(files) as tls_port, grpc_server(echo) as address:
        error = await failure_at(f"{scheme}{address}" if scheme else f"localhost:{tls_port}")
    assert (error.code, error.retryable) == (ErrorCode.PROVIDER_UNAVAILABLE, True)


async def test_the_settings_name_the_files_for_tls(files: Path) -> None:
    named = {"CA": files / "ca.pem", "CERT": files / "cert.pem", "KEY": files / "key.pem"}
    async with tls_service(files, client_ca=files / "ca.pem") as port:
        for scheme in ("", "https://"):
            env = {f"TARSY_LLM_SERVICE_{name}": str(path) for name, path in named.items()}
            client = llm_client(settings_from({**env, "TARSY_LLM_SERVICE_ADDR": f"{scheme}localhost:{port}"}), {})
            assert (await client.health()).ok
            await client.aclose()


@pytest.mark.parametrize(
    ("env", "reason"),
    [
        ({"ADDR": "ftp://llm:50051"}, "unknown scheme"),
        ({"ADDR": "https://llm:50051/v1"}, "has a path"),
        ({"ADDR": "http://llm:50051", "CA": "ca.pem"}, "asks for plain text"),
        ({"ADDR": "llm:50051", "CERT": "cert.pem"}, "belong together"),
        ({"ADDR": "llm:50051", "CA": "nowhere.pem"}, "nowhere.pem"),
    ],
)
def test_an_address_that_cannot_be_meant_is_refused_at_start(env: dict[str, str], reason: str) -> None:
    settings = settings_from({f"TARSY_LLM_SERVICE_{name}": value for name, value in env.items()})
    with pytest.raises(CannotServeError, match=reason):
        llm_client(settings, {})


async def test_the_proxy_of_the_environment_is_used(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with grpc_server(echo) as address, tls_service(files) as tls_port:
        port = int(address.rpartition(":")[2])
        async with tunnel(port) as plain, tunnel(tls_port) as encrypted:
            monkeypatch.setenv("http_proxy", plain.url)
            assert await answer_at(f"llm.example:{port}") == [TextChunk("Why?")]
            monkeypatch.setenv("grpc_proxy", encrypted.url)
            async with client_of("localhost:50051", tls=ClientTLS(ca=files / "ca.pem")) as client:
                assert (await client.health()).ok
            monkeypatch.setenv("no_grpc_proxy", "127.0.0.1")
            assert await answer_at(address) == [TextChunk("Why?")]
        assert plain.asked == [f"CONNECT llm.example:{port} HTTP/1.1"]
        assert encrypted.asked == ["CONNECT localhost:50051 HTTP/1.1"]


# ---- readers that leave, and services that linger


async def test_a_caller_that_gives_up_while_it_connects_leaves_the_others_waiting() -> None:
    async with raw_server(b"") as silent, client_of(silent) as client:
        first, second = (asyncio.ensure_future(answer_of(client)) for _ in range(2))
        for _ in range(10):
            await asyncio.sleep(0)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        assert not second.done()
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second


async def test_a_reader_that_leaves_cancels_its_own_call_and_no_other() -> None:
    cancelled: asyncio.Queue[str] = asyncio.Queue()
    go_on = asyncio.Event()

    async def begin(request: pb.GenerateRequest, _context: Any) -> AsyncGenerator[pb.GenerateResponse]:
        try:
            yield text("Bec")
            await go_on.wait()
        # The latter if the cancellation arrives before gRPC asks for the next message.
        except (asyncio.CancelledError, GeneratorExit):
            cancelled.put_nowait(request.messages[0].content)
            raise
        yield text("ause.")
        yield LAST

    async with grpc_server(begin) as address, client_of(address) as client, aclosing(client.generate(question("stays"))) as staying:
        leaving = client.generate(question("leaves"))
        assert await anext(staying) == await anext(leaving) == TextChunk("Bec")
        await leaving.aclose()
        assert await asyncio.wait_for(cancelled.get(), 60) == "leaves"
        go_on.set()
        assert [chunk async for chunk in staying] == [TextChunk("ause.")]
    assert cancelled.empty()


async def test_a_service_that_ends_its_call_a_moment_after_the_last_message_is_not_cancelled() -> None:
    ended: asyncio.Queue[str] = asyncio.Queue()

    async def linger(_request: pb.GenerateRequest, _context: Any) -> AsyncGenerator[pb.GenerateResponse]:
        try:
            yield text("Because.")
            yield LAST
            await asyncio.sleep(0.01)
            ended.put_nowait("by itself")
        except asyncio.CancelledError:
            ended.put_nowait("cancelled")
            raise

    async with grpc_server(linger) as address:
        assert await answer_at(address) == [TextChunk("Because.")]
        assert await asyncio.wait_for(ended.get(), 60) == "by itself"


async def test_a_service_that_never_ends_its_call_is_cancelled_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grpc_client, "END_SECONDS", 0.01)
    cancelled = asyncio.Event()

    async def hang(_request: pb.GenerateRequest, _context: Any) -> AsyncGenerator[pb.GenerateResponse]:
        try:
            yield text("Because.")
            yield LAST
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async with grpc_server(hang) as address, client_of(address) as client:
        assert await answer_of(client) == [TextChunk("Because.")]
        await asyncio.wait_for(cancelled.wait(), 60)


async def test_closing_the_client_ends_the_answers_under_way() -> None:
    async def begin(_request: pb.GenerateRequest, _context: Any) -> AsyncGenerator[pb.GenerateResponse]:
        yield text("Bec")
        await asyncio.Event().wait()

    async with grpc_server(begin) as address, client_of(address) as client:
        answer = client.generate(question())
        assert await anext(answer) == TextChunk("Bec")
        await client.aclose()
        error = await anext(answer)
        assert isinstance(error, ErrorChunk)
        assert (error.code, error.retryable) == (ErrorCode.PARTIAL_STREAM, True)
        await answer.aclose()


# ---- several processes

# As `tarsy serve --processes`: the parent loads the program and has the client, each child makes the first call of its own.
FORKING = """
import asyncio, os, sys

from tarsy.config.resolve.resolved import ResolvedProvider
from tarsy.domain.conversation import ConversationMessage, Role
from tarsy.domain.llm import GenerateInput, LLMBackend, ProviderType, TextChunk
from tarsy.llm.grpc_client import GrpcLLMClient

client = GrpcLLMClient(sys.argv[1], env={})


async def call(name):
    provider = ResolvedProvider(name="p", type=ProviderType.OPENAI, model="m")
    request = GenerateInput(
        session_id="s",
        execution_id="e",
        messages=(ConversationMessage(Role.USER, name),),
        provider=provider,
        backend=LLMBackend.LANGCHAIN,
    )
    async with asyncio.timeout(60):
        assert [chunk async for chunk in client.generate(request)] == [TextChunk(name)]
        assert (await client.health()).ok
    await client.aclose()


children = []
for number in range(3):
    pid = os.fork()
    if not pid:
        asyncio.run(call(f"child {number}"))
        os._exit(0)
    children.append(pid)
statuses = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
# The parent itself is no worse off for its children.
asyncio.run(call("parent"))
sys.exit(0 if statuses == [0, 0, 0] else f"exit codes {statuses}")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
async def test_each_forked_process_opens_a_channel_of_its_own() -> None:
    async with grpc_server(echo) as address:
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", FORKING, address, stderr=asyncio.subprocess.PIPE)
        _, complaints = await asyncio.wait_for(process.communicate(), 120)
    assert process.returncode == 0, complaints.decode()
