"""How a client reads gRPC: messages out of bytes, the end of a call out of headers."""

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarsy.llm.grpc_messages import Messages, framed, metadata_field
from tarsy.llm.grpc_status import RpcError, Status, outcome, refusal

OK = [(b":status", b"200"), (b"content-type", b"application/grpc+proto")]


@given(st.lists(st.binary(max_size=300), max_size=8), st.lists(st.integers(0, 3000), max_size=30))
def test_messages_are_the_same_however_their_bytes_arrive(messages: list[bytes], places: list[int]) -> None:
    data = b"".join(map(framed, messages))
    ends = sorted({place % (len(data) + 1) for place in places} | {len(data)})
    reader = Messages(largest=300)
    got = [message for begin, end in zip([0, *ends], ends, strict=False) for message in reader.feed([data[begin:end]])]
    assert got == messages
    reader.end()


def test_an_answer_that_ends_within_a_message_is_not_whole() -> None:
    reader = Messages(largest=300)
    assert reader.feed([framed(b"whole"), framed(b"half")[:-2]]) == [b"whole"]
    with pytest.raises(RpcError, match="INTERNAL: the answer ended in the middle"):
        reader.end()


def test_a_message_above_the_limit_is_refused_before_it_has_come() -> None:
    with pytest.raises(RpcError, match=r"RESOURCE_EXHAUSTED: .*301 vs\. 300"):
        Messages(largest=300).feed([framed(bytes(301))[:5]])


def packed(message: bytes) -> bytes:
    return b"\x01" + framed(message)[1:]


def test_what_a_service_compresses_unasked_is_unpacked_up_to_the_limit() -> None:
    plain = bytes(300)
    assert Messages(largest=300).feed([packed(gzip.compress(plain)) + packed(zlib.compress(plain)) + framed(b"as it is")]) == [
        plain,
        plain,
        b"as it is",
    ]
    with pytest.raises(RpcError, match=r"RESOURCE_EXHAUSTED: .*301 vs\. 300"):
        Messages(largest=300).feed([packed(zlib.compress(bytes(100_000)))])


def test_what_cannot_be_unpacked_is_a_failure_of_the_service() -> None:
    for message in (b"zipped by other means", gzip.compress(bytes(300))[:-9]):
        with pytest.raises(RpcError, match="INTERNAL: a compressed message cannot be unpacked"):
            Messages(largest=300).feed([packed(message)])


def test_bytes_travel_as_base64_without_padding() -> None:
    assert metadata_field(("tarsy-call-bin", b"\xff\xfe")) == (b"tarsy-call-bin", b"//4")
    assert metadata_field(("traceparent", "00-ab")) == (b"traceparent", b"00-ab")


@pytest.mark.parametrize(
    ("headers", "trailers", "status", "details"),
    [
        (OK, [(b"grpc-status", b"0")], Status.OK, ""),
        (OK, [(b"grpc-status", b"14"), (b"grpc-message", b"gone%20to%20bed%20%E2%98%BE %")], Status.UNAVAILABLE, "gone to bed ☾ %"),
        ([*OK, (b"grpc-status", b"12")], None, Status.UNIMPLEMENTED, ""),
        (OK, [(b"grpc-status", b"99")], Status.UNKNOWN, ""),
        (OK, [(b"grpc-status", b"x")], Status.UNKNOWN, ""),
        (OK, [], Status.UNKNOWN, "the answer ended without a status"),
        (OK, None, Status.UNKNOWN, "the answer ended without a status"),
        ([(b":status", b"503"), (b"grpc-status", b"8")], None, Status.RESOURCE_EXHAUSTED, ""),
        ([(b":status", b"503")], None, Status.UNAVAILABLE, "it answered with HTTP status 503 and no gRPC status"),
    ],
)
def test_an_answer_says_how_it_ended(
    headers: list[tuple[bytes, bytes]], trailers: list[tuple[bytes, bytes]] | None, status: Status, details: str
) -> None:
    assert outcome(headers, trailers) == (status, details)


@pytest.mark.parametrize(
    ("http", "status"),
    [
        (b"400", Status.INTERNAL),
        (b"401", Status.UNAUTHENTICATED),
        (b"403", Status.PERMISSION_DENIED),
        (b"404", Status.UNIMPLEMENTED),
        (b"429", Status.UNAVAILABLE),
        (b"502", Status.UNAVAILABLE),
        (b"504", Status.UNAVAILABLE),
        (b"418", Status.UNKNOWN),
        (b"odd", Status.UNKNOWN),
    ],
)
def test_a_proxy_that_answers_in_place_of_the_service_is_understood(http: bytes, status: Status) -> None:
    refused = refusal([(b":status", http), (b"content-type", b"text/html")])
    assert refused is not None
    assert refused[0] is status


def test_a_page_is_not_taken_for_an_answer() -> None:
    assert refusal([(b":status", b"200"), (b"content-type", b"text/html")]) == (Status.UNKNOWN, "it answered with text/html, not with gRPC")
    assert refusal(OK) is None
