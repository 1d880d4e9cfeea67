"""Git repositories of skills, and an HTTPS server of this machine that gives them out, by Git's own program."""

import os
import ssl
import subprocess
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import trustme

_IDENTITY = {"GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@t", "GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@t"}


@dataclass(frozen=True)
class SkillRepository:
    """A repository with a working tree, as a team would have it."""

    path: Path

    @classmethod
    def create(cls, path: Path) -> "SkillRepository":
        path.mkdir(parents=True)
        made = cls(path)
        made.git("init", "--quiet", "--initial-branch=main")
        made.git("config", "http.uploadpack", "true")
        return made

    def git(self, *arguments: str) -> str:
        env = {"PATH": os.environ["PATH"], "HOME": str(self.path), "GIT_CONFIG_NOSYSTEM": "1", **_IDENTITY}
        return subprocess.run(["git", *arguments], cwd=self.path, env=env, capture_output=True, text=True, check=True).stdout.strip()

    def commit(self, files: dict[str, str] | None = None) -> str:
        """Write the files, commit everything, and return the commit."""
        for name, text in (files or {}).items():
            file = self.path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message=change")
        return self.git("rev-parse", "HEAD")


@dataclass(frozen=True)
class GitServer:
    address: str
    authority: Path
    asked: list[str]


@contextmanager
def git_server(root: Path) -> Generator[GitServer]:
    """Serve the repositories below `root`; `authority` is the file of the certificates to trust."""
    authority = trustme.CA()
    asked: list[str] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate = root / "server.pem"
    authority.issue_cert("localhost").private_key_and_cert_chain_pem.write_to_path(str(certificate))
    context.load_cert_chain(certificate)
    file = root / "authority.pem"
    authority.cert_pem.write_to_path(str(file))
    server = ThreadingHTTPServer(("localhost", 0), _handler(root, asked))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield GitServer(f"https://localhost:{server.server_port}", file, asked)
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def _handler(root: Path, asked: list[str]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            parts = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            env = {
                "PATH": os.environ["PATH"],
                "GIT_PROJECT_ROOT": str(root),
                "GIT_HTTP_EXPORT_ALL": "1",
                "GIT_CONFIG_COUNT": "1",
                "GIT_CONFIG_KEY_0": "safe.directory",
                "GIT_CONFIG_VALUE_0": "*",
                "PATH_INFO": parts.path,
                "QUERY_STRING": parts.query,
                "REQUEST_METHOD": self.command,
                "CONTENT_TYPE": self.headers.get("Content-Type") or "",
                "HTTP_GIT_PROTOCOL": self.headers.get("Git-Protocol") or "",
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding") or "",
            }
            done = subprocess.run(["git", "http-backend"], env=env, input=body, capture_output=True, check=False)
            head, _, content = done.stdout.partition(b"\r\n\r\n")
            headers = dict(line.split(": ", 1) for line in head.decode().splitlines() if ": " in line)
            self.send_response(int(headers.pop("Status", "200").split()[0]))
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_GET  # noqa: N815 - as the standard library calls it

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as the standard library calls it
            """Stay quiet."""

    return Handler
