"""What the command line makes of answers that are not a TARSy's."""

from contextlib import aclosing

import httpx
import pytest

from tarsy.cli.client import TarsyClient, connect
from tarsy.cli.terminal import ServerRefusedError


def _client(answer: httpx.Response) -> TarsyClient:
    return TarsyClient(httpx.AsyncClient(base_url="http://tarsy", transport=httpx.MockTransport(lambda _request: answer)))


@pytest.mark.parametrize(
    ("answer", "reported"),
    [
        (httpx.Response(200, text="<html>a web shop"), "It answered: <html>a web shop"),
        (httpx.Response(200, json=["a", "list"]), "The server at http://tarsy is not TARSy"),
        (httpx.Response(302, headers={"Location": "https://login.example.com"}), "The server answered 302"),
        (httpx.Response(502, text="bad gateway"), "The server answered 502: bad gateway"),
        (httpx.Response(500, json=["odd"]), "The server answered 500"),
        (httpx.Response(404, json={"title": "Not Found", "detail": "There is no session x."}), "There is no session x."),
    ],
)
async def test_an_answer_that_is_no_use_is_reported_in_a_sentence(answer: httpx.Response, reported: str) -> None:
    with pytest.raises(ServerRefusedError) as refused:
        await _client(answer).session("x")
    assert reported in str(refused.value)


async def test_an_address_that_is_none_is_reported_in_a_sentence() -> None:
    for address in ("http://[::1", "http://host:port", "http://host:99999", "http://", "localhost:8080", "tarsy.example.com"):
        with pytest.raises(ServerRefusedError, match="is not a web address"):
            async with connect(address):
                pass


async def test_a_message_holds_neither_the_token_nor_the_password_of_the_address() -> None:
    for token in ("geheim\n", " geheim", "gehéim"):
        with pytest.raises(ServerRefusedError, match=r"^The API token \(--token or TARSY_TOKEN\) has a line break, [a-zA-Z ]+\.$"):
            async with connect("http://tarsy.example.com", token):
                pass
    # No TARSy listens on port 0.
    async with connect("http://me:geheim@127.0.0.1:0") as client:
        with pytest.raises(ServerRefusedError, match=r"^Cannot reach TARSy at http://127\.0\.0\.1:0: "):
            await client.session("x")


async def test_a_session_is_followed_while_its_server_restarts_behind_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tarsy.cli.client.RECONNECT_SECONDS", 0.0)
    answers = [httpx.Response(502, text="bad gateway"), httpx.Response(200, text='data: {"id": 7, "type": "session.completed"}\n\n')]
    http = httpx.AsyncClient(base_url="http://tarsy", transport=httpx.MockTransport(lambda _request: answers.pop(0)))
    async with aclosing(TarsyClient(http).events("x")) as events:
        assert (await anext(events))["id"] == 7
    with pytest.raises(ServerRefusedError, match="There is no session x"):
        await anext(_client(httpx.Response(404, json={"detail": "There is no session x."})).events("x"))
