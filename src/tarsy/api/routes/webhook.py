"""Webhooks of monitoring systems."""

import re
from dataclasses import replace
from typing import Annotated

from fastapi import Path, Request, Response

from tarsy.api.alert_body import ANY_BODY, AlertTypeQuery, RunbookQuery, decode, described, read_body
from tarsy.api.auth import AuthSettings, Identity
from tarsy.api.router import api_router
from tarsy.api.schemas.incidents import WebhookAccepted
from tarsy.api.services import AuthDep, IncidentsDep
from tarsy.domain.session import MAX_ALERT_BYTES
from tarsy.intake.authentication import TOKEN_PARAMETER
from tarsy.intake.delivery import WebhookRequest, parse_request
from tarsy.session.chains import AlertRefusedError
from tarsy.session.submission import Submission, check_text

router = api_router("/webhook", tag="alerts")

# A DNS name; only such a value is returned in a header.
_ORIGIN = re.compile(r"[A-Za-z0-9*](?:[A-Za-z0-9.*-]{0,252})")

Source = Annotated[
    str,
    Path(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$", description="The sender: a known one, or one of `senders` in the configuration."),
]


@router.post("", status_code=202, operation_id="submitWebhook", openapi_extra=described(ANY_BODY))
async def submit_webhook(
    request: Request, incidents: IncidentsDep, auth: AuthDep, alert_type: AlertTypeQuery = None, runbook: RunbookQuery = None
) -> WebhookAccepted:
    """Receive a request of a monitoring system, recognised by its body.

    TARSy groups alerts about the same problem into one incident and investigates it once. It treats a body it does not recognise as one alert and keeps its text.
    """
    received = await _parse(request, None, auth, alert_type or None, runbook or None)
    return WebhookAccepted.of(await incidents.service.receive(received))


@router.post("/{source}", status_code=202, operation_id="submitWebhookOf", openapi_extra=described(ANY_BODY))
async def submit_webhook_of(
    source: Source,
    request: Request,
    incidents: IncidentsDep,
    auth: AuthDep,
    alert_type: AlertTypeQuery = None,
    runbook: RunbookQuery = None,
) -> WebhookAccepted:
    """Receive a request of the monitoring system `source`. If the configuration requires this sender to authenticate, missing or wrong credentials get 401."""
    received = await _parse(request, source, auth, alert_type or None, runbook or None)
    return WebhookAccepted.of(await incidents.service.receive(received))


@router.options("", include_in_schema=False)
@router.options("/{source}", include_in_schema=False)
async def permit_webhook(request: Request) -> Response:
    """Permit a sender of CloudEvents to deliver here; without this response, some send nothing or very little.

    https://github.com/cloudevents/spec/blob/main/cloudevents/http-webhook.md#4-abuse-protection
    It does not authenticate the sender: each delivery is checked. Only the requested permission is granted.
    """
    origin = request.headers.get("webhook-request-origin", "")
    granted = {"WebHook-Allowed-Origin": origin, "WebHook-Allowed-Rate": "*"} if _ORIGIN.fullmatch(origin) else {}
    return Response(status_code=200 if granted else 204, headers={"Allow": "POST", **granted})


async def _parse(request: Request, source: str | None, auth: AuthSettings, alert_type: str | None, runbook: str | None) -> WebhookRequest:
    body = await read_body(request, MAX_ALERT_BYTES)
    text = decode(body)
    if not text.strip():
        raise AlertRefusedError("The alert is empty.")
    # The query parameters are validated as for any alert.
    check_text(Submission(data="-", author="", alert_type=alert_type, runbook_url=runbook))
    identity: Identity | None = request.state.identity
    return replace(
        parse_request(text, request.headers),
        raw=body,
        query=dict(request.query_params),
        source=source,
        # A sender that cannot set headers may send its API token in the query.
        author=identity.author if identity else auth.tokens.name_of(request.query_params.get(TOKEN_PARAMETER, "")),
        alert_type=alert_type,
        runbook_url=runbook,
    )
