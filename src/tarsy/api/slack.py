"""What people do in Slack: buttons under messages, the form for a question, and the command `/tarsy`.

Requests come over signed HTTP or Socket Mode. A Slack user has the role that the configuration maps it to, others may only read, and
each request needs the role of its operation in `tarsy.api.permissions`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, assert_never
from uuid import UUID

import anyio
import structlog

from tarsy.api.auth import Identity, IdentityKind
from tarsy.api.permissions import require
from tarsy.api.problems import problem_response
from tarsy.api.services import Services
from tarsy.domain.access_role import AccessRole
from tarsy.notify.senders.slack import ASK, INVESTIGATE_AGAIN, NOT_USEFUL, USEFUL
from tarsy.session.submission import Submission

log = structlog.get_logger(__name__)

# Slack waits three seconds for the answer to a click, which is sent after this.
TELL_SECONDS = 2.0
# Names in the form for a question.
_FORM, _BLOCK, _INPUT = "tarsy-question", "question", "text"
_HELP = "Write `/tarsy investigate TEXT`, or `/tarsy ask SESSION QUESTION` with the id of a finished session."


@dataclass(frozen=True, slots=True)
class InvestigateAgain:
    incident_id: str


@dataclass(frozen=True, slots=True)
class GiveReview:
    session_id: str
    useful: bool


@dataclass(frozen=True, slots=True)
class OpenForm:
    """Show the form for a question. Slack allows it for three seconds after the click."""

    session_id: str
    trigger_id: str


@dataclass(frozen=True, slots=True)
class Ask:
    session_id: str
    question: str


@dataclass(frozen=True, slots=True)
class Investigate:
    text: str


@dataclass(frozen=True, slots=True)
class ShowHelp:
    pass


SlackRequest = InvestigateAgain | GiveReview | OpenForm | Ask | Investigate | ShowHelp


def parse_command(text: str) -> SlackRequest:
    """Parse what was written after `/tarsy`."""
    match text.split(maxsplit=1):
        case ["investigate", alert]:
            return Investigate(alert)
        case ["ask", rest] if len(words := rest.split(maxsplit=1)) == 2 and _is_id(words[0]):
            return Ask(words[0], words[1])
        case _:
            return ShowHelp()


def parse_interaction(payload: Mapping[str, Any]) -> SlackRequest | None:
    """Parse a click on a button or a form that was sent; None for one that needs no action, such as a link."""
    match payload:
        case {"type": "block_actions", "actions": [{"action_id": str(action), "value": str(subject)}, *_]} if _is_id(subject):
            match action:
                case _ if action == INVESTIGATE_AGAIN:
                    return InvestigateAgain(subject)
                case _ if action in {USEFUL, NOT_USEFUL}:
                    return GiveReview(subject, useful=action == USEFUL)
                case _ if action == ASK:
                    return OpenForm(subject, str(payload.get("trigger_id", "")))
                case _:
                    return None
        case {
            "type": "view_submission",
            "view": {"callback_id": "tarsy-question", "private_metadata": str(subject), "state": {"values": values}},
        } if _is_id(subject):
            return Ask(subject, str(values[_BLOCK][_INPUT]["value"] or ""))
        case _:
            return None


def _is_id(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


async def handle_command(services: Services, form: Mapping[str, Any]) -> Mapping[str, Any]:
    """Run a slash command, and return the message that only its user sees."""
    text = await _run(services, str(form.get("user_id", "")), parse_command(str(form.get("text", ""))))
    return {"response_type": "ephemeral", "text": text}


async def handle_interaction(services: Services, payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """Do what a button or form asks for, tell the user, and return what Slack expects as the answer."""
    request = parse_interaction(payload)
    if request is None:
        return {}
    text = await _run(services, str(payload["user"]["id"]), request)
    if payload["type"] == "view_submission":
        # The form closes, and shows what happened.
        shown = {"type": "section", "text": {"type": "plain_text", "text": text}}
        return {"response_action": "update", "view": {"type": "modal", "title": {"type": "plain_text", "text": "TARSy"}, "blocks": [shown]}}
    if text and (address := payload.get("response_url")):
        from slack_sdk.webhook.async_client import AsyncWebhookClient  # noqa: PLC0415 - large, and needed only where Slack is configured

        client: Any = AsyncWebhookClient(str(address))
        with anyio.move_on_after(TELL_SECONDS):
            await client.send(text=text, response_type="ephemeral", replace_original=False)
    return {}


async def _run(services: Services, user_id: str, request: SlackRequest) -> str:
    """Carry out a request in the name of a Slack user, and return what to tell them."""
    app = services.notifications.policy.slack_app
    role = (app.users.get(user_id) if app else None) or AccessRole.VIEWER
    try:
        return await _perform(services, Identity(f"slack:{user_id}", IdentityKind.PROXY, role), request)
    except Exception as error:  # noqa: BLE001 - the last guard: the user is told what the HTTP API would have answered
        log.info("slack.refused", user=user_id, request=type(request).__name__, error=str(error))
        return problem_response(error).problem.detail


async def _perform(services: Services, identity: Identity, request: SlackRequest) -> str:
    author, address = identity.author, (services.notifications.policy.dashboard_url or "").rstrip("/")
    match request:
        case InvestigateAgain(incident_id):
            require("investigateIncident", identity)
            session_id = await services.incidents.service.commands.investigate(incident_id, actor=author)
            return f"TARSy investigates it again: {address}/sessions/{session_id}"
        case GiveReview(session_id, useful):
            require("reviewSession", identity)
            await services.repositories.reviews.review(session_id, reviewer=author, useful=useful)
            return "Thank you. Your review is stored."
        case OpenForm(session_id, trigger_id):
            require("askQuestion", identity)
            await _open_form(services, session_id, trigger_id)
            return ""
        case Ask(session_id, question):
            require("askQuestion", identity)
            await services.repositories.chats.ask(session_id, services.mask(question), author=author)
            return f"TARSy answers on the session's page: {address}/sessions/{session_id}"
        case Investigate(text):
            require("submitAlert", identity)
            session_id = await services.submissions.submit(Submission(data=text, author=author))
            return f"TARSy investigates it: {address}/sessions/{session_id}"
        case ShowHelp():
            return _HELP
        case _:
            assert_never(request)


async def _open_form(services: Services, session_id: str, trigger_id: str) -> None:
    from slack_sdk.web.async_client import AsyncWebClient  # noqa: PLC0415 - large, and needed only where Slack is configured

    app = services.notifications.policy.slack_app
    if app is None:
        return
    field = {"type": "plain_text_input", "action_id": _INPUT, "multiline": True}
    view = {
        "type": "modal",
        "callback_id": _FORM,
        "private_metadata": session_id,
        "title": {"type": "plain_text", "text": "Ask TARSy"},
        "submit": {"type": "plain_text", "text": "Ask"},
        "blocks": [{"type": "input", "block_id": _BLOCK, "label": {"type": "plain_text", "text": "Question"}, "element": field}],
    }
    client: Any = AsyncWebClient(token=app.token, base_url=app.api_url, trust_env_in_session=True)
    await client.views_open(trigger_id=trigger_id, view=json.dumps(view))
