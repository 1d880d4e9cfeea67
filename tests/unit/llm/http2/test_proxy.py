from collections.abc import Mapping

import pytest

from tarsy.llm.http2.proxy import LONGEST_REPLY, Proxy, after_reply, proxy_of
from tarsy.llm.http2.target import Host

SERVICE = Host("llm.example.com", 50051)
THERE = Proxy(Host("proxy", 3128))


@pytest.mark.parametrize(
    ("env", "proxy"),
    [
        ({}, None),
        ({"http_proxy": "http://proxy:3128"}, THERE),
        ({"http_proxy": "http://proxy"}, Proxy(Host("proxy", 80))),
        ({"http_proxy": "http://[::1]:3128/"}, Proxy(Host("::1", 3128))),
        ({"http_proxy": "http://me:p%40ss@proxy:3128"}, Proxy(Host("proxy", 3128), "me:p@ss")),
        ({"grpc_proxy": "http://proxy:3128", "https_proxy": "http://other", "http_proxy": "http://another"}, THERE),
        ({"grpc_proxy": "", "http_proxy": "http://proxy:3128"}, None),
        ({"https_proxy": "socks5://proxy:3128"}, None),
        ({"http_proxy": "http://proxy:port"}, None),
        ({"http_proxy": "proxy:3128"}, None),
        ({"http_proxy": "http://proxy:3128", "no_proxy": "other.com, Example.COM"}, None),
        ({"http_proxy": "http://proxy:3128", "no_proxy": ".example.com"}, None),
        ({"http_proxy": "http://proxy:3128", "no_proxy": "example.org,,10.0.0.0/8"}, THERE),
        ({"http_proxy": "http://proxy:3128", "no_grpc_proxy": "", "no_proxy": "example.com"}, THERE),
    ],
)
def test_the_environment_names_the_proxy_as_it_does_for_grpc(env: Mapping[str, str], proxy: Proxy | None) -> None:
    assert proxy_of(SERVICE, env) == proxy


def test_ranges_of_addresses_need_no_proxy() -> None:
    env = {"http_proxy": "http://proxy:3128", "no_proxy": "10.0.0.0/8,fd00::/8,192.168.1.7"}
    hosts = ("10.1.2.3", "11.1.2.3", "fd00::1", "::1", "192.168.1.7")
    assert [proxy_of(Host(name, 1), env) for name in hosts] == [None, THERE, None, THERE, None]


def test_a_proxy_is_asked_for_one_connection() -> None:
    assert THERE.request(SERVICE) == b"CONNECT llm.example.com:50051 HTTP/1.1\r\nHost: llm.example.com:50051\r\n\r\n"
    assert Proxy(Host("proxy", 1), "me:pass").request(Host("::1", 2)).splitlines() == [
        b"CONNECT [::1]:2 HTTP/1.1",
        b"Host: [::1]:2",
        b"Proxy-Authorization: Basic bWU6cGFzcw==",
        b"",
    ]


def test_its_reply_is_told_from_what_follows() -> None:
    assert after_reply(b"HTTP/1.1 200 Connection established\r\nVia: x\r\n") is None
    assert after_reply(b"HTTP/1.0 200 OK\r\n\r\n") == b""
    assert after_reply(b"HTTP/1.1 200 OK\r\n\r\n\0\0") == b"\0\0"


@pytest.mark.parametrize("reply", [b"HTTP/1.1 403 Forbidden\r\n\r\n", b"\r\n\r\n", b"HTTP/1.1 200 OK\r\n" + b"x" * LONGEST_REPLY])
def test_a_reply_that_is_none_ends_the_attempt(reply: bytes) -> None:
    with pytest.raises(ConnectionError, match="the proxy made no connection"):
        after_reply(reply)
