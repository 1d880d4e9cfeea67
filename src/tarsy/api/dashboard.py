"""The dashboard's files; the page itself answers every path that is not a file."""

import mimetypes
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.types import Receive, Scope, Send

from tarsy.api.middleware import needs_login

FILES = Path(__file__).parent / "static"
# Replaced in the built page by the nonce of the response.
NONCE_PLACEHOLDER = "__CSP_NONCE__"
# Files in this folder have a hash of their content in their names.
HASHED = "assets"
_FOR_EVER = {"Cache-Control": "public, max-age=31536000, immutable"}

_NOT_BUILT = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>TARSy</title></head>
<body><h1>TARSy is running</h1>
<p>The dashboard has not been built yet: run <code>make setup</code> with Node.js installed, then start again.</p>
<p>The API is ready: <a href="/docs">documentation</a>, <a href="/health">health</a>.</p></body></html>
"""


def file_within(folder: Path, name: str) -> Path | None:
    """Return the file of that name if it is inside `folder`."""
    root = folder.resolve()
    try:
        file = (root / name).resolve()
        return file if file.is_relative_to(root) and file.is_file() else None
    except (OSError, ValueError):
        # A name that no file can have: too long, or with a NUL.
        return None


class Dashboard:
    """The ASGI application for paths that no route matches: a file of the dashboard, or its page, which routes in the browser."""

    def __init__(self, files: Path = FILES) -> None:
        self._files = files

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        if scope["method"] not in {"GET", "HEAD"} or needs_login(path) or path.startswith("/api"):
            raise HTTPException(404, f"There is nothing at {path}.")
        index, name = self._files / "index.html", path.lstrip("/")
        if not index.is_file():
            response = HTMLResponse(_NOT_BUILT)
        elif name and name != "index.html" and (file := file_within(self._files, name)):
            response = self._file_response(Request(scope), name, file)
        elif name.startswith(f"{HASHED}/") or Path(name).suffix in {".js", ".css", ".map", ".png", ".svg", ".ico", ".json"}:
            raise HTTPException(404, f"There is no file {path}.")
        else:
            page = index.read_text(encoding="utf-8").replace(NONCE_PLACEHOLDER, scope["state"]["csp_nonce"])
            response = HTMLResponse(page)
        await response(scope, receive, send)

    def _file_response(self, request: Request, name: str, file: Path) -> Response:
        """Return the file, compressed if the build made a compressed copy and the client accepts it."""
        headers = dict(_FOR_EVER) if name.startswith(f"{HASHED}/") else {}
        copy = file_within(self._files, f"{name}.gz")
        if copy is None:
            return FileResponse(file, headers=headers)
        headers["Vary"] = "Accept-Encoding"
        if "gzip" not in request.headers.get("accept-encoding", ""):
            return FileResponse(file, headers=headers)
        media_type, _ = mimetypes.guess_type(file.name)
        return FileResponse(copy, headers={**headers, "Content-Encoding": "gzip"}, media_type=media_type)
