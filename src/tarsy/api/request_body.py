"""Bodies that are alerts: how they are read and described, and what may be asked for beside them."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Query, Request
from pydantic import Field

from tarsy.api.schemas.view import Name, StorableText
from tarsy.domain.session import MAX_ALERT_BYTES
from tarsy.session.submission import MAX_RUNBOOK_URL, AlertTooLargeError

TEXT_BODY: Mapping[str, Any] = {"text/plain": {"schema": {"type": "string", "minLength": 1, "maxLength": MAX_ALERT_BYTES}}}
ANY_BODY: Mapping[str, Any] = {"application/json": {"schema": {}}, **TEXT_BODY}

AlertTypeQuery = Annotated[Name | None, Query(description="Which chain investigates, unless the body says so.")]
RunbookQuery = Annotated[
    Annotated[StorableText, Field(max_length=MAX_RUNBOOK_URL)] | None, Query(description="Where the runbook is, unless the body says so.")
]


def described(content: Mapping[str, Any]) -> dict[str, Any]:
    """A body that the route reads itself, for the description of the API."""
    return {"requestBody": {"required": True, "content": content}}


async def read_body(request: Request, limit: int) -> bytes:
    """The body, unless it is larger than `limit`: then the rest of it is not even read.

    Raises:
        AlertTooLargeError: it is larger.
    """
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > limit:
        raise AlertTooLargeError(int(declared))
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            raise AlertTooLargeError(len(body))
    return bytes(body)
