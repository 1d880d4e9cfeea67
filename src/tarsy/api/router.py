"""Routers whose routes know their whole path and what all of them have in common.

The application takes them into its own row, one by one: FastAPI would look for the route of a request in each included router, and once more in
the one that has it.
"""

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
    """A router below the API's prefix."""
    return plain_router(PREFIX + prefix, tag=tag)


def plain_router(prefix: str = "", *, tag: str | None = None, include_in_schema: bool = True) -> APIRouter:
    """A router for what stands beside the API."""
    return APIRouter(
        prefix=prefix,
        tags=[tag] if tag else None,
        include_in_schema=include_in_schema,
        responses={"default": _PROBLEM_RESPONSE},
        generate_unique_id_function=operation_id,
    )


def operation_id(route: APIRoute) -> str:
    """`session_events` → `sessionEvents`, for routes that do not name themselves."""
    first, *rest = route.name.split("_")
    return first + "".join(word.capitalize() for word in rest)
