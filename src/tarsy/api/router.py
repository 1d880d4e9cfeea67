"""The routers of the API, with what all of their routes have in common."""

from typing import Any

from fastapi import APIRouter
from fastapi.routing import APIRoute

from tarsy.api import problems

PREFIX = "/api/v1"
_PROBLEM_RESPONSE: dict[str, Any] = {
    "description": "What went wrong, as problem details (RFC 9457). An invalid request gets 400.",
    "content": {problems.MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
}


def api_router(prefix: str = "", *, tag: str | None = None) -> APIRouter:
    """Return a router below the API's prefix."""
    return plain_router(PREFIX + prefix, tag=tag)


def plain_router(prefix: str = "", *, tag: str | None = None, include_in_schema: bool = True) -> APIRouter:
    """Return a router for routes beside the API."""
    return APIRouter(
        prefix=prefix,
        tags=[tag] if tag else None,
        include_in_schema=include_in_schema,
        responses={"default": _PROBLEM_RESPONSE},
        generate_unique_id_function=operation_id,
    )


def operation_id(route: APIRoute) -> str:
    """Return the operation id of a route that does not set its own: `session_events` → `sessionEvents`."""
    first, *rest = route.name.split("_")
    return first + "".join(word.capitalize() for word in rest)
