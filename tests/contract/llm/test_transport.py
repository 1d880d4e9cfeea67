"""The way to an LLM service: what the client makes of services, proxies and networks that do not do what they should."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
import trustme
from h2.errors import ErrorCodes
from h2.settings import SettingCodes

from support.http2_server import HEAD, Peer, http2_server, saying
from support.tunnel import tunnel
from support.vendors import ChatCompletions
from tarsy.domain.conversation import ConversationMessage, Role
from tarsy.domain.llm import Chunk, ErrorChunk, ErrorCode, GenerateInput, LLMBackend, TextChunk
from tarsy.llm.grpc_call import AGAIN_AFTER
from tarsy.llm.grpc_client import ClientTLS, GrpcLLMClient
from tarsy.llm.http2 import channel, frames, keepalive, link
from tarsy.llm.in_process import in_process_client
from tarsy.llm.proto.llm.v1 import llm_pb2 as pb
from tarsy.llm.service import ServerTLS, start_service
from tarsy.llm.wire import MESSAGE_OPTIONS, MESSAGE_SIZE

LAST = pb.GenerateResponse(is_final=True).SerializeToString()
Handler = Callable[[pb.GenerateRequest, Any], AsyncGenerator[pb.GenerateResponse]]


def text(content: str) -> bytes:
    return pb.GenerateResponse(text=pb.TextDelta(content=content)).SerializeToString()


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


async def heard(client: GrpcLLMClient, content: str = "Why?") -> list[Chunk]:
    async with asyncio.timeout(60):
        return [chunk async for chunk in client.generate(question(content))]


async def heard_at(address: str, content: str = "Why?", **options: Any) -> list[Chunk]:
    async with client_of(address, **options) as client:
        return await heard(client, content)


async def failure_at(address: str, **options: Any) -> ErrorChunk:
    (error,) = await heard_at(address, **options)
    assert isinstance(error, ErrorChunk)
    return error


def because(peer: Peer, number: int) -> None:
    peer.say(number, text("Because."), LAST)
    peer.end(number)


BECAUSE = [TextChunk("Because.")]


@asynccontextmanager
async def grpc_server(handler: Handler, listen: str = "127.0.0.1:0", **options: Any) -> AsyncGenerator[str]:
    """A service over gRPC's own library; yields the address."""
    server = grpc.aio.server(**options)
    method = grpc.unary_stream_rpc_method_handler(handler, pb.GenerateRequest.FromString, pb.GenerateResponse.SerializeToString)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("llm.v1.LLMService", {"Generate": method}),))
    port = server.add_insecure_port(listen)
    await server.start()
    try:
        yield listen.replace(":0", f":{port}")
    finally:
        await server.stop(grace=5)


async def echo(request: pb.GenerateRequest, _context: Any) -> AsyncGenerator[pb.GenerateResponse]:
    yield pb.GenerateResponse(text=pb.TextDelta(content=request.messages[0].content))
    yield pb.GenerateResponse(is_final=True)


# ---- against gRPC's own server


@pytest.mark.parametrize("size", [0, 16_384, 300_000, 30_000_000])
async def test_what_is_sent_comes_back_whatever_its_size(size: int) -> None:
    async with grpc_server(echo, options=MESSAGE_OPTIONS) as address:
        assert await heard_at(address, "x" * size) == [TextChunk("x" * size)]


