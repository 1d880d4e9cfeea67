"""What people do in Slack: buttons under messages, the form for a question, the command `/tarsy`, and mentions of the bot.

Requests come over signed HTTP or Socket Mode. A Slack user has the role that the configuration maps it to, others may only read, and
each request needs the role of its operation in `tarsy.api.permissions`.
"""

import json
import re
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any, Literal, assert_never
from uuid import UUID, uuid5

import anyio
import structlog
from pydantic import ValidationError

from tarsy.api.auth import Identity, IdentityKind
from tarsy.api.permissions import require
from tarsy.api.problems import ProblemKind, RequestRefusedError, problem_response
from tarsy.api.schemas.followups import Question
from tarsy.api.services import Services
from tarsy.domain.access_role import AccessRole
from tarsy.domain.approval import ApprovalState
from tarsy.domain.followup import MAX_CHAT_CHARACTERS
from tarsy.domain.session import SlackThread
from tarsy.notify.policy import SlackApp
from tarsy.notify.senders.slack import Button
from tarsy.session.submission import Submission, keyed_session_id

log = structlog.get_logger(__name__)

# Slack drops a click whose response takes more than three seconds. The message to the user is sent before that response.
EPHEMERAL_MESSAGE_SECONDS = 2.0
# Names in the form for a question.
_FORM, _BLOCK, _INPUT = "tarsy-question", "question", "text"
_HELP = (
    "Write `/tarsy investigate TEXT`, or `/tarsy ask SESSION QUESTION` with the id of a finished session. Or mention TARSy: "
    "in the thread of an incident with a question, anywhere else with a text to investigate."
)
# Any fixed value: ids of questions are derived from it, so that a mention that is delivered twice makes one question.
_QUESTIONS = UUID("0f3e3c0e-6a0f-4c0e-8f43-5a6d1a6f9c77")
# As Slack writes mentions, channels and links: `<@U1>`, `<https://a.example|label>`.
_MENTION = re.compile(r"\s*<@[A-Z0-9]+(?:\|[^>]*)?>[\s:,]*")
_REFERENCE = re.compile(r"<([^<>|]+)(?:\|[^<>]*)?>")


@dataclass(frozen=True, slots=True)
class InvestigateAgain:
    incident_id: str


@dataclass(frozen=True, slots=True)
class GiveReview:
    session_id: str
    useful: bool


@dataclass(frozen=True, slots=True)
class Decide:
    approval_id: str
    state: Literal[ApprovalState.APPROVED, ApprovalState.REJECTED]


@dataclass(frozen=True, slots=True)
class OpenForm:
    """Show the form for a question. Slack allows it for three seconds after the click."""

    session_id: str
    trigger_id: str
    thread: SlackThread | None = None


@dataclass(frozen=True, slots=True)
class Ask:
    session_id: str
    question: str
    # Where the answer is posted; None: only on the page.
    thread: SlackThread | None = None
    # The same when Slack sends the request again.
    message_id: str | None = None


@dataclass(frozen=True, slots=True)
class Investigate:
    text: str
    thread: SlackThread | None = None
    # The same when Slack sends the request again.
    key: str | None = None


@dataclass(frozen=True, slots=True)
class ShowHelp:
    pass


