"""Commands with a server of another version, or with one that is not TARSy."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from tarsy import __version__
from tarsy.cli.main import main
from tarsy.cli.terminal import OtherVersionError

ID = "4f0c6d0e-2f4b-4a57-9d1d-6a4f6f1d7e21"
LISTS = ("sessions", "incidents", "entries", "approvals", "tokens", "servers", "pauses", "events", "notifications", "targets")
COMMANDS = [
    ("sessions", "list"),
    ("sessions", "show", ID),
    ("incidents", "list"),
    ("incidents", "show", ID),
    ("approvals", "list"),
    ("approvals", "approve", ID),
    ("audit",),
    ("usage",),
    ("tokens", "list"),
    ("tokens", "create", "ci", "--role", "viewer"),
    ("notify", "list"),
    ("notify", "retry", ID),
    ("notify", "test", "chat"),
    ("tools", "pins"),
    ("tools", "accept", "cluster"),
    ("review", ID),
    ("watch", "latest"),
    ("hint", ID, "look at the cache"),
    ("ask", ID, "why?"),
    ("cancel", ID),
    ("fork", ID),
    ("pause",),
    ("resume",),
    ("reload",),
]
# They use nothing of the answer but its text, or only that there is one.
TEXTS = [
    ("tokens", "revoke", "ci"),
    ("sessions", "purge", ID, "--yes"),
    ("export", ID),
    ("report", ID),
    ("usage", "--csv"),
    ("audit", "--jsonl"),
]


@contextmanager
def server(body: str, *, media_type: str = "application/json", version: str = "0.0.1", status: int = 200) -> Generator[str]:
    """A server that answers every request with the same body, and yields its address."""

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            written = (json.dumps({"version": version}) if self.path == "/health" else body).encode()
            self.send_response(status)
            self.send_header("Content-Type", media_type)
            self.send_header("Content-Length", str(len(written)))
            self.end_headers()
            self.wfile.write(written)

        do_GET = do_POST = do_PATCH = do_DELETE = answer  # noqa: N815 - the names that the library calls

        def log_message(self, *_: object) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - it would write to stderr
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{http.server_port}"
        finally:
            http.shutdown()
            thread.join()


def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], url: str, command: tuple[str, ...]) -> str:
    """Run a command that must fail, and return what it prints."""
    monkeypatch.setattr("sys.argv", ["tarsy", *command, "--url", url])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 1, command
    return capsys.readouterr().err


def test_a_server_of_another_version_is_named_with_the_field_that_it_lacks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    listing = [
        ("sessions", "list"),
        ("approvals", "list"),
        ("audit",),
        ("tokens", "list"),
        ("tools", "pins"),
        ("watch", "latest"),
        ("pause",),
    ]
    answers = [
        (json.dumps({}), COMMANDS),
        (json.dumps({name: [{}] for name in LISTS}), listing[:-1]),
        (json.dumps(dict.fromkeys(LISTS, 5)), listing),
    ]
    for body, commands in answers:
        with server(body) as url:
            for command in commands:
                printed = run(monkeypatch, capsys, url, command)
                assert f"The answer of {url}/api/v1/" in printed, (command, printed)
                assert printed.endswith("this command, expects it: the server is TARSy 0.0.1. Use the same version of both.\n"), printed
                assert printed.count("\n") == 1


def test_a_recording_of_another_version_is_reported(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with server('{"review": null}') as url:
        printed = run(monkeypatch, capsys, url, ("eval", "add", ID))
    assert printed == "The server sent no recording that this version of TARSy can read. Use the same version of both.\n"


def test_a_server_that_is_not_tarsy_is_reported_in_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for body, media_type, commands in (
        ("<html>\n<h1>Log in</h1>", "text/html; charset=utf-8", [COMMANDS[0], *TEXTS]),
        ("[]", "application/json", COMMANDS[:2]),
        ("5", "application/json", COMMANDS[:2]),
    ):
        with server(body, media_type=media_type) as url:
            for command in commands:
                printed = run(monkeypatch, capsys, url, command)
                assert f"The server at {url} is not TARSy, or a proxy in front of it wants a login" in printed, (command, printed)


def test_a_field_that_the_same_version_lacks_is_a_bug_with_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    with server("{}", version=__version__) as url:
        monkeypatch.setattr("sys.argv", ["tarsy", "sessions", "list", "--url", url])
        with pytest.raises(OtherVersionError, match="lacks `sessions`"):
            main()


def test_an_error_page_of_a_proxy_is_shown_on_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    page = "<html>\n  <head><title>Bad gateway</title></head>\n</html>\n"
    with server(page, media_type="text/html", status=502) as url:
        text = run(monkeypatch, capsys, url, ("sessions", "list"))
    assert text == "The server answered 502: <html> <head><title>Bad gateway</title></head> </html>\n"
