"""The manual, made into pages here: a closed network can read it too."""

from html import escape
from pathlib import Path

from fastapi import Request
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException

from tarsy.api.dashboard import file_within
from tarsy.api.router import plain_router

# In an installed package the manual lies beside this module, in a clone where people look for it.
_INSTALLED = Path(__file__).parent / "manual"
MANUAL = _INSTALLED if _INSTALLED.is_dir() else Path(__file__).parents[3] / "docs"
START = "README.md"
_SHOWN = {".svg": "image/svg+xml", ".png": "image/png", ".json": "application/json"}
_STYLE = """
body { font: 16px/1.6 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; color: #1b1f24; background: #fff; }
h1, h2 { border-bottom: 1px solid #d0d7de; padding-bottom: .3rem; } img { max-width: 100%; background: #fff; border-radius: .5rem; }
code { background: #f3f5f7; padding: .1rem .3rem; border-radius: .25rem; } pre { background: #f3f5f7; padding: 1rem; overflow-x: auto; }
pre code { padding: 0; background: none; } table { border-collapse: collapse; display: block; overflow-x: auto; }
td, th { text-align: left; padding: .25rem 1rem .25rem 0; vertical-align: top; border-bottom: 1px solid #d0d7de; }
@media (prefers-color-scheme: dark) { body { color: #e6edf3; background: #0d1117; } code, pre { background: #21262d; } a { color: #6cb6ff; } }
"""

router = plain_router(include_in_schema=False)


@router.get("/help")
async def manual() -> RedirectResponse:
    """With the slash, so that the pages' own links lead somewhere."""
    return RedirectResponse("/help/")


@router.get("/help/{name:path}")
async def page(request: Request, name: str) -> Response:
    file = find(MANUAL, name or START)
    if file is None:
        raise HTTPException(404, f"The manual has no page {name}.")
    if file.suffix in _SHOWN:
        return FileResponse(file, media_type=_SHOWN[file.suffix])
    return HTMLResponse(manual_page(file.read_text(encoding="utf-8"), request.state.csp_nonce))


def find(manual: Path, name: str) -> Path | None:
    """The file of that name, if it is one we show and really in the manual."""
    file = file_within(manual, name)
    return file if file and (file.suffix == ".md" or file.suffix in _SHOWN) else None


def manual_page(text: str, nonce: str) -> str:
    from markdown_it import MarkdownIt  # noqa: PLC0415 - needed only by who reads the manual

    body: str = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    title = next((line.removeprefix("# ") for line in text.splitlines() if line.startswith("# ")), "Manual")
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)} - TARSy</title>'
        f'<meta name="viewport" content="width=device-width"><style nonce="{nonce}">{_STYLE}</style></head>'
        f'<body><nav><a href="/">TARSy</a> · <a href="/help/">Manual</a> · <a href="/docs">API</a></nav><main>{body}</main></body></html>'
    )
