"""The parts of PagerDuty, Opsgenie, Grafana, Jira and GitHub that keep notes, as their references describe them."""

import re
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson

TOKEN = "t0ken"
Answer = tuple[int, Mapping[str, str], Any]


@dataclass(frozen=True)
class Vendor:
    """One of the services: where its notes are, what it wants in a request, and how it answers."""

    path: str
    known: str
    headers: Mapping[str, str]
    # The text of a new note; a KeyError or TypeError means that the service refuses the body.
    text: Callable[[Any], str]
    created: int
    listed: Callable[[list[Any]], Any]
    refused: Callable[[str], Any]
    limited: Callable[[], Answer]


def _document_text(body: Any) -> str:
    document = body["body"]
    if (document["type"], document["version"]) != ("doc", 1):
        raise KeyError(document["type"])
    # Jira accepts no empty text.
    lines = [block["content"][0]["text"] or block["empty"] for block in document["content"] if block["type"] == "paragraph"]
    return "\n\n".join(lines)


def _annotation_text(body: Any) -> str:
    # A time in seconds would be in 1970.
    return body["text"] if body["time"] > 10**12 and body["tags"] else body["no time"]


VENDORS = {
    "pagerduty": Vendor(
        path=r"/incidents/(?P<object>[^/]+)/notes",
        known="PT4KHLK",
        headers={"Authorization": f"Token token={TOKEN}", "From": "bot@example.com"},
        text=lambda body: body["note"]["content"],
        created=201,
        listed=lambda notes: {"notes": notes},
        refused=lambda reason: {"error": {"message": reason, "code": 2100}},
        limited=lambda: (429, {"RateLimit-Reset": "30"}, {"error": {"message": "Rate Limit Exceeded", "code": 2020}}),
    ),
    "opsgenie": Vendor(
        path=r"/v2/alerts/(?P<object>[^/]+)/notes",
        known="disk%2Edb-1",
        headers={"Authorization": f"GenieKey {TOKEN}"},
        text=lambda body: body["note"],
        created=202,
        listed=lambda notes: {"data": notes, "took": 0.1},
        refused=lambda reason: {"message": reason, "took": 0.1},
        limited=lambda: (429, {"X-RateLimit-State": "THROTTLED"}, {"message": "You are making too many requests!"}),
    ),
    "grafana": Vendor(
        path=r"/(?P<object>api)/annotations",
        known="api",
        headers={"Authorization": f"Bearer {TOKEN}"},
        text=_annotation_text,
        created=200,
        listed=lambda notes: notes,
        refused=lambda reason: {"message": reason},
        limited=lambda: (429, {"Retry-After": "30"}, {"message": "too many requests"}),
    ),
    "jira": Vendor(
        path=r"/rest/api/3/issue/(?P<object>[^/]+)/comment",
        known="OPS-12",
        headers={"Authorization": "Basic Ym90QGV4YW1wbGUuY29tOnQwa2Vu"},
        text=_document_text,
        created=201,
        listed=lambda notes: {"comments": notes, "total": len(notes)},
        refused=lambda reason: {"errorMessages": [reason], "errors": {}},
        limited=lambda: (429, {"Retry-After": "30", "X-RateLimit-Reset": "2026-11-17T03:00Z"}, {"errorMessages": ["Rate limited"]}),
    ),
    "github": Vendor(
        path=r"/repos/example/operations/issues/(?P<object>[^/]+)/comments",
        known="12",
        headers={"Authorization": f"Bearer {TOKEN}", "X-GitHub-Api-Version": "2022-11-28"},
        text=lambda body: body["body"],
        created=201,
        listed=lambda notes: notes,
        refused=lambda reason: {"message": reason, "documentation_url": "https://docs.github.com/rest"},
        limited=lambda: (
            403,
            {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(time.time()) + 31)},
            {"message": "API rate limit exceeded"},
        ),
    ),
}


@dataclass
class NoteServices:
    url: str = ""
    # All services have had enough requests.
    is_limited: bool = False
    # Notes are stored, but the sender does not get to know.
    loses_answers: bool = False
    notes: dict[str, list[tuple[str, Any]]] = field(default_factory=lambda: defaultdict(list))

    def texts(self, path: str) -> list[str]:
        return [text for text, _ in self.notes[path]]

    def answer(self, address: str, headers: Mapping[str, str], body: Any) -> Answer | None:
        """Return the answer to a request that lists notes (without a body) or adds one; None if the connection is to be closed."""
        path = urlsplit(address).path
        for vendor in VENDORS.values():
            if not (found := re.fullmatch(vendor.path, path)):
                continue
            if any(headers.get(name) != value for name, value in vendor.headers.items()):
                return 401, {}, vendor.refused("Unauthorized")
            if self.is_limited:
                return vendor.limited()
            if found["object"] != vendor.known:
                return 404, {}, vendor.refused("Not Found")
            return self._list(vendor, address) if body is None else self._add(vendor, path, body)
        return 404, {}, {"message": "no such endpoint"}

    def _list(self, vendor: Vendor, address: str) -> Answer:
        tags = set(parse_qs(urlsplit(address).query).get("tags", []))
        return 200, {}, vendor.listed([body for _, body in self.notes[urlsplit(address).path] if tags <= set(body.get("tags", []))])

    def _add(self, vendor: Vendor, path: str, body: Any) -> Answer | None:
        try:
            self.notes[path].append((vendor.text(body), body))
        except (KeyError, TypeError):
            return 400, {}, vendor.refused("Invalid input")
        return None if self.loses_answers else (vendor.created, {}, {"result": "ok"})


@contextmanager
def note_services() -> Generator[NoteServices]:
    services = NoteServices()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(None)

        def do_POST(self) -> None:
            self._answer(orjson.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def _answer(self, body: Any) -> None:
            answer = services.answer(self.path, dict(self.headers.items()), body)
            if answer is None:
                self.close_connection = True
                return
            status, headers, content = answer
            written = orjson.dumps(content)
            self.send_response(status)
            for name, value in {"Content-Length": str(len(written)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(written)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the library
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    services.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield services
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