async def test_a_message_above_the_limit_is_refused_on_either_side() -> None:
    async def huge(_request: pb.GenerateRequest, _context: Any) -> AsyncGenerator[pb.GenerateResponse]:
        yield pb.GenerateResponse(text=pb.TextDelta(content="x" * (MESSAGE_SIZE + 1)))

    async with grpc_server(huge, options=(("grpc.max_send_message_length", -1),)) as address, client_of(address) as client:
        for content in ("Why?", "x" * (MESSAGE_SIZE + 1)):
            (error,) = await heard(client, content)
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
        (grpc.StatusCode.RESOURCE_EXHAUSTED, ErrorCode.CONTEXT_TOO_LONG, False),
        (grpc.StatusCode.UNAVAILABLE, ErrorCode.PROVIDER_UNAVAILABLE, True),
        (grpc.StatusCode.DATA_LOSS, ErrorCode.PROVIDER_UNAVAILABLE, True),
    ],
)
async def test_a_status_means_what_it_always_meant(status: grpc.StatusCode, code: ErrorCode, *, retryable: bool) -> None:
    async def refuse(_request: pb.GenerateRequest, context: Any) -> AsyncGenerator[pb.GenerateResponse]:
        await context.abort(status, "100 % né\n")
        yield pb.GenerateResponse()

    async with grpc_server(refuse) as address:
        assert await failure_at(address) == ErrorChunk(f"the LLM service at {address} failed: {status.name}: 100 % né\n", code, retryable)


async def test_a_failure_after_the_first_word_is_a_partial_answer() -> None:
    async def break_off(_request: pb.GenerateRequest, context: Any) -> AsyncGenerator[pb.GenerateResponse]:
        yield pb.GenerateResponse(text=pb.TextDelta(content="Bec"))
        await context.abort(grpc.StatusCode.UNAVAILABLE, "gone")

    async with grpc_server(break_off) as address:
        first, error = await heard_at(address)
    assert first == TextChunk("Bec")
    assert isinstance(error, ErrorChunk)
    assert (error.code, error.retryable) == (ErrorCode.PARTIAL_STREAM, True)


async def test_the_service_sees_the_same_metadata_and_may_compress() -> None:
    seen: list[dict[str, Any]] = []

    async def look(_request: pb.GenerateRequest, context: Any) -> AsyncGenerator[pb.GenerateResponse]:
        seen.append(dict(context.invocation_metadata()))
        yield pb.GenerateResponse(text=pb.TextDelta(content="x" * 10_000))
        yield pb.GenerateResponse(is_final=True)

    async with grpc_server(look, compression=grpc.Compression.Gzip) as address:
        assert await heard_at(address) == [TextChunk("x" * 10_000)]
    assert seen[0]["tarsy-call-bin"].startswith(b'{"provider_name"')
    assert seen[0]["user-agent"] == "tarsy"


async def test_a_service_that_takes_one_call_at_a_time_gets_them_one_after_the_other() -> None:
    at_once = 0
    most = 0

    async def count(request: pb.GenerateRequest, _context: Any) -> AsyncGenerator[pb.GenerateResponse]:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        yield pb.GenerateResponse(text=pb.TextDelta(content=request.messages[0].content))
        at_once -= 1
        yield pb.GenerateResponse(is_final=True)

    async with grpc_server(count, options=(("grpc.max_concurrent_streams", 1),)) as address, client_of(address) as client:
        answers = await asyncio.gather(*(heard(client, str(number)) for number in range(20)))
    assert answers == [[TextChunk(str(number))] for number in range(20)]
    assert most == 1


async def test_a_unix_domain_socket_is_an_address(tmp_path: Path) -> None:
    async with grpc_server(echo, listen=f"unix:{tmp_path}/llm") as address:
        assert await heard_at(address) == [TextChunk("Why?")]
        assert await heard_at(f"unix://{tmp_path}/llm") == [TextChunk("Why?")]


async def test_the_other_spellings_of_an_address_lead_there() -> None:
    async with grpc_server(echo) as address:
        port = address.rpartition(":")[2]
        for spelt in (f"dns:localhost:{port}", f"dns:///localhost:{port}", f"ipv4:127.0.0.1:{port}", f"http://127.0.0.1:{port}"):
            assert await heard_at(spelt) == [TextChunk("Why?")]
        # The first place is not there, the second is.
        assert await heard_at(f"ipv4:127.0.0.1:9,127.0.0.1:{port}") == [TextChunk("Why?")]


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this machine has no IPv6")
async def test_an_ipv6_address_stands_in_brackets() -> None:
    async with grpc_server(echo, listen="[::1]:0") as address:
        assert await heard_at(address) == [TextChunk("Why?")]


