"""Submitting alerts, the alert types that have a chain, and the samples."""

from collections.abc import Mapping
from typing import Annotated, Any
from uuid import UUID

from fastapi import Header, Request
from pydantic import Field

from tarsy.api.alert_body import TEXT_BODY, AlertRequest, AlertTypeQuery, RunbookQuery, decode, described, read_alert, read_body
from tarsy.api.middleware import MAX_BODY_BYTES
from tarsy.api.problems import ProblemKind, RequestRefusedError
from tarsy.api.router import api_router
from tarsy.api.schemas.sessions import AlertAccepted
from tarsy.api.schemas.system import AlertTypeItem, AlertTypes, Samples
from tarsy.api.schemas.view import StorableText
from tarsy.api.services import AlertsDep, AuthorDep
from tarsy.domain.budget import UNLIMITED
from tarsy.domain.session import MAX_ALERT_BYTES
from tarsy.domain.status import SessionStatus
from tarsy.session.submission import Submission

router = api_router(tag="alerts")

# A UUID has 36; some clients put more into it.
MAX_KEY = 255

_REQUEST: Mapping[str, Any] = {"application/json": {"schema": {"$ref": f"#/components/schemas/{AlertRequest.__name__}"}}, **TEXT_BODY}

IdempotencyKey = Annotated[
    Annotated[StorableText, Field(min_length=1, max_length=MAX_KEY)] | None,
    Header(description="Identifies this request: the same caller gets the same session for the same key."),
]


@router.post("/alerts", status_code=202, operation_id="submitAlert", openapi_extra=described(_REQUEST))
async def submit_alert(
    request: Request,
    alerts: AlertsDep,
    author: AuthorDep,
    alert_type: AlertTypeQuery = None,
    runbook: RunbookQuery = None,
    idempotency_key: IdempotencyKey = None,
) -> AlertAccepted:
    """Submit an alert for investigation.

    JSON, or the alert itself as `text/plain`. At most 1 MiB of alert; a larger one gets 413, an empty one or an unknown
    type 400, and 429 says that the queue is full.
    """
    media_type = request.headers.get("content-type", "text/plain").partition(";")[0].strip().lower()
    selection, budget = None, UNLIMITED
    if media_type == "text/plain":
        text = decode(await read_body(request, MAX_ALERT_BYTES))
    elif media_type == "application/json" or (media_type.startswith("application/") and media_type.endswith("+json")):
        body, text = read_alert(await read_body(request, MAX_BODY_BYTES))
        alert_type, runbook = body.alert_type or alert_type, body.runbook or runbook
        selection, budget = body.mcp, body.budget.ceiling if body.budget else UNLIMITED
    else:
        detail = f"Send the alert as application/json or text/plain, not {media_type}."
        raise RequestRefusedError(ProblemKind.UNSUPPORTED_MEDIA_TYPE, detail)
    session_id = await alerts.submissions.submit(
        Submission(
            data=text,
            author=author,
            alert_type=alert_type or None,
            runbook_url=runbook or None,
            selection=selection,
            budget=budget,
            idempotency_key=idempotency_key,
        )
    )
    return AlertAccepted(session_id=UUID(session_id), status=SessionStatus.PENDING)


@router.get("/alert-types", operation_id="listAlertTypes")
async def list_alert_types(alerts: AlertsDep) -> AlertTypes:
    """The alert types that have a chain."""
    offered = alerts.submissions.chains.alert_types()
    return AlertTypes(
        alert_types=[AlertTypeItem.model_validate(alert_type) for alert_type in offered],
        default_alert_type=alerts.submissions.default_alert_type,
    )


@router.get("/samples", operation_id="listSamples")
async def list_samples(alerts: AlertsDep) -> Samples:
    """Sample incidents, to be submitted like any alert; they need neither a cluster nor a key."""
    return Samples(samples=[*alerts.samples()])
