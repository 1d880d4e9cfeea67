"""Runbooks from real HTTP servers: what is fetched, what is refused, and that a refusal never raises."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from tarsy.kit.clock import FixedClock
from tarsy.session.runbook import MAX_BYTES, Runbook, RunbookSource, credentials_for, raw_url

DEFAULT = "the default runbook"


@dataclass
class Reply:
    body: bytes = b"# Steps"
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "text/plain; charset=utf-8"})
    waits: bool = False


class Server:
    """Answers each path with what the test put there, and remembers what it was asked."""

    def __init__(self) -> None:
        self.replies: dict[str, Reply] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.release = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.answer(self)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.http.server_address[1]

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        path = request.path.partition("?")[0]
        self.asked.append((request.path, {name.lower(): value for name, value in request.headers.items()}))
        reply = self.replies.get(path, Reply(b"no such page", 404))
        if reply.waits:
            self.release.wait(30)
        try:
            request.send_response(reply.status)
            for name, value in reply.headers.items():
                request.send_header(name, value)
            request.end_headers()
            request.wfile.write(reply.body)
        except OSError:
            # The client had enough: what this test is about.
            request.close_connection = True

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.release.set()
    server.http.shutdown()
    server.http.server_close()
    thread.join(10)


@pytest.fixture
def source() -> RunbookSource:
    return RunbookSource(allowed_domains=("127.0.0.1",), github_token="gh-secret", timeout=60.0, clock=FixedClock())


def refused(runbook: Runbook) -> str:
    assert runbook.text == DEFAULT
    assert runbook.source is None
    assert runbook.warning is not None
    return runbook.warning


async def test_a_runbook_is_fetched_as_text(server: Server, source: RunbookSource) -> None:
    server.replies["/a.md"] = Reply("\ufeff# Schritte für DNS".encode())
    runbook = await source.fetch(server.url("/a.md?token=t"), DEFAULT)
    assert runbook == Runbook("# Schritte für DNS", source=server.url("/a.md"))


@pytest.mark.parametrize("url", [None, "", "  "])
async def test_without_an_address_the_default_stands_without_a_warning(url: str | None, source: RunbookSource) -> None:
    assert await source.fetch(url, DEFAULT) == Runbook(DEFAULT)


async def test_our_token_and_compression_are_not_offered_to_strangers(server: Server, source: RunbookSource) -> None:
    server.replies["/a.md"] = Reply()
    await source.fetch(server.url("/a.md"), DEFAULT)
    [(_, headers)] = server.asked
    assert "authorization" not in headers
    assert headers["accept-encoding"] == "identity"


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://localhost:1/a.md", "localhost is not among the allowed domains"),
        ("http://127.0.0.1.evil.example/a.md", "not among the allowed domains"),
        ("http://127.0.0.1@evil.example/a.md", "credentials"),
        ("http://user:pass@127.0.0.1/a.md", "credentials"),
        ("file:///etc/passwd", "only http and https"),
        ("ftp://127.0.0.1/a.md", "only http and https"),
        ("not an address", "only http and https"),
        ("http://127.0.0.1:port/a", "cannot be read"),
        ("http://[::1", "cannot be read"),
        ("http://\0/", "cannot be read"),
        ("https://xn--/a.md", "cannot be read"),
    ],
)
async def test_an_address_that_is_not_allowed_is_not_asked(url: str, reason: str, source: RunbookSource) -> None:
    assert reason in refused(await source.fetch(url, DEFAULT))


async def test_a_redirect_within_the_allowed_domains_is_followed(server: Server, source: RunbookSource) -> None:
    server.replies["/old"] = Reply(b"", 302, {"Location": "/new"})
    server.replies["/new"] = Reply(b"moved here")
    assert (await source.fetch(server.url("/old"), DEFAULT)).text == "moved here"


async def test_a_redirect_out_of_the_allowed_domains_is_not_followed(server: Server, source: RunbookSource) -> None:
    server.replies["/old"] = Reply(b"", 302, {"Location": server.url("/new", host="localhost")})
    server.replies["/new"] = Reply()
    assert "localhost is not among the allowed domains" in refused(await source.fetch(server.url("/old"), DEFAULT))
    assert [path for path, _ in server.asked] == ["/old"]


async def test_endless_redirects_end(server: Server, source: RunbookSource) -> None:
    server.replies["/loop"] = Reply(b"", 301, {"Location": "/loop"})
    assert "redirects too often" in refused(await source.fetch(server.url("/loop"), DEFAULT))
    assert len(server.asked) == 6


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(status=404), "answered 404"),
        (Reply(status=500), "answered 500"),
        (Reply(b"", 204), "is empty"),
        (Reply(b"x" * (MAX_BYTES + 1)), "larger than 512 KiB"),
        (Reply(b"<html>", headers={"Content-Type": "text/html"}), "web page"),
        (Reply(b"%PDF", headers={"Content-Type": "application/pdf"}), "application/pdf, not text"),
        (Reply(b"\xff\xfe\x00", headers={}), "not text"),
        (Reply(b"a\0b"), "not text"),
        (Reply(b"  \n"), "is empty"),
        (Reply(b"\x1f\x8b", headers={"Content-Type": "text/plain", "Content-Encoding": "gzip"}), "compressed"),
        (Reply(b"", 302, {"Location": "http://[::1"}), "Invalid URL in location header"),
        (Reply(b"", 302, {"Location": "https://xn--/"}), "cannot be reached"),
    ],
)
async def test_an_answer_that_is_no_runbook_is_refused(server: Server, source: RunbookSource, reply: Reply, reason: str) -> None:
    server.replies["/a.md"] = reply
    assert reason in refused(await source.fetch(server.url("/a.md"), DEFAULT))


async def test_the_largest_runbook_is_taken_whole(server: Server, source: RunbookSource) -> None:
    server.replies["/a.md"] = Reply(b"x" * MAX_BYTES)
    assert len((await source.fetch(server.url("/a.md"), DEFAULT)).text) == MAX_BYTES


async def test_a_server_that_does_not_answer_costs_no_more_than_the_timeout(server: Server) -> None:
    server.replies["/a.md"] = Reply(waits=True)
    source = RunbookSource(allowed_domains=("127.0.0.1",), timeout=0.2)
    assert "did not answer within 0.2 s" in refused(await source.fetch(server.url("/a.md"), DEFAULT))


async def test_a_server_that_is_not_there_is_a_warning(server: Server, source: RunbookSource) -> None:
    server.http.server_close()
    assert "cannot be reached" in refused(await source.fetch(server.url("/a.md"), DEFAULT))


async def test_a_runbook_is_asked_for_again_only_after_its_time(server: Server) -> None:
    clock = FixedClock()
    source = RunbookSource(allowed_domains=("127.0.0.1",), cache_ttl=60.0, clock=clock)
    server.replies["/a.md"] = Reply(b"first")
    assert (await source.fetch(server.url("/a.md"), DEFAULT)).text == "first"
    server.replies["/a.md"] = Reply(b"second")
    clock.elapsed = 59.0
    assert (await source.fetch(server.url("/a.md"), DEFAULT)).text == "first"
    clock.elapsed = 61.0
    assert (await source.fetch(server.url("/a.md"), DEFAULT)).text == "second"
    assert len(server.asked) == 2


async def test_a_failure_is_not_remembered(server: Server, source: RunbookSource) -> None:
    refused(await source.fetch(server.url("/a.md"), DEFAULT))
    server.replies["/a.md"] = Reply(b"now there")
    assert (await source.fetch(server.url("/a.md"), DEFAULT)).text == "now there"


@pytest.mark.parametrize(
    ("page", "raw"),
    [
        ("https://github.com/o/r/blob/main/docs/a.md", "https://raw.githubusercontent.com/o/r/main/docs/a.md"),
        ("https://github.com/o/r/blob/main/a.md?plain=1#L3", "https://raw.githubusercontent.com/o/r/main/a.md"),
        ("https://www.github.com/o/r/raw/v1/a.md", "https://raw.githubusercontent.com/o/r/v1/a.md"),
        ("https://github.com/o/r/blob/refs/heads/main/a%20b.md", "https://raw.githubusercontent.com/o/r/refs/heads/main/a%20b.md"),
        ("https://github.com/o/r/blob/main/What%3F.md?plain=1", "https://raw.githubusercontent.com/o/r/main/What%3F.md"),
        ("https://github.com/o/r/blob/main/C%23.md", "https://raw.githubusercontent.com/o/r/main/C%23.md"),
        ("https://github.com/o/r/blob/main/a%0Ab.md", "https://raw.githubusercontent.com/o/r/main/a%0Ab.md"),
        ("https://github.com/o/r", "https://github.com/o/r"),
        ("https://github.com/o/r/tree/main/docs", "https://github.com/o/r/tree/main/docs"),
        ("https://raw.githubusercontent.com/o/r/main/a.md", "https://raw.githubusercontent.com/o/r/main/a.md"),
        ("https://example.com/o/r/blob/main/a.md", "https://example.com/o/r/blob/main/a.md"),
    ],
)
def test_a_page_on_github_is_read_as_its_file(page: str, raw: str) -> None:
    assert str(raw_url(httpx.URL(page))) == raw


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        ("https://github.com/o/r", True),
        ("https://raw.githubusercontent.com/o/r/main/a.md", True),
        ("https://RAW.githubusercontent.com/o/r/main/a.md", True),
        ("http://raw.githubusercontent.com/o/r/main/a.md", False),
        ("https://raw.githubusercontent.com:8443/a", False),
        ("https://github.com.evil.example/a", False),
        ("https://evilgithub.com/a", False),
        ("https://example.com/github.com", False),
    ],
)
def test_the_token_goes_to_github_alone(url: str, sent: bool) -> None:  # noqa: FBT001 - a column of the table
    assert credentials_for(httpx.URL(url), "gh-secret") == ({"Authorization": "Bearer gh-secret"} if sent else {})
    assert credentials_for(httpx.URL(url), None) == {}


def test_the_token_is_not_printed() -> None:
    assert "gh-secret" not in repr(RunbookSource(github_token="gh-secret"))
