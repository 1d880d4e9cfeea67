"""Alerts of any sender: submitted directly, or as the webhook of a monitoring system. Their bodies are read here, within limits."""

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, cast
from uuid import UUID

from fastapi import Header, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from tarsy.api.auth import Identity, identify_token
from tarsy.api.middleware import MAX_BODY_BYTES, MAX_REST_CHARACTERS
from tarsy.api.permissions import missing_role, require
from tarsy.api.problems import ProblemKind, RequestRefusedError
from tarsy.api.router import api_router
from tarsy.api.schemas.incidents import WebhookAccepted
from tarsy.api.schemas.sessions import AlertAccepted
from tarsy.api.schemas.system import AlertTypes, Samples
from tarsy.api.schemas.view import MAX_NAME, Name, StorableText
from tarsy.api.services import AuthorDep, Services, ServicesDep
from tarsy.config.schema.budget import Budget
from tarsy.config.schema.selection import McpSelection
from tarsy.domain.budget import UNLIMITED
from tarsy.domain.session import MAX_ALERT_BYTES
from tarsy.intake.authentication import TOKEN_PARAMETER
from tarsy.intake.delivery import RequestHead
from tarsy.intake.fields import TooManyValuesError, skip_space
from tarsy.intake.service import SenderRefusedError
from tarsy.kit.json_limits import has_more_values
from tarsy.kit.text import clip
from tarsy.kit.validation import reason
from tarsy.session.chains import AlertRefusedError
from tarsy.session.submission import MAX_RUNBOOK_URL, AlertTooLargeError, Submission, check_runbook_url

router = api_router(tag="alerts")

# A UUID has 36; some clients put more into it.
MAX_KEY = 255
# A megabyte of real alerts has half as many; parsing more makes others wait.
MAX_ALERT_VALUES = 100_000
# As many as a person would fix before trying again.
SHOWN_PROBLEMS = 5
_WEBHOOK_HINT = "If this body is the alert itself, as a monitoring system sends it, POST it to /api/v1/webhook."
# A DNS name; only such a value is returned in a header.
_ORIGIN = re.compile(r"[A-Za-z0-9*](?:[A-Za-z0-9.*-]{0,252})")

_TEXT_BODY: Mapping[str, Any] = {"text/plain": {"schema": {"type": "string", "minLength": 1, "maxLength": MAX_ALERT_BYTES}}}
_ANY_JSON: Mapping[str, Any] = {"application/json": {"schema": {}}}

