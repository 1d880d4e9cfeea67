"""The web application: routes, and the way to them."""

from typing import Any

from starlette.middleware import Middleware
from starlette.types import Receive, Scope, Send

from tarsy import __version__
from tarsy.kit.imports import absent
from tarsy.kit.model import built_late

# FastAPI looks in each route for models of Pydantic's first version, and loads all of that in order to recognise them.
PYDANTIC_1 = "pydantic.v1"

# Its own models are those of OpenAPI, for clients that ask for the description of the API.
with built_late():
    from fastapi import FastAPI, Request
    from fastapi.responses import HTMLResponse

with absent(PYDANTIC_1):
    from tarsy.api import help as manual
    from tarsy.api import problems, sse, websocket
    from tarsy.api.dashboard import Dashboard
    from tarsy.api.middleware import BodyLimit, Gate, LastResort, SecurityHeaders
    from tarsy.api.openapi import openapi_document
    from tarsy.api.reference import reference_page
    from tarsy.api.routes import (
        alerts,
        cancellations,
        deletions,
        evidence,
        exports,
        followups,
        forks,
        health,
        incidents,
        login,
        notes,
        reports,
        session_counts,
        sessions,
        setup,
        system,
        trace,
        usage,
        webhook,
    )
    from tarsy.api.services import Services


def create_app(services: Services) -> FastAPI:
    app = describe_app()
    app.state.services = services
    return app


@absent(PYDANTIC_1)
def describe_app() -> FastAPI:
    """The application without what it works with: enough to say what it offers."""
    app = FastAPI(
        title="TARSy",
        version=__version__,
        description="Submit alerts, watch LLM agents investigate them, read what they found.",
        docs_url=None,
        redoc_url=None,
        # Served below: FastAPI's own pages load scripts from elsewhere.
        openapi_url=None,
        redirect_slashes=False,
        # What is worth telling of a request is told by `tarsy.telemetry`.
        telemetry={"tracing": False, "metrics": False, "logs": False, "operation_spans": False},
        middleware=[Middleware(SecurityHeaders), Middleware(LastResort), Middleware(BodyLimit), Middleware(Gate)],
    )
    problems.install(app)
    beside = (health, websocket, sse, manual)
    of_sessions = (sessions, session_counts, notes, evidence, reports, cancellations, deletions, exports, followups, forks, trace)
    for module in (*beside, alerts, webhook, incidents, *of_sessions, system, setup, usage, login):
        app.router.routes.extend(module.router.routes)
    _serve_reference(app)
    _serve_dashboard(app)
    return app


def _serve_reference(app: FastAPI) -> None:
    @app.get("/openapi.json", include_in_schema=False)
    async def document() -> dict[str, Any]:
        return openapi_document(app)

    @app.get("/docs", include_in_schema=False, response_class=HTMLResponse)
    async def reference(request: Request) -> HTMLResponse:
        return HTMLResponse(reference_page(openapi_document(app), request.state.csp_nonce))


def _serve_dashboard(app: FastAPI) -> None:
    """What no route answers goes to the dashboard, after the routes have had their say on methods."""
    dashboard, nothing = Dashboard(), app.router.default

    async def fallback(scope: Scope, receive: Receive, send: Send) -> None:
        await (dashboard if scope["type"] == "http" else nothing)(scope, receive, send)

    app.router.default = fallback
