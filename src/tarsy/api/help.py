"""The manual, made into pages here: a closed network can read it too."""

from pathlib import Path
from typing import Annotated

from fastapi import Query, Request
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException

from tarsy.api.dashboard import file_within
from tarsy.api.manual_book import MAX_QUERY, START, Book
from tarsy.api.router import plain_router

# In an installed package the manual lies beside this module, in a clone where people look for it.
_INSTALLED = Path(__file__).parent / "manual"
MANUAL = _INSTALLED if _INSTALLED.is_dir() else Path(__file__).parents[3] / "docs"
_SHOWN = {".svg": "image/svg+xml", ".png": "image/png", ".webp": "image/webp", ".json": "application/json"}

router = plain_router(include_in_schema=False)


@router.get("/help")
async def manual() -> RedirectResponse:
    """With the slash, so that the pages' own links lead somewhere."""
    return RedirectResponse("/help/")


@router.get("/help/{name:path}")
async def page(request: Request, name: str, q: Annotated[str, Query()] = "") -> Response:
    from tarsy.api.manual_html import page_html, search_html  # noqa: PLC0415 - needed only by who reads the manual

    book, nonce = Book(MANUAL), request.state.csp_nonce
    if not name and q.strip():
        return HTMLResponse(search_html(book, " ".join(q[:MAX_QUERY].split()), nonce))
    file = find(MANUAL, name or START)
    if file is None:
        raise HTTPException(404, f"The manual has no page {name}.")
    if file.suffix in _SHOWN:
        return FileResponse(file, media_type=_SHOWN[file.suffix])
    return HTMLResponse(page_html(book, name or START, file.read_text(encoding="utf-8"), nonce))


def find(manual: Path, name: str) -> Path | None:
    """The file of that name, if it is one we show and really in the manual."""
    file = file_within(manual, name)
    return file if file and (file.suffix == ".md" or file.suffix in _SHOWN) else None
