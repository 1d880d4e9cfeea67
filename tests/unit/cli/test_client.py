"""What the command line makes of answers that are not a TARSy's."""

import httpx
import pytest

from tarsy.cli.client import TarsyClient, connect
from tarsy.cli.terminal import ServerRefusedError


def _client(answer: httpx.Response) -> TarsyClient:
    return TarsyClient(httpx.AsyncClient(base_url="http://tarsy", transport=httpx.MockTransport(lambda _request: answer)))


@pytest.mark.parametrize(
    ("answer", "reported"),
    [
        (httpx.Response(200, text="<html>a web shop"), "The server at http://tarsy is not TARSy: <html>a web shop"),
        (httpx.Response(200, json=["a", "list"]), "is not TARSy"),
        (httpx.Response(302, headers={"Location": "https://login.example.com"}), "The server answered 302"),
        (httpx.Response(502, text="bad gateway"), "The server answered 502: bad gateway"),
        (httpx.Response(500, json=["odd"]), "The server answered 500"),
        (httpx.Response(404, json={"title": "Not Found", "detail": "There is no session x."}), "There is no session x."),
    ],
)
async def test_an_answer_that_is_no_use_is_told_in_a_sentence(answer: httpx.Response, reported: str) -> None:
    with pytest.raises(ServerRefusedError) as refused:
        await _client(answer).session("x")
    assert reported in str(refused.value)


async def test_an_address_that_is_none_is_told_in_a_sentence() -> None:
    for address in ("http://[::1", "http://host:port", "localhost:8080", "tarsy.example.com"):
        with pytest.raises(ServerRefusedError, match="is not a web address"):
            async with connect(address):
                pass
