"""Alerts in, and what kinds of them are understood."""

from collections.abc import Mapping
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Request
from pydantic import Field

from tarsy.api.alert_body import AlertRequest, decode, read_alert
from tarsy.api.middleware import MAX_BODY_BYTES
from tarsy.api.problems import ProblemKind, RequestRefusedError
from tarsy.api.schemas.sessions import AlertAccepted
from tarsy.api.schemas.system import AlertTypeItem, AlertTypes, Sample, Samples
from tarsy.api.schemas.view import Name, StorableText
from tarsy.api.services import AuthorOf, Services, ServicesOf
from tarsy.domain.session import MAX_ALERT_BYTES
from tarsy.domain.status import SessionStatus
from tarsy.session.intake import MAX_RUNBOOK_URL, AlertTooLargeError, Submission

router = APIRouter(tags=["alerts"])

_TEXT: Mapping[str, Any] = {"text/plain": {"schema": {"type": "string", "minLength": 1, "maxLength": MAX_ALERT_BYTES}}}
_REQUEST: Mapping[str, Any] = {"application/json": {"schema": {"$ref": f"#/components/schemas/{AlertRequest.__name__}"}}, **_TEXT}
_ANYTHING: Mapping[str, Any] = {"application/json": {"schema": {}}, **_TEXT}

AlertTypeQuery = Annotated[Name | None, Query(description="Which chain investigates, unless the body says so.")]
RunbookQuery = Annotated[
    Annotated[StorableText, Field(max_length=MAX_RUNBOOK_URL)] | None, Query(description="Where the runbook is, unless the body says so.")
]


def _body(content: Mapping[str, Any]) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": content}}


@router.post("/alerts", status_code=202, operation_id="submitAlert", openapi_extra=_body(_REQUEST))
async def submit_alert(
    request: Request, services: ServicesOf, author: AuthorOf, alert_type: AlertTypeQuery = None, runbook: RunbookQuery = None
) -> AlertAccepted:
    """Take an alert for investigation.

    JSON, or the alert itself as `text/plain`. At most 1 MiB of alert; a larger one gets 413, an empty one or an unknown
    type 400, and 429 says that the queue is full.
    """
    return await _taken(services, await _submission(request, author, alert_type or None, runbook or None))


@router.post("/webhook", status_code=202, operation_id="submitWebhook", openapi_extra=_body(_ANYTHING))
async def submit_webhook(
    request: Request, services: ServicesOf, author: AuthorOf, alert_type: AlertTypeQuery = None, runbook: RunbookQuery = None
) -> AlertAccepted:
    """Take whatever is sent as the alert, word for word.

    For senders whose body cannot be chosen, such as Alertmanager and Grafana. Answers like `POST /api/v1/alerts`.
    """
    return await _taken(services, await _whole_body(request, author, alert_type or None, runbook or None))


async def _taken(services: Services, submission: Submission) -> AlertAccepted:
    return AlertAccepted(session_id=UUID(await services.intake.submit(submission)), status=SessionStatus.PENDING)


async def _whole_body(request: Request, author: str, alert_type: str | None, runbook: str | None) -> Submission:
    """The body is the alert, word for word."""
    text = decode(await _read(request, MAX_ALERT_BYTES))
    return Submission(data=text, author=author, alert_type=alert_type, runbook_url=runbook)


async def _submission(request: Request, author: str, alert_type: str | None, runbook: str | None) -> Submission:
    media_type = request.headers.get("content-type", "text/plain").partition(";")[0].strip().lower()
    if media_type == "text/plain":
        return await _whole_body(request, author, alert_type, runbook)
    if media_type != "application/json" and not (media_type.startswith("application/") and media_type.endswith("+json")):
        detail = f"Send the alert as application/json or text/plain, not {media_type}."
        raise RequestRefusedError(ProblemKind.UNSUPPORTED_MEDIA_TYPE, detail)
    body, text = read_alert(await _read(request, MAX_BODY_BYTES))
    return Submission(
        data=text,
        author=author,
        alert_type=body.alert_type or alert_type,
        runbook_url=body.runbook or runbook,
        selection=body.mcp,
    )


async def _read(request: Request, limit: int) -> bytes:
    """The body, unless it is larger than `limit`: then the rest of it is not even read."""
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > limit:
        raise AlertTooLargeError(int(declared))
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            raise AlertTooLargeError(len(body))
    return bytes(body)


@router.get("/alert-types", operation_id="listAlertTypes")
async def list_alert_types(services: ServicesOf) -> AlertTypes:
    """The alert types that some chain answers."""
    offered = services.intake.chains.alert_types()
    return AlertTypes(
        alert_types=[AlertTypeItem.model_validate(alert_type) for alert_type in offered],
        default_alert_type=services.intake.default_alert_type,
    )


@router.get("/samples", operation_id="listSamples")
async def list_samples(services: ServicesOf) -> Samples:
    """Sample incidents, to be submitted like any alert; they need neither a cluster nor a key."""
    return Samples(samples=[Sample.model_validate(sample) for sample in services.samples()])
