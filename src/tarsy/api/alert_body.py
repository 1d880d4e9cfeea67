"""Request bodies that are alerts: reading them within a limit, parsing them, and describing them in the OpenAPI document."""

import json
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Query, Request
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from tarsy.api.schemas.view import Name, StorableText
from tarsy.config.schema.budget import Budget
from tarsy.config.schema.selection import McpSelection
from tarsy.domain.session import MAX_ALERT_BYTES
from tarsy.kit.text import clip
from tarsy.session.chains import AlertRefusedError
from tarsy.session.submission import MAX_RUNBOOK_URL, AlertTooLargeError

TEXT_BODY: Mapping[str, Any] = {"text/plain": {"schema": {"type": "string", "minLength": 1, "maxLength": MAX_ALERT_BYTES}}}
ANY_BODY: Mapping[str, Any] = {"application/json": {"schema": {}}, **TEXT_BODY}

AlertTypeQuery = Annotated[Name | None, Query(description="Which chain investigates, unless the body says so.")]
RunbookQuery = Annotated[
    Annotated[StorableText, Field(max_length=MAX_RUNBOOK_URL)] | None, Query(description="Where the runbook is, unless the body says so.")
]


def described(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `openapi_extra` of a route that reads its body itself."""
    return {"requestBody": {"required": True, "content": content}}


async def read_body(request: Request, limit: int) -> bytes:
    """Return the body; the rest of one that is larger than `limit` is not read.

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


# Room for all fields except `data`: hundreds of tool names, and still parsed in a millisecond.
MAX_REST_BYTES = 64 * 1024
# Longer than any name in a configuration, and short enough to be quoted in a response.
MAX_NAME = 200
# As many as a person would fix before trying again.
SHOWN_PROBLEMS = 5
_FOREIGN = "If this body is the alert itself, as a monitoring system sends it, POST it to /api/v1/webhook."
_WHITESPACE = " \t\n\r"


class AlertRequest(BaseModel):
    """An alert to investigate."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"alert_type": "kubernetes", "data": {"pod": "api-7f9c", "reason": "CrashLoopBackOff"}}]},
    )

    # Any text, or any JSON value; its source text is stored unchanged.
    data: JsonValue
    # Which chain investigates; the configured default when absent.
    alert_type: Annotated[str, Field(max_length=MAX_NAME)] | None = None
    # Where the runbook for this alert is.
    runbook: Annotated[str, Field(max_length=MAX_RUNBOOK_URL)] | None = None
    # Tool servers to use instead of those of the chain's agents.
    mcp: McpSelection | None = None
    # A ceiling for the investigation, at or below that of its chain.
    budget: Budget | None = None


def read_alert(body: bytes) -> tuple[AlertRequest, str]:
    """Return the request, and its alert as text: the content of a string, or the source text of any other value.

    Raises:
        AlertRefusedError: it is not valid, or has no alert.
        AlertTooLargeError: the alert is too large.
    """
    text = decode(body)
    source = _source_of_data(text)
    if not source.startswith('"') and len(source) > MAX_ALERT_BYTES:
        raise AlertTooLargeError(len(source))
    try:
        request = AlertRequest.model_validate_json(text)
    except ValidationError as error:
        entries = error.errors(include_url=False, include_context=False, include_input=False)
        shown = [f"{clip('.'.join(map(str, entry['loc'])), MAX_NAME) or 'body'}: {entry['msg']}" for entry in entries[:SHOWN_PROBLEMS]]
        foreign = any(entry["type"] in {"extra_forbidden", "missing", "model_type"} and len(entry["loc"]) <= 1 for entry in entries)
        raise AlertRefusedError("; ".join([*shown, _FOREIGN] if foreign else shown)) from error
    if isinstance(request.data, str):
        return request, request.data
    if request.data in (None, [], {}):
        raise AlertRefusedError("The alert is empty.")
    return request, source


def decode(body: bytes) -> str:
    """Return the body as text.

    Raises:
        AlertRefusedError: it is not UTF-8.
    """
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise AlertRefusedError(f"The body is not UTF-8 text (byte {error.start}).") from error


def _source_of_data(text: str) -> str:
    """Return the source text of the member `data` of a JSON object, the last one if it occurs twice; empty if there is none or `text` is not JSON.

    Raises:
        AlertRefusedError: the other members are too large to be parsed.
    """
    # Numbers stay text: they are not used, and some are too long to be parsed.
    decoder = json.JSONDecoder(parse_int=str, parse_float=str)
    found, beside = "", 0
    try:
        start = _skip(text, 0)
        position = _skip(text, start + 1) if text[start] == "{" else len(text)
        while text[position] != "}":
            name, end_of_name = decoder.raw_decode(text, position)
            begin = _skip(text, _skip(text, end_of_name) + 1)  # the colon
            _, end = decoder.raw_decode(text, begin)
            if name == "data":
                found = text[begin:end]
            else:
                beside += end - position
            if beside > MAX_REST_BYTES:
                break
            position = _skip(text, end)
            if text[position] == ",":
                position = _skip(text, position + 1)
    except (ValueError, IndexError, RecursionError):
        # Pydantic reports where it is not JSON.
        return ""
    if beside > MAX_REST_BYTES:
        raise AlertRefusedError(f"The request has more than {MAX_REST_BYTES} characters beside `data`. {_FOREIGN}")
    return found


def _skip(text: str, position: int) -> int:
    while text[position] in _WHITESPACE:
        position += 1
    return position
