"""The client's half of HTTP/2, against the `h2` library as its peer; nothing is sent anywhere."""

from collections.abc import Callable, Iterable

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import DataReceived, Event, RequestReceived, StreamEnded, StreamReset
from h2.settings import SettingCodes, Settings
from hypothesis import given
from hypothesis import strategies as st

from tarsy.llm.http2 import frames
from tarsy.llm.http2.connection import MOST_ANSWERS, Connection
from tarsy.llm.http2.header_blocks import LONGEST_HEADERS
from tarsy.llm.http2.stream import STREAM_WINDOW, Broken, ProtocolError, Stream

REQUEST = [(b":method", b"POST"), (b":scheme", b"http"), (b":path", b"/a/B"), (b":authority", b"here"), (b"te", b"trailers")]
OK = [(":status", "200"), ("content-type", "application/grpc")]


class Server:
    """A peer, with all that it has heard."""

    def __init__(self, settings: dict[SettingCodes, int] | None = None) -> None:
        self.h2 = H2Connection(H2Configuration(client_side=False, header_encoding=None))
        self.h2.local_settings = Settings(client=False, initial_values=settings)
        self.h2.initiate_connection()
        self.heard: list[Event] = []

    def hear(self, client: Connection, *, credit: bool = True) -> None:
        for event in self.h2.receive_data(b"".join(client.outgoing)):
            self.heard.append(event)
            if credit and isinstance(event, DataReceived) and event.flow_controlled_length:
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        client.outgoing.clear()

    def of(self, kind: type[Event]) -> list[Event]:
        return [event for event in self.heard if type(event) is kind]

    @property
    def body(self) -> bytes:
        return b"".join(event.data for event in self.heard if isinstance(event, DataReceived))


def talk(client: Connection, server: Server) -> None:
    """Until neither has anything more to say."""
    server.hear(client)
    while said := server.h2.data_to_send():
        client.receive(said)
        server.hear(client)


def acquainted(settings: dict[SettingCodes, int] | None = None) -> tuple[Connection, Server]:
    client, server = Connection(), Server(settings)
    talk(client, server)
    return client, server


def asked(body: bytes = b"?", settings: dict[SettingCodes, int] | None = None) -> tuple[Connection, Server, Stream]:
    client, server = acquainted(settings)
    stream = client.request(frames.header_fields(REQUEST), body)
    talk(client, server)
    return client, server, stream


