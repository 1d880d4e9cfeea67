"""The routers of the API, with what all of their routes have in common."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute

from tarsy.api import problems
from tarsy.api.permissions import REQUIRED_ROLES, require

PREFIX = "/api/v1"
_PROBLEM_RESPONSE: dict[str, Any] = {
    "description": "What went wrong, as problem details (RFC 9457). An invalid request gets 400.",
    "content": {problems.MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
}


class GuardedRoute(APIRoute):
    """A route that refuses callers without the role of its operation, before it reads anything of the request."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle, operation = super().get_route_handler(), self.unique_id
        if operation not in REQUIRED_ROLES:
            raise LookupError(f'The operation "{operation}" has no entry in tarsy.api.permissions.')

        if REQUIRED_ROLES[operation] is None:
            return handle

        async def guarded(request: Request) -> Response:
            require(operation, request.state.identity)
            return await handle(request)

        return guarded


def api_router(prefix: str = "", *, tag: str | None = None) -> APIRouter:
    """Return a router below the API's prefix."""
    return plain_router(PREFIX + prefix, tag=tag)


def plain_router(prefix: str = "", *, tag: str | None = None, include_in_schema: bool = True) -> APIRouter:
    """Return a router for routes beside the API."""
    return APIRouter(
        prefix=prefix,
        route_class=GuardedRoute,
        tags=[tag] if tag else None,
        include_in_schema=include_in_schema,
        responses={"default": _PROBLEM_RESPONSE},
        generate_unique_id_function=operation_id,
    )


def operation_id(route: APIRoute) -> str:
    """Return the operation id of a route that does not set its own: `session_events` → `sessionEvents`."""
    first, *rest = route.name.split("_")
    return first + "".join(word.capitalize() for word in rest)
