"""Requests of Slack over signed HTTP: the address to enter for interactivity, for events and for the slash command."""

import json
from typing import Any
from urllib.parse import parse_qsl

from fastapi import Request

from tarsy.api.problems import ProblemKind, RequestRefusedError
from tarsy.api.router import api_router
from tarsy.api.routes.alerts import read_body
from tarsy.api.services import ServicesDep
from tarsy.api.slack import handle_command, handle_event, handle_interaction

router = api_router(tag="notifications")

# Slack's own requests have some kilobytes.
MAX_SLACK_BYTES = 256 * 1024


@router.post("/slack", operation_id="receiveSlackRequest", include_in_schema=False)
async def receive_slack_request(request: Request, services: ServicesDep) -> dict[str, Any]:
    """Receive a click, a form, a slash command or a mention. Without a valid signature of the last five minutes it gets 401 and changes nothing."""
    from slack_sdk.signature import SignatureVerifier  # noqa: PLC0415 - needed only where Slack is configured

    app = services.notifications.policy.slack_app
    if app is None or app.signing_secret is None:
        raise RequestRefusedError(ProblemKind.NOT_FOUND, "This server takes no requests of Slack: set notify.slack.signing_secret_env.")
    body = await read_body(request, MAX_SLACK_BYTES)
    headers = request.headers
    stamp, signature = headers.get("x-slack-request-timestamp", ""), headers.get("x-slack-signature", "")
    if not stamp.isdecimal() or not SignatureVerifier(app.signing_secret).is_valid(body, stamp, signature):
        raise RequestRefusedError(ProblemKind.LOGIN_REQUIRED, "The signature is wrong, or older than five minutes.")
    if headers.get("content-type", "").startswith("application/json"):
        event = json.loads(body)
        await handle_event(services, event)
        # Slack tries the address with a challenge when it is entered.
        return {"challenge": event["challenge"]} if event.get("type") == "url_verification" else {}
    form = dict(parse_qsl(body.decode(errors="replace"), keep_blank_values=True))
    if "payload" in form:
        return dict(await handle_interaction(services, json.loads(form["payload"])))
    return dict(await handle_command(services, form))