SlackRequest = InvestigateAgain | GiveReview | Decide | OpenForm | Ask | Investigate | ShowHelp


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A message to the bot. `thread` is that in which it was written, or begins."""

    user: str
    ts: str
    thread: SlackThread
    text: str

    @property
    def key(self) -> str:
        """Return a text that is the same when Slack sends the mention again."""
        return f"slack {self.thread.channel} {self.ts}"


def _author(user_id: str) -> str:
    return f"slack:{user_id}"


def operation_of(request: SlackRequest) -> str | None:
    """Return the operation in `tarsy.api.permissions` whose role a request needs; None: anyone may make it."""
    match request:
        case InvestigateAgain():
            return "investigateIncident"
        case GiveReview():
            return "reviewSession"
        case Decide(_, state):
            return "approveCall" if state is ApprovalState.APPROVED else "rejectCall"
        case OpenForm() | Ask():
            return "askQuestion"
        case Investigate():
            return "submitAlert"
        case ShowHelp():
            return None
        case _:
            assert_never(request)


def parse_command(text: str) -> SlackRequest:
    """Parse what was written after `/tarsy`."""
    match text.split(maxsplit=1):
        case ["investigate", alert]:
            return Investigate(alert)
        case ["ask", rest] if len(words := rest.split(maxsplit=1)) == 2 and _is_id(words[0]):
            return Ask(words[0], words[1])
        case _:
            return ShowHelp()


def parse_interaction(payload: Mapping[str, Any]) -> SlackRequest | None:  # noqa: PLR0911 - a case for each button
    """Parse a click on a button or a form that was sent; None for one that needs no action, such as a link."""
    match payload:
        case {"type": "block_actions", "actions": [{"action_id": str(action), "value": str(subject)}, *_]} if action in set(
            Button
        ) and _is_id(subject):
            match Button(action):
                case Button.INVESTIGATE_AGAIN:
                    return InvestigateAgain(subject)
                case Button.USEFUL | Button.NOT_USEFUL as button:
                    return GiveReview(subject, useful=button is Button.USEFUL)
                case Button.APPROVE:
                    return Decide(subject, ApprovalState.APPROVED)
                case Button.REJECT:
                    return Decide(subject, ApprovalState.REJECTED)
                case Button.ASK:
                    return OpenForm(subject, str(payload.get("trigger_id", "")), _thread_of(payload))
                case Button.OPEN:
                    return None
        case {
            "type": "view_submission",
            "view": {"callback_id": str(form), "private_metadata": str(subject), "state": {"values": values}},
        } if form == _FORM and _is_id((about := subject.split(" "))[0]):
            thread = SlackThread(channel=about[1], ts=about[2]) if len(about) == 3 else None
            return Ask(about[0], str(values[_BLOCK][_INPUT]["value"] or ""), thread)
        case _:
            return None


def _thread_of(payload: Mapping[str, Any]) -> SlackThread | None:
    """Return the thread of the message whose button was clicked."""
    match payload.get("container"):
        case {"channel_id": str(channel), "thread_ts": str(ts)} | {"channel_id": str(channel), "message_ts": str(ts)}:
            return SlackThread(channel=channel, ts=ts)
        case _:
            return None


def parse_event(payload: Mapping[str, Any]) -> Mention | None:
    """Parse an event; None for one that is no mention by a person, or an edit of one."""
    match payload.get("event"):
        case {"type": "app_mention", "user": str(user), "channel": str(channel), "ts": str(ts), "text": str(text), **more} if not (
            more.keys() & {"bot_id", "edited"}
        ):
            thread = SlackThread(channel=channel, ts=str(more.get("thread_ts") or ts))
            text = _REFERENCE.sub(r"\1", _MENTION.sub("", text, count=1))
            for entity, mark in (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")):
                text = text.replace(entity, mark)
            return Mention(user=user, ts=ts, thread=thread, text=text.strip())
        case _:
            return None


def mention_request(mention: Mention, session_id: str | None) -> SlackRequest:
    """Decide what a mention asks for; `session_id`: the session that its thread is about."""
    match mention.text.split(maxsplit=1):
        case [] | ["help"]:
            return ShowHelp()
        case ["investigate", text]:
            return Investigate(text, mention.thread, mention.key)
        # Slack may send the mention again that asked for the session.
        case _ if session_id and session_id != keyed_session_id(_author(mention.user), mention.key):
            return Ask(session_id, mention.text, mention.thread, str(uuid5(_QUESTIONS, mention.key)))
        case _:
            return Investigate(mention.text, mention.thread, mention.key)


def _is_id(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


async def handle_command(services: Services, form: Mapping[str, Any]) -> Mapping[str, Any]:
    """Run a slash command, and return the message that only its user sees."""
    request = parse_command(str(form.get("text", "")))
    if isinstance(request, Ask):
        thread = await services.notifications.repository.thread_in_channel(request.session_id, str(form.get("channel_id", "")))
        request = replace(request, thread=thread)
    text = await _run(services, str(form.get("user_id", "")), request)
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
        await _tell(client.send(text=text, response_type="ephemeral", replace_original=False))
    return {}


async def handle_event(services: Services, payload: Mapping[str, Any]) -> None:
    """Do what a mention of the bot asks for, and tell its user in the thread; others do not see that."""
    mention, app = parse_event(payload), services.notifications.policy.slack_app
    if mention is None or app is None:
        return
    session_id = await services.notifications.repository.session_in_thread(mention.thread)
    text = await _run(services, mention.user, mention_request(mention, session_id))
    thread = mention.thread
    await _tell(_client(app).chat_postEphemeral(channel=thread.channel, user=mention.user, thread_ts=thread.ts, text=text))


async def _tell(sending: Awaitable[Any]) -> None:
    """Send a user what became of a request. A failure is only logged: the request is done, and after an error Slack would send it again."""
    try:
        with anyio.move_on_after(EPHEMERAL_MESSAGE_SECONDS):
            await sending
    except Exception as error:  # noqa: BLE001 - whatever Slack's SDK raises
        log.warning("slack.user_not_told", error=str(error) or type(error).__name__)


def _client(app: SlackApp) -> Any:
    from slack_sdk.web.async_client import AsyncWebClient  # noqa: PLC0415 - large, and needed only where Slack is configured

    return AsyncWebClient(token=app.token, base_url=app.api_url, trust_env_in_session=True)


async def _run(services: Services, user_id: str, request: SlackRequest) -> str:
    """Carry out a request in the name of a Slack user, and return what to tell them."""
    app = services.notifications.policy.slack_app
    role = (app.users.get(user_id) if app else None) or AccessRole.VIEWER
    try:
        if operation := operation_of(request):
            require(operation, Identity(_author(user_id), IdentityKind.PROXY, role))
        return await _perform(services, _author(user_id), request)
    except Exception as error:  # whatever fails, the user gets the message that the HTTP API would have answered with
        problem = problem_response(error).problem
        if problem.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            log.exception("slack.broke", user=user_id, request=type(request).__name__)
        else:
            log.info("slack.refused", user=user_id, request=type(request).__name__, error=str(error))
        return problem.detail


async def _perform(services: Services, author: str, request: SlackRequest) -> str:  # noqa: PLR0911 - a case for each request
    address = (services.notifications.policy.dashboard_url or "").rstrip("/")
    match request:
        case InvestigateAgain(incident_id):
            session_id = await services.incidents.service.commands.investigate(incident_id, actor=author)
            return f"TARSy investigates it again: {address}/sessions/{session_id}"
        case GiveReview(session_id, useful):
            await services.repositories.reviews.review(session_id, reviewer=author, useful=useful)
            return "Thank you. Your review is stored."
        case Decide(approval_id, state):
            decided = await services.repositories.approvals.decide(approval_id, state, actor=author, reason="")
            return f"You have {decided.state} {decided.server}.{decided.tool}."
        case OpenForm(session_id, trigger_id, thread):
            await _open_form(services, session_id, trigger_id, thread)
            return ""
        case Ask(session_id, question, thread, message_id):
            try:
                Question(content=question)
            except ValidationError as error:
                wanted = f"Write a question of 1 to {MAX_CHAT_CHARACTERS:,} characters."
                raise RequestRefusedError(ProblemKind.BAD_REQUEST, wanted) from error
            await services.repositories.chats.ask(
                session_id, services.mask(question), author=author, message_id=message_id, slack_thread=thread
            )
            where = "in the thread and " if thread else ""
            return f"TARSy answers {where}on the session's page: {address}/sessions/{session_id}"
        case Investigate(text, thread, key):
            submission = Submission(data=text, author=author, idempotency_key=key, slack_thread=thread)
            submitted = await services.submissions.submit(submission)
            return f"TARSy investigates it: {address}/sessions/{submitted.session_id}"
        case ShowHelp():
            return _HELP
        case _:
            assert_never(request)


async def _open_form(services: Services, session_id: str, trigger_id: str, thread: SlackThread | None) -> None:
    app = services.notifications.policy.slack_app
    if app is None:
        return
    field = {"type": "plain_text_input", "action_id": _INPUT, "multiline": True}
    view = {
        "type": "modal",
        "callback_id": _FORM,
        "private_metadata": f"{session_id} {thread.channel} {thread.ts}" if thread else session_id,
        "title": {"type": "plain_text", "text": "Ask TARSy"},
        "submit": {"type": "plain_text", "text": "Ask"},
        "blocks": [{"type": "input", "block_id": _BLOCK, "label": {"type": "plain_text", "text": "Question"}, "element": field}],
    }
    await _client(app).views_open(trigger_id=trigger_id, view=json.dumps(view))