@pytest.mark.parametrize("address", ["xds:///llm", "llm:http"])
async def test_an_address_that_cannot_be_used_is_told(address: str) -> None:
    error = await failure_at(address)
    assert f"{address} cannot be used" in error.message
    async with client_of(address) as client:
        assert "cannot be used" in (await client.health()).detail


# ---- TLS


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


async def test_the_environment_names_the_authorities_as_it_does_for_grpc(files: Path) -> None:
    async with tls_service(files) as port:
        client = GrpcLLMClient(f"grpcs://127.0.0.1:{port}", env={"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": str(files / "ca.pem")})
        assert (await client.health()).ok
        await client.aclose()
        client = GrpcLLMClient(f"grpcs://127.0.0.1:{port}", env={"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": str(files / "none.pem")})
        assert "none.pem" in (await client.health()).detail or "No such file" in (await client.health()).detail
        await client.aclose()


async def test_a_certificate_for_another_name_is_not_trusted(tmp_path: Path, authority: trustme.CA, files: Path) -> None:
    other = authority.issue_cert("elsewhere.example")
    (files / "cert.pem").write_bytes(b"".join(blob.bytes() for blob in other.cert_chain_pems))
    other.private_key_pem.write_to_path(str(files / "key.pem"))
    async with tls_service(files) as port:
        error = await failure_at(f"localhost:{port}", tls=ClientTLS(ca=files / "ca.pem"))
    assert error.code is ErrorCode.PROVIDER_UNAVAILABLE
    assert "certificate" in error.message


async def test_a_service_that_expects_tls_is_not_left_without_a_hint(files: Path) -> None:
    async with tls_service(files) as port:
        error = await failure_at(f"localhost:{port}")
    assert (error.code, error.retryable) == (ErrorCode.PROVIDER_UNAVAILABLE, True)
    assert "grpcs://" in error.message


async def test_a_service_in_the_clear_is_not_mistaken_for_one_with_tls() -> None:
    async with grpc_server(echo) as address:
        error = await failure_at(f"grpcs://{address}")
    assert error.code is ErrorCode.PROVIDER_UNAVAILABLE


# ---- proxies


async def test_a_proxy_is_asked_for_the_way_as_grpc_asks_it(files: Path) -> None:
    async with grpc_server(echo) as address, tls_service(files) as tls_port:
        port = int(address.rpartition(":")[2])
        async with tunnel(port) as plain, tunnel(tls_port) as encrypted:
            client = GrpcLLMClient(f"llm.example:{port}", env={"http_proxy": plain.url})
            assert await heard(client) == [TextChunk("Why?")]
            await client.aclose()
            tls = ClientTLS(ca=files / "ca.pem")
            client = GrpcLLMClient("localhost:50051", tls=tls, env={"grpc_proxy": encrypted.url, "http_proxy": "http://127.0.0.1:9"})
            assert (await client.health()).ok
            await client.aclose()
        assert plain.asked == [f"CONNECT llm.example:{port} HTTP/1.1"]
        assert encrypted.asked == ["CONNECT localhost:50051 HTTP/1.1"]


async def test_what_needs_no_proxy_is_reached_directly() -> None:
    async with grpc_server(echo) as address:
        client = GrpcLLMClient(address, env={"http_proxy": "http://127.0.0.1:9", "no_proxy": "example.com, 127.0.0.0/8"})
        assert await heard(client) == [TextChunk("Why?")]
        await client.aclose()


