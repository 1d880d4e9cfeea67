"""The parts of PagerDuty, Opsgenie, Grafana, Jira and GitHub that keep notes, as their references describe them."""

import re
import threading
from collections import defaultdict
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson

TOKEN = "t0ken"
# Paths and the headers that each service wants; the objects that exist are the known ones.
_SERVICES = (
    (r"/incidents/(?P<object>[^/]+)/notes", {"Authorization": f"Token token={TOKEN}", "From": "bot@example.com"}, 201),
    (r"/v2/alerts/(?P<object>[^/]+)/notes", {"Authorization": f"GenieKey {TOKEN}"}, 202),
    (r"/(?P<object>api)/annotations", {"Authorization": f"Bearer {TOKEN}"}, 200),
    (r"/rest/api/3/issue/(?P<object>[^/]+)/comment", {"Authorization": "Basic Ym90QGV4YW1wbGUuY29tOnQwa2Vu"}, 201),
    (r"/repos/example/operations/issues/(?P<object>[^/]+)/comments", {"Authorization": f"Bearer {TOKEN}"}, 201),
)
KNOWN = {"PT4KHLK", "disk%2Edb-1", "api", "OPS-12", "12"}


def note_text(path: str, body: Mapping[str, Any]) -> str:
    """Return the text of a new note; a KeyError means that the service would answer 400."""
    match path.split("/"):
        case [_, "incidents", *_]:
            return body["note"]["content"]
        case [_, "v2", *_]:
            return body["note"]
        case [_, "api", *_]:
            # A time in seconds would be in 1970.
            return body["text"] if body["time"] > 10**12 and body["tags"] else body["no time"]
        case [_, "rest", *_]:
            (paragraph,) = body["body"]["content"]
            return paragraph["content"][0]["text"] if body["body"]["type"] == "doc" else body["no document"]
        case _:
            return body["body"]


Answer = tuple[int, Mapping[str, str], Any]


@dataclass
class NoteServices:
    url: str = ""
    # The next requests are answered so, before everything else.
    answers: list[Answer] = field(default_factory=list[Answer])
    # Notes are stored, but the sender does not get to know.
    loses_answers: bool = False
    notes: dict[str, list[tuple[str, Any]]] = field(default_factory=lambda: defaultdict(list))

    def texts(self, path: str) -> list[str]:
        return [text for text, _ in self.notes[path]]

    def answer(self, address: str, headers: Mapping[str, str], body: Any) -> Answer | None:
        """Return the answer to a request that lists notes (without a body) or adds one; None if the connection is to be closed."""
        if self.answers:
            return self.answers.pop(0)
        path = urlsplit(address).path
        for pattern, wanted, created in _SERVICES:
            if found := re.fullmatch(pattern, path):
                if any(headers.get(name) != value for name, value in wanted.items()):
                    return 401, {}, {"message": "Bad credentials"}
                if found["object"] not in KNOWN:
                    return 404, {}, {"message": "Not Found"}
                return self._list(address) if body is None else self._add(path, body, created)
        return 404, {}, {"message": "no such endpoint"}

    def _list(self, address: str) -> Answer:
        tags = set(parse_qs(urlsplit(address).query).get("tags", []))
        return 200, {}, [body for _, body in self.notes[urlsplit(address).path] if tags <= set(body.get("tags", []))]

    def _add(self, path: str, body: Any, created: int) -> Answer | None:
        try:
            self.notes[path].append((note_text(path, body), body))
        except (KeyError, TypeError):
            return 400, {}, {"message": "Invalid input"}
        return None if self.loses_answers else (created, {}, {"result": "ok"})


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
