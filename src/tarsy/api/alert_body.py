"""Pure module: the alert in a request's body, word for word as it was sent."""

import json
from typing import Any

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from tarsy.config.schema.selection import McpSelection
from tarsy.session.intake import AlertRefusedError

_WHITESPACE = " \t\n\r"


class AlertRequest(BaseModel):
    """An alert to investigate."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"alert_type": "kubernetes", "data": {"pod": "api-7f9c", "reason": "CrashLoopBackOff"}}]},
    )

    # Any text, or any JSON value, which is kept as the text it was sent as.
    data: JsonValue
    # Which chain investigates; the configured default when absent.
    alert_type: str | None = None
    # Where the runbook for this alert is.
    runbook: str | None = None
    # Tool servers to use instead of those of the chain's agents.
    mcp: McpSelection | None = None


def read_alert(body: bytes) -> tuple[AlertRequest, str]:
    """The request, and its alert as text: a string's content, any other value exactly as it stands in the body.

    Raises:
        AlertRefusedError: it is not JSON of the right shape, or holds no alert.
    """
    text = decode(body)
    try:
        request = AlertRequest.model_validate_json(text)
    except ValidationError as error:
        raise AlertRefusedError(_first_problems(error)) from error
    if isinstance(request.data, str):
        return request, request.data
    if request.data in (None, [], {}):
        raise AlertRefusedError("The alert is empty.")
    return request, _source_of(text, "data")


def decode(body: bytes) -> str:
    """The body as text.

    Raises:
        AlertRefusedError: it is not UTF-8.
    """
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise AlertRefusedError(f"The body is not UTF-8 text (byte {error.start}).") from error


def _first_problems(error: ValidationError) -> str:
    entries = error.errors(include_url=False, include_context=False, include_input=False)
    named = [f"{'.'.join(str(part) for part in entry['loc']) or 'body'}: {entry['msg']}" for entry in entries[:5]]
    return "; ".join(named)


def _source_of(text: str, key: str) -> str:
    """The source text of a member of the JSON object `text`; the last one, if it occurs twice."""
    # Numbers stay text: they are not looked at, and some are too long to be read.
    decoder = json.JSONDecoder(parse_int=str, parse_float=str)
    found = ""
    position = _skip(text, text.index("{") + 1)
    while text[position] != "}":
        name, position = _value(decoder, text, position)
        start = _skip(text, _skip(text, position) + 1)  # the colon
        _, end = _value(decoder, text, start)
        if name == key:
            found = text[start:end]
        position = _skip(text, end)
        if text[position] == ",":
            position = _skip(text, position + 1)
    return found


def _value(decoder: json.JSONDecoder, text: str, position: int) -> tuple[Any, int]:
    try:
        return decoder.raw_decode(text, position)
    except (ValueError, RecursionError) as error:
        raise AlertRefusedError("The alert is nested too deeply or is not JSON.") from error


def _skip(text: str, position: int) -> int:
    while text[position] in _WHITESPACE:
        position += 1
    return position