@pytest.mark.parametrize("said", [b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", b"x" * 20_000, None])
async def test_a_proxy_that_makes_no_connection_is_named(said: bytes | None) -> None:
    async with saying(said) as address:
        client = GrpcLLMClient("llm.example:50051", env={"https_proxy": f"http://{address}"})
        (error,) = await heard(client)
        await client.aclose()
    assert isinstance(error, ErrorChunk)
    assert (error.code, error.retryable) == (ErrorCode.PROVIDER_UNAVAILABLE, True)
    assert "proxy" in error.message


# ---- what is no gRPC service


@pytest.mark.parametrize(
    ("greeting", "words"),
    [
        (b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", "it speaks HTTP/1, not gRPC: HTTP/1.1 400 Bad Request"),
        (b"220 mail.example ESMTP\r\n", "it does not speak HTTP/2"),
        (bytes.fromhex("15030300020228"), "it expects TLS"),
        (None, "without a word of HTTP/2"),
        (frames.settings_frame(()) + b"\xff" * 9, "it sent a frame of 16777215 bytes"),
        (frames.settings_frame(()) + frames.frame(frames.PING, 0, 0, bytes(8)) * 5000, "it asks faster than it reads the answers"),
    ],
    ids=["HTTP/1", "mail", "TLS", "nothing", "oversized", "flood"],
)
async def test_what_is_no_grpc_service_is_named(greeting: bytes | None, words: str) -> None:
    async with saying(greeting) as address:
        error = await failure_at(address)
        assert (error.code, error.retryable) == (ErrorCode.PROVIDER_UNAVAILABLE, True)
        assert words in error.message


@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [
        ("502", "text/html", ErrorCode.PROVIDER_UNAVAILABLE),
        ("401", "text/plain", ErrorCode.CREDENTIALS),
        ("404", "text/html", ErrorCode.INVALID_REQUEST),
        ("200", "text/html", ErrorCode.PROVIDER_UNAVAILABLE),
    ],
)
async def test_the_page_of_a_proxy_is_not_taken_for_an_answer(status: str, kind: str, code: ErrorCode) -> None:
    def page(peer: Peer, number: int) -> None:
        peer.h2.send_headers(number, ((":status", status), ("content-type", kind)))
        peer.h2.send_data(number, b"<html>" + bytes(100), end_stream=True)

    async with http2_server(page) as (address, _):
        error = await failure_at(address)
    assert error.code is code
    assert status in error.message or kind in error.message


async def test_a_refusal_without_a_body_is_read_from_its_headers() -> None:
    def refuse(peer: Peer, number: int) -> None:
        peer.h2.send_headers(number, (*HEAD, ("grpc-status", "16"), ("grpc-message", "no%20key")), end_stream=True)

    async with http2_server(refuse) as (address, _):
        assert await failure_at(address) == ErrorChunk(
            f"the LLM service at {address} failed: UNAUTHENTICATED: no key", ErrorCode.CREDENTIALS
        )


@pytest.mark.parametrize("said", [b"\x01\0\0\0\x01x", b"\0\0\0\0\x02\xff\xff", b"\0\0\0\0\x09half"])
async def test_messages_that_cannot_be_read_are_a_failure_of_the_service(said: bytes) -> None:
    def mumble(peer: Peer, number: int) -> None:
        peer.h2.send_headers(number, HEAD)
        peer.h2.send_data(number, said)
        peer.end(number)

    async with http2_server(mumble) as (address, _):
        error = await failure_at(address)
    assert (error.code, error.retryable) == (ErrorCode.PROVIDER_UNAVAILABLE, True)
    assert "INTERNAL" in error.message


@pytest.mark.parametrize(
    ("code", "meant"),
    [(ErrorCodes.CANCEL, ErrorCode.CANCELLED), (ErrorCodes.INTERNAL_ERROR, ErrorCode.PROVIDER_UNAVAILABLE)],
)
async def test_a_stream_that_is_broken_off_says_why(code: ErrorCodes, meant: ErrorCode) -> None:
    async with http2_server(lambda peer, number: peer.h2.reset_stream(number, code)) as (address, _):
        assert (await failure_at(address)).code is meant


# ---- connections that end


@pytest.mark.parametrize("refusals", [1, len(AGAIN_AFTER)])
@pytest.mark.parametrize("leaves", [True, False])
async def test_what_the_service_has_not_looked_at_is_asked_again_by_itself(*, leaves: bool, refusals: int) -> None:
    asked = 0

    def refuse_first(peer: Peer, number: int) -> None:
        nonlocal asked
        asked += 1
        if asked > refusals:
            because(peer, number)
        elif leaves:
            peer.leave(number - 2 if number > 1 else 0)
        else:
            peer.h2.reset_stream(number, ErrorCodes.REFUSED_STREAM)

    async with http2_server(refuse_first) as (address, peers):
        assert await heard_at(address) == BECAUSE
    assert len(peers) == (refusals + 1 if leaves else 1)


async def test_a_connection_that_is_leaving_is_replaced_without_a_failure() -> None:
    def answer_and_leave(peer: Peer, number: int) -> None:
        peer.say(number, text("Because."))
        peer.leave(number)
        peer.say(number, LAST)
        peer.end(number)

    async with http2_server(answer_and_leave) as (address, peers), client_of(address) as client:
        assert [await heard(client) for _ in range(5)] == [BECAUSE] * 5
        assert len(peers) == 5
        # The client closes what it does not need any more.
        await asyncio.wait_for(peers[3].lost.wait(), 60)


async def test_a_service_that_leaves_as_soon_as_it_has_come_is_unavailable() -> None:
    async with saying(frames.settings_frame(()) + frames.frame(frames.GOAWAY, 0, 0, bytes(8) + b"full")) as address:
        error = await failure_at(address)
    assert (error.code, error.retryable) == (ErrorCode.PROVIDER_UNAVAILABLE, True)
    assert "full" in error.message


async def test_a_service_that_refuses_again_is_not_asked_for_ever() -> None:
    async with http2_server(lambda peer, number: peer.h2.reset_stream(number, ErrorCodes.REFUSED_STREAM)) as (address, peers):
        error = await failure_at(address)
        assert (error.code, error.retryable) == (ErrorCode.PROVIDER_UNAVAILABLE, True)
        assert len(peers[0].headers) == 1 + len(AGAIN_AFTER)


async def test_a_connection_that_is_cut_breaks_the_answer_off_and_is_made_anew() -> None:
    def cut(peer: Peer, number: int) -> None:
        if len(peers) > 1:
            because(peer, number)
        else:
            peer.say(number, text("Bec"))
            peer.transport.close()

    async with http2_server(cut) as (address, peers), client_of(address) as client:
        first, error = await heard(client)
        assert first == TextChunk("Bec")
        assert isinstance(error, ErrorChunk)
        assert (error.code, error.retryable) == (ErrorCode.PARTIAL_STREAM, True)
        assert await heard(client) == BECAUSE


async def test_a_service_that_is_away_is_not_asked_more_often_than_every_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second question comes while it is too early to try again, and hears of the first one's failure."""
    monkeypatch.setattr(channel, "FIRST_PAUSE", 600.0)
    dialled: list[None] = []

    async def refuse() -> link.Link:
        dialled.append(None)
        raise ConnectionRefusedError("nothing listens there")

    away = channel.Channel(refuse)
    for _ in range(3):
        with pytest.raises(channel.UnreachableError, match="nothing listens there"):
            await away.request(b"", b"?")
    assert len(dialled) == 1


async def test_callers_that_come_together_share_one_connection() -> None:
    async with http2_server(because) as (address, peers), client_of(address) as client:
        answers = await asyncio.gather(*(heard(client) for _ in range(50)))
        assert answers == [BECAUSE] * 50
        assert len(peers) == 1


async def test_a_caller_that_gives_up_while_it_connects_leaves_the_others_their_turn() -> None:
    async with saying(b"") as silent, client_of(silent) as client:
        first, second = (asyncio.ensure_future(heard(client)) for _ in range(2))
        for _ in range(10):
            await asyncio.sleep(0)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        assert not second.done()
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second


async def test_a_peer_that_vanishes_without_a_word_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "SILENCE", 0.05)
    monkeypatch.setattr(keepalive, "SILENCE", 0.05)
    monkeypatch.setattr(keepalive, "PATIENCE", 0.05)

    def vanish(peer: Peer, _number: int) -> None:
        peer.transport.pause_reading()

    async with http2_server(vanish) as (address, _):
        error = await failure_at(address)
    assert (error.code, error.retryable) == (ErrorCode.PROVIDER_UNAVAILABLE, True)
    assert "not even a ping" in error.message


async def test_a_peer_that_answers_pings_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "SILENCE", 0.01)
    monkeypatch.setattr(keepalive, "SILENCE", 0.01)
    begun: list[tuple[Peer, int]] = []

    async with http2_server(lambda peer, number: begun.append((peer, number))) as (address, peers), client_of(address) as client:
        answer = asyncio.ensure_future(heard(client))
        while not begun:  # noqa: ASYNC110 - the other end is in this event loop
            await asyncio.sleep(0)
        await asyncio.wait_for(peers[0].pinged.wait(), 60)
        because(*begun[0])
        assert await answer == BECAUSE