def cut(data: bytes, places: Iterable[int]) -> list[bytes]:
    ends = sorted({place % (len(data) + 1) for place in places} | {len(data)})
    return [data[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]


@given(
    st.binary(min_size=1, max_size=200_000),
    st.integers(0, 70_000),
    st.dictionaries(st.from_regex(r"[a-z][a-z0-9-]{0,20}", fullmatch=True), st.binary(max_size=300).map(lambda b: b.hex()), max_size=5),
)
def test_a_request_arrives_as_it_was_made_however_small_the_windows(body: bytes, window: int, more: dict[str, str]) -> None:
    client, server = acquainted({SettingCodes.INITIAL_WINDOW_SIZE: window})
    fields = [*REQUEST, *((f"x-{name}".encode(), value.encode()) for name, value in more.items())]

    stream = client.request(frames.header_fields(fields), body)
    talk(client, server)
    if window == 0:
        assert not server.body
        server.h2.increment_flow_control_window(len(body), stream.id)
        talk(client, server)

    (request,) = server.of(RequestReceived)
    assert isinstance(request, RequestReceived)
    assert [tuple(field) for field in request.headers] == fields
    assert server.body == body
    assert len(server.of(StreamEnded)) == 1


@given(st.lists(st.binary(max_size=40_000), max_size=6), st.lists(st.integers(0, 300_000), max_size=20))
def test_an_answer_is_the_same_however_its_bytes_arrive(pieces: list[bytes], places: list[int]) -> None:
    client, server, stream = asked()
    server.h2.send_headers(stream.id, OK)
    for piece in pieces:
        for at in range(0, len(piece), 16_384):
            server.h2.send_data(stream.id, piece[at : at + 16_384], pad_length=len(piece) % 7)
    server.h2.send_headers(stream.id, [("grpc-status", "0")], end_stream=True)

    got = b""
    for part in cut(server.h2.data_to_send(), places):
        assert set(client.receive(part)) <= {stream}
        got += b"".join(client.take(stream))

    assert got == b"".join(pieces)
    assert (stream.headers, stream.trailers) == ([(b":status", b"200"), (b"content-type", b"application/grpc")], [(b"grpc-status", b"0")])
    assert (stream.is_over, stream.broken, client.streams) == (True, None, {})


def test_headers_of_any_length_are_sent_in_frames_that_every_peer_takes() -> None:
    client, server = acquainted()
    long = (b"x-long-bin", b"y" * 50_000)
    client.request(frames.header_fields([*REQUEST, long]), b"?")
    talk(client, server)

    (request,) = server.of(RequestReceived)
    assert isinstance(request, RequestReceived)
    assert tuple(request.headers[-1]) == long


def test_a_peer_that_wants_no_table_for_headers_hears_of_none() -> None:
    client, server = acquainted({SettingCodes.HEADER_TABLE_SIZE: 0})
    for _ in range(2):
        client.request(frames.header_fields(REQUEST), b"?")
        talk(client, server)
    assert len(server.of(RequestReceived)) == 2


def test_headers_in_several_frames_with_padding_and_priority_are_read() -> None:
    client, _, stream = asked()
    block = frames.header_fields([(b":status", b"200"), (b"content-type", b"application/grpc")])
    first = b"\x03" + bytes(5) + block[:10] + bytes(3)
    client.receive(frames.frame(frames.HEADERS, frames.PADDED | frames.PRIORITISED, stream.id, first))
    assert stream.headers is None
    client.receive(frames.frame(frames.CONTINUATION, frames.END_HEADERS, stream.id, block[10:]))
    assert stream.headers == [(b":status", b"200"), (b"content-type", b"application/grpc")]


def test_headers_that_only_promise_others_are_not_the_answer() -> None:
    client, server, stream = asked()
    server.h2.send_headers(stream.id, [(":status", "103")])
    server.h2.send_headers(stream.id, OK)
    client.receive(server.h2.data_to_send())
    assert stream.headers is not None
    assert stream.headers[0] == (b":status", b"200")


def test_a_reader_that_takes_nothing_is_sent_no_more_than_its_window() -> None:
    client, server, slow = asked()
    quick = client.request(frames.header_fields(REQUEST), b"?")
    talk(client, server)
    for stream in (slow, quick):
        server.h2.send_headers(stream.id, OK)
    talk(client, server)

    sent = 0
    while room := min(server.h2.local_flow_control_window(slow.id), 16_384):
        server.h2.send_data(slow.id, bytes(room))
        talk(client, server)
        sent += room
    assert sent == STREAM_WINDOW
    assert server.h2.local_flow_control_window(quick.id) == STREAM_WINDOW

    assert sum(map(len, client.take(slow))) == STREAM_WINDOW
    talk(client, server)
    assert server.h2.local_flow_control_window(slow.id) == STREAM_WINDOW


def test_more_than_the_window_of_a_connection_arrives() -> None:
    client, server, stream = asked()
    server.h2.send_headers(stream.id, OK)
    for _ in range(6000):
        server.h2.send_data(stream.id, bytes(16_384))
        client.receive(server.h2.data_to_send())
        client.take(stream)
        server.hear(client)
    assert not stream.is_over


def test_a_cancelled_stream_tells_the_peer_and_drops_what_still_comes() -> None:
    client, server, stream = asked()
    server.h2.send_headers(stream.id, OK)
    server.h2.send_data(stream.id, b"on its way")
    late = server.h2.data_to_send()
    client.cancel(stream)
    assert not client.receive(late)
    assert not client.take(stream)
    server.hear(client)
    (event,) = server.of(StreamReset)
    assert isinstance(event, StreamReset)
    assert (event.stream_id, event.error_code) == (stream.id, ErrorCodes.CANCEL)

    client.cancel(stream)
    assert not client.outgoing


def test_an_answer_before_the_end_of_the_question_stops_the_question() -> None:
    client, server = acquainted({SettingCodes.INITIAL_WINDOW_SIZE: 10})
    stream = client.request(frames.header_fields(REQUEST), bytes(100))
    server.hear(client, credit=False)
    server.h2.send_headers(stream.id, OK, end_stream=True)
    client.receive(server.h2.data_to_send())
    assert stream.is_over
    assert stream.broken is None
    server.hear(client)
    assert len(server.of(StreamReset)) == 1


@pytest.mark.parametrize(("code", "untouched"), [(ErrorCodes.REFUSED_STREAM, True), (ErrorCodes.CANCEL, False)])
def test_a_broken_stream_says_why_and_whether_it_was_begun(code: ErrorCodes, *, untouched: bool) -> None:
    client, server, stream = asked()
    server.h2.reset_stream(stream.id, code)
    assert list(client.receive(server.h2.data_to_send())) == [stream]
    assert stream.is_over
    assert stream.broken is not None
    assert (stream.broken.code, stream.broken.is_untouched) == (code, untouched)


def test_a_peer_that_leaves_finishes_what_it_has_begun() -> None:
    client, server, old = asked()
    young = client.request(frames.header_fields(REQUEST), b"?")
    client.receive(frames.frame(frames.GOAWAY, 0, 0, old.id.to_bytes(4, "big") + bytes(4) + b"max_age"))
    assert (client.is_leaving, old.is_over, young.is_over) == (True, False, True)
    assert young.broken is not None
    assert young.broken.is_untouched
    assert "max_age" in young.broken.words

    server.h2.send_headers(old.id, OK, end_stream=True)
    client.receive(server.h2.data_to_send())
    assert old.is_over
    assert old.broken is None


def test_streams_of_a_lost_connection_know_its_last_words() -> None:
    client, _, stream = asked()
    client.receive(frames.frame(frames.GOAWAY, 0, 0, stream.id.to_bytes(4, "big") + (11).to_bytes(4, "big") + b"too_many_pings"))
    assert list(client.lose(Broken("the connection was lost"))) == [stream]
    assert stream.broken == Broken("the connection was lost (HTTP/2 error 11: too_many_pings)")


def test_only_so_many_streams_are_open_as_the_peer_takes() -> None:
    client, server, stream = asked(settings={SettingCodes.MAX_CONCURRENT_STREAMS: 1})
    assert not client.has_room
    server.h2.send_headers(stream.id, OK, end_stream=True)
    client.receive(server.h2.data_to_send())
    assert client.has_room


def test_settings_are_answered_before_anything_that_only_they_allow() -> None:
    client, server = acquainted({SettingCodes.INITIAL_WINDOW_SIZE: 10})
    client.request(frames.header_fields(REQUEST), bytes(100))
    server.hear(client, credit=False)
    client.receive(frames.settings_frame([(frames.INITIAL_WINDOW_SIZE, 30)]))
    assert client.outgoing == [frames.frame(frames.SETTINGS, frames.ACK, 0), frames.frame(frames.DATA, 0, 1, bytes(20))]


def test_pings_are_answered_and_only_once() -> None:
    client, server, _ = asked()
    server.h2.ping(b"12345678")
    client.receive(server.h2.data_to_send())
    assert client.outgoing == [frames.frame(frames.PING, frames.ACK, 0, b"12345678")]
    client.outgoing.clear()
    client.receive(frames.frame(frames.PING, frames.ACK, 0, bytes(8)))
    assert not client.outgoing


PING = frames.frame(frames.PING, 0, 0, bytes(8))
SETTINGS = frames.settings_frame(())


@pytest.mark.parametrize("flood", [PING, SETTINGS], ids=["pings", "settings"])
def test_a_flood_of_questions_is_answered_as_long_as_the_answers_leave(flood: bytes) -> None:
    client, _, _ = asked()
    for _ in range(3):
        client.outgoing.clear()
        client.answers = 0
        client.receive(flood * MOST_ANSWERS)
    client.outgoing.clear()
    client.answers = 0
    client.receive(flood * MOST_ANSWERS)
    with pytest.raises(ProtocolError) as refused:
        client.receive(flood)
    assert refused.value.code == frames.ENHANCE_YOUR_CALM
    assert len(client.outgoing) == MOST_ANSWERS


def on_one(kind: int, payload: bytes, flags: int = 0) -> bytes:
    return frames.frame(kind, flags, 1, payload)


def with_head(following: bytes) -> bytes:
    return on_one(frames.HEADERS, frames.header_fields([(b":status", b"200")]), frames.END_HEADERS) + following


@pytest.mark.parametrize(
    ("said", "code", "words"),
    [
        (bytes.fromhex("ffffff") + bytes(6), frames.FRAME_SIZE_ERROR, "16777215"),
        (on_one(frames.DATA, b"x"), frames.PROTOCOL_ERROR, "without headers"),
        (frames.frame(frames.DATA, 0, 3, b"x"), frames.PROTOCOL_ERROR, "stream 3"),
        (frames.frame(frames.DATA, 0, 0, b"x"), frames.PROTOCOL_ERROR, "no stream"),
        (frames.frame(frames.HEADERS, 0, 2, b""), frames.PROTOCOL_ERROR, "stream 2"),
        (on_one(frames.PUSH_PROMISE, bytes(4)), frames.PROTOCOL_ERROR, "kind 5"),
        (on_one(frames.PING, bytes(8)), frames.PROTOCOL_ERROR, "kind 6"),
        (on_one(frames.HEADERS, b"\xff\xff\xff\xff\xff\xff", frames.END_HEADERS), frames.COMPRESSION_ERROR, "headers"),
        (on_one(frames.HEADERS, b"") + PING, frames.PROTOCOL_ERROR, "interrupted"),
        (on_one(frames.CONTINUATION, b"x"), frames.PROTOCOL_ERROR, "not begun"),
        (on_one(frames.HEADERS, b"") + on_one(frames.CONTINUATION, b""), frames.ENHANCE_YOUR_CALM, "do not end"),
        (on_one(frames.HEADERS, b"") + on_one(frames.CONTINUATION, bytes(16_384)) * 5, frames.ENHANCE_YOUR_CALM, "do not end"),
        (with_head(on_one(frames.HEADERS, b"", frames.END_HEADERS)), frames.PROTOCOL_ERROR, "middle"),
        (with_head(on_one(frames.DATA, b"\x05abc", frames.PADDED)), frames.PROTOCOL_ERROR, "padded"),
        (with_head(on_one(frames.DATA, b"", frames.PADDED)), frames.PROTOCOL_ERROR, "padded"),
        (with_head(on_one(frames.DATA, bytes(16_384)) * 257), frames.FLOW_CONTROL_ERROR, "window"),
        (frames.window_update(0, 0), frames.PROTOCOL_ERROR, "nothing"),
        (frames.window_update(1, 0), frames.PROTOCOL_ERROR, "nothing"),
        (frames.window_update(0, 2**31 - 1), frames.FLOW_CONTROL_ERROR, "too far"),
        (frames.window_update(1, 2**31 - 1), frames.FLOW_CONTROL_ERROR, "too far"),
        (frames.settings_frame([(frames.INITIAL_WINDOW_SIZE, 2**31)]), frames.FLOW_CONTROL_ERROR, "too far"),
        (frames.frame(frames.SETTINGS, 0, 0, b"12345"), frames.FRAME_SIZE_ERROR, "settings"),
        (frames.frame(frames.PING, 0, 0, b"123"), frames.FRAME_SIZE_ERROR, "ping"),
        (frames.frame(frames.GOAWAY, 0, 0, b"123"), frames.FRAME_SIZE_ERROR, "length"),
        (on_one(frames.RST_STREAM, b"123"), frames.FRAME_SIZE_ERROR, "length"),
    ],
)
def test_what_the_protocol_forbids_ends_the_connection(said: bytes, code: int, words: str) -> None:
    client, _, stream = asked()
    with pytest.raises(ProtocolError, match=words) as refused:
        client.receive(said)
    assert refused.value.code == code
    client.lose(Broken("it is over"))
    assert stream.is_over


def test_headers_that_unfold_to_more_than_they_are_end_the_connection() -> None:
    client, _, stream = asked()
    stored = b"\x40" + frames.header_fields([(b"x", b"y" * 4000)])[1:]
    bomb = stored + b"\xbe" * (LONGEST_HEADERS // 4000 + 1)
    with pytest.raises(ProtocolError) as refused:
        client.receive(frames.frame(frames.HEADERS, frames.END_HEADERS, stream.id, bomb))
    assert refused.value.code == frames.COMPRESSION_ERROR


@pytest.mark.parametrize(
    ("greeting", "words"),
    [
        (b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n\r\n", "HTTP/1, not gRPC: HTTP/1.1 400 Bad Request$"),
        (bytes.fromhex("15030100020246"), "grpcs://"),
        (b"SSH-2.0-OpenSSH_9.9\r\n", "does not speak HTTP/2"),
        (PING, "does not speak HTTP/2"),
    ],
)
def test_another_protocol_is_called_by_its_name(greeting: bytes, words: str) -> None:
    with pytest.raises(ProtocolError, match=words):
        Connection().receive(greeting)


@given(st.binary(max_size=400), st.integers(0, 9), st.integers(0, 255), st.integers(0, 3))
def test_no_bytes_do_more_than_end_the_connection(payload: bytes, kind: int, flags: int, number: int) -> None:
    for said in (payload, frames.frame(kind, flags, number, payload), with_head(frames.frame(kind, flags, number, payload))):
        client, _, _ = asked()
        refuses(lambda said=said, client=client: client.receive(said))


def refuses(act: Callable[[], object]) -> bool:
    try:
        act()
    except ProtocolError:
        return True
    return False