AlertTypeQuery = Annotated[Name | None, Query(description="The alert type, which selects the chain; a value in the body overrides it.")]
RunbookQuery = Annotated[
    Annotated[StorableText, Field(max_length=MAX_RUNBOOK_URL)] | None,
    Query(description="Address of the runbook; a value in the body overrides it."),
]
IdempotencyKey = Annotated[
    Annotated[StorableText, Field(min_length=1, max_length=MAX_KEY)] | None,
    Header(description="Identifies this request: the same caller gets the same session for the same key."),
]
Source = Annotated[
    str,
    Path(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$", description="The sender: a built-in one, or one of `senders` in the configuration."),
]


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
    # A text that the alert's own message in Slack contains: notifications are replies in its thread.
    slack_message_fingerprint: Annotated[str, Field(max_length=MAX_NAME)] | None = None


_JSON_BODY: Mapping[str, Any] = {"application/json": {"schema": {"$ref": f"#/components/schemas/{AlertRequest.__name__}"}}}


def _request_body(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `openapi_extra` of a route that reads its body itself: `content`, or plain text."""
    return {"requestBody": {"required": True, "content": {**content, **_TEXT_BODY}}}


@router.post("/alerts", status_code=202, operation_id="submitAlert", openapi_extra=_request_body(_JSON_BODY))
async def submit_alert(
    request: Request,
    services: ServicesDep,
    author: AuthorDep,
    alert_type: AlertTypeQuery = None,
    runbook: RunbookQuery = None,
    idempotency_key: IdempotencyKey = None,
) -> AlertAccepted:
    """Submit an alert for investigation.

    JSON, or the alert itself as `text/plain`; another media type gets 415. At most 1 MiB of alert and 100,000 JSON values; a larger one gets 413,
    an empty one or an unknown type 400, and an `Idempotency-Key` of another alert 409. 429 says that the queue is full, 503 that there is no model
    or the database is away.
    """
    media_type = request.headers.get("content-type", "text/plain").partition(";")[0].strip().lower()
    selection, budget, fingerprint = None, UNLIMITED, None
    if media_type == "text/plain":
        text = decode(await read_body(request, MAX_ALERT_BYTES))
    elif media_type == "application/json" or (media_type.startswith("application/") and media_type.endswith("+json")):
        body, text = read_alert(await read_body(request, MAX_BODY_BYTES))
        alert_type, runbook = body.alert_type or alert_type, body.runbook or runbook
        selection, budget = body.mcp, body.budget.ceiling if body.budget else UNLIMITED
        fingerprint = body.slack_message_fingerprint
    else:
        detail = f"Send the alert as application/json or text/plain, not {media_type}."
        raise RequestRefusedError(ProblemKind.UNSUPPORTED_MEDIA_TYPE, detail)
    submitted = await services.submissions.submit(
        Submission(
            data=text,
            author=author,
            alert_type=alert_type or None,
            runbook_url=runbook or None,
            selection=selection,
            budget=budget,
            idempotency_key=idempotency_key,
            slack_message_fingerprint=fingerprint,
        )
    )
    return AlertAccepted(session_id=UUID(submitted.session_id), status=submitted.status)


@router.get("/alert-types", operation_id="listAlertTypes")
async def list_alert_types(services: ServicesDep) -> AlertTypes:
    """The alert types that have a chain."""
    submissions = services.submissions
    return AlertTypes.build(alert_types=submissions.chains.alert_types(), default_alert_type=submissions.default_alert_type)


@router.get("/samples", operation_id="listSamples")
async def list_samples(services: ServicesDep) -> Samples:
    """Sample incidents, to be submitted like any alert; they need neither a cluster nor a key."""
    return Samples(samples=[*services.samples()])


@router.post("/webhook", status_code=202, operation_id="submitWebhook", openapi_extra=_request_body(_ANY_JSON))
async def submit_webhook(
    request: Request, services: ServicesDep, alert_type: AlertTypeQuery = None, runbook: RunbookQuery = None
) -> WebhookAccepted:
    """Receive a request of a monitoring system, recognised by its body.

    TARSy groups alerts about the same problem into one incident and investigates it once. It treats a body it does not recognise as one alert and keeps its text.
    """
    return await _receive(request, None, services, alert_type or None, runbook or None)


@router.post("/webhook/{source}", status_code=202, operation_id="submitWebhookOf", openapi_extra=_request_body(_ANY_JSON))
async def submit_webhook_of(
    source: Source,
    request: Request,
    services: ServicesDep,
    alert_type: AlertTypeQuery = None,
    runbook: RunbookQuery = None,
) -> WebhookAccepted:
    """Receive a request of the monitoring system `source`. If the configuration requires this sender to authenticate, missing or wrong credentials get 401."""
    return await _receive(request, source, services, alert_type or None, runbook or None)


@router.options("/webhook", include_in_schema=False)
@router.options("/webhook/{source}", include_in_schema=False)
async def permit_webhook(request: Request) -> Response:
    """Permit a sender of CloudEvents to deliver here; without this response, some send nothing or very little.

    https://github.com/cloudevents/spec/blob/main/cloudevents/http-webhook.md#4-abuse-protection
    It does not authenticate the sender: each delivery is checked. Only the requested permission is granted.
    """
    origin = request.headers.get("webhook-request-origin", "")
    granted = {"WebHook-Allowed-Origin": origin, "WebHook-Allowed-Rate": "*"} if _ORIGIN.fullmatch(origin) else {}
    return Response(status_code=200 if granted else 204, headers={"Allow": "POST", **granted})


async def _receive(
    request: Request, source: str | None, services: Services, alert_type: str | None, runbook: str | None
) -> WebhookAccepted:
    service, identity = services.incidents.service, cast("Identity | None", request.state.identity)
    # A sender that cannot set headers may send its API token in the query.
    identity = identity or await identify_token(request.query_params.get(TOKEN_PARAMETER, ""), services.auth, services.tokens)
    # A login counts only if it may submit alerts; a sender with a signature or token of its own needs none.
    author = identity.author if identity and not missing_role("submitAlert", identity) else None
    head = RequestHead(
        headers=dict(request.headers.items()),
        query=dict(request.query_params),
        source=source,
        author=author,
        alert_type=alert_type,
        runbook_url=runbook,
    )
    try:
        body = await read_body(request, service.body_limit(head))
        text = decode(body)
        if not text.strip():
            raise AlertRefusedError("The alert is empty.")
        check_runbook_url(runbook)
        return WebhookAccepted.of(await service.receive(head, body, text))
    except SenderRefusedError:
        # A caller who is logged in but lacks the role gets 403 instead of 401.
        if identity:
            require("submitAlert", identity)
        raise


async def read_body(request: Request, limit: int) -> bytes:
    """Return the body; the rest of one that is larger than `limit` is not read.

    Raises:
        AlertTooLargeError: it is larger.
    """
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > limit:
        raise AlertTooLargeError(int(declared), limit)
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            raise AlertTooLargeError(len(body), limit)
    return bytes(body)


def read_alert(body: bytes) -> tuple[AlertRequest, str]:
    """Return the request, and its alert as text: the content of a string, or the source text of any other value.

    Raises:
        AlertRefusedError: it is not valid, or has no alert.
        AlertTooLargeError: the alert is too large.
        TooManyValuesError: it has more values than are read.
    """
    if has_more_values(body, MAX_ALERT_VALUES):
        raise TooManyValuesError(f"The request has more than {MAX_ALERT_VALUES} JSON values.")
    text = decode(body)
    source = _source_of_data(text)
    if not source.startswith('"') and len(source) > MAX_ALERT_BYTES:
        raise AlertTooLargeError(len(source))
    try:
        request = AlertRequest.model_validate_json(text)
    except ValidationError as error:
        entries = error.errors(include_url=False)
        shown = [f"{clip('.'.join(map(str, entry['loc'])), MAX_NAME) or 'body'}: {reason(entry)}" for entry in entries[:SHOWN_PROBLEMS]]
        foreign = any(entry["type"] in {"extra_forbidden", "missing", "model_type"} and len(entry["loc"]) <= 1 for entry in entries)
        raise AlertRefusedError("; ".join([*shown, _WEBHOOK_HINT] if foreign else shown)) from error
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
        start = skip_space(text, 0)
        position = skip_space(text, start + 1) if text[start] == "{" else len(text)
        while text[position] != "}":
            name, end_of_name = decoder.raw_decode(text, position)
            begin = skip_space(text, skip_space(text, end_of_name) + 1)  # the colon
            _, end = decoder.raw_decode(text, begin)
            if name == "data":
                found = text[begin:end]
            else:
                beside += end - position
            if beside > MAX_REST_CHARACTERS:
                break
            position = skip_space(text, end)
            if text[position] == ",":
                position = skip_space(text, position + 1)
    except (ValueError, IndexError, RecursionError):
        # Pydantic reports where it is not JSON.
        return ""
    if beside > MAX_REST_CHARACTERS:
        raise AlertRefusedError(f"The request has more than {MAX_REST_CHARACTERS} characters beside `data`. {_WEBHOOK_HINT}")
    return found