# ---- readers that go away


async def test_a_window_that_never_opens_holds_only_its_own_caller() -> None:
    settings = {SettingCodes.INITIAL_WINDOW_SIZE: 0}
    async with http2_server(because, settings) as (address, peers), client_of(address) as client:
        stuck = asyncio.ensure_future(heard(client))
        while not (peers and peers[0].headers):  # noqa: ASYNC110 - the other end is in this event loop
            await asyncio.sleep(0)
        stuck.cancel()
        with pytest.raises(asyncio.CancelledError):
            await stuck
        assert await asyncio.wait_for(peers[0].resets.get(), 60) == (1, ErrorCodes.CANCEL)


async def test_a_reader_that_goes_away_is_a_cancelled_call_to_the_service_and_to_no_other() -> None:
    def begin(peer: Peer, number: int) -> None:
        peer.say(number, text("Bec"))

    async with http2_server(begin) as (address, peers), client_of(address) as client, aclosing(client.generate(question())) as staying:
        leaving = client.generate(question())
        assert await anext(staying) == await anext(leaving) == TextChunk("Bec")
        await leaving.aclose()
        assert await asyncio.wait_for(peers[0].resets.get(), 60) == (3, ErrorCodes.CANCEL)
        peers[0].say(1, text("ause."), LAST)
        assert [chunk async for chunk in staying] == [TextChunk("ause.")]


async def test_a_service_that_has_said_all_is_not_cancelled_in_its_last_breath() -> None:
    numbers: list[int] = []

    def linger(peer: Peer, number: int) -> None:
        numbers.append(number)
        peer.say(number, text("Because."), LAST)

    async with http2_server(linger) as (address, peers), client_of(address) as client:
        assert await heard(client) == BECAUSE
        peers[0].end(numbers[0])
        assert await heard(client) == BECAUSE
        peers[0].end(numbers[1])
        assert peers[0].resets.empty()


async def test_a_service_that_does_not_end_what_it_has_said_is_cancelled_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "_FAREWELL", 0.01)
    async with (
        http2_server(lambda peer, number: peer.say(number, text("Because."), LAST)) as (address, peers),
        client_of(address) as client,
    ):
        assert await heard(client) == BECAUSE
        assert await asyncio.wait_for(peers[0].resets.get(), 60) == (1, ErrorCodes.CANCEL)


async def test_closing_the_client_ends_the_answers_under_way() -> None:
    async with http2_server(lambda peer, number: peer.say(number, text("Bec"))) as (address, peers), client_of(address) as client:
        answer = client.generate(question())
        assert await anext(answer) == TextChunk("Bec")
        await client.aclose()
        error = await anext(answer)
        assert isinstance(error, ErrorChunk)
        assert (error.code, error.retryable) == (ErrorCode.PARTIAL_STREAM, True)
        await answer.aclose()
        await asyncio.wait_for(peers[0].lost.wait(), 60)


async def test_what_has_arrived_at_once_is_heard_at_once() -> None:
    words = [f"{number} " for number in range(300)]

    def pour(peer: Peer, number: int) -> None:
        peer.say(number, *map(text, words), LAST)
        peer.end(number)

    async with http2_server(pour) as (address, _):
        chunks = [chunk for chunk in await heard_at(address) if isinstance(chunk, TextChunk)]
    assert "".join(chunk.content for chunk in chunks) == "".join(words)
    # However many packets the system makes of it.
    assert len(chunks) < len(words) / 10
