"""Slack, by the vendor's SDK: one message for each incident, which shows its present state, and a reply in its thread for each later event.

A tool call that waits for a person is a message of its own, with the exact call and buttons, until it shows the decision.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Any, cast

import structlog

from tarsy.domain.approval import Approval, ApprovalState
from tarsy.domain.notification import EventKind, MessageThread, Notification, NotificationEvent, PostedMessage
from tarsy.domain.notification_text import Markup, escape
from tarsy.domain.session import SlackThread
from tarsy.kit.text import clip
from tarsy.notify.senders.sender import Delivered, NotDelivered, Sender, retry_after

# A message of the monitoring system that is older is about an earlier firing.
ALERT_MESSAGE_AGE = timedelta(hours=24)
# One page of the channel's history, the latest messages first: Slack limits this call more than others, so there is no second page.
HISTORY_LIMIT = 200
# Of a section's text, by Slack.
MAX_SECTION = 2_900
# Someone has deleted the message, or it has become too old to be changed.
_CANNOT_UPDATE = frozenset({"message_not_found", "cant_update_message", "edit_window_closed"})

log = structlog.get_logger(__name__)


class Button(StrEnum):
    """The buttons under messages, by the ids with which Slack reports a click."""

    # A link: a click on it asks for nothing.
    OPEN = "tarsy-open"
    ASK = "tarsy-ask"
    INVESTIGATE_AGAIN = "tarsy-investigate"
    USEFUL = "tarsy-useful"
    NOT_USEFUL = "tarsy-not-useful"
    APPROVE = "tarsy-approve"
    REJECT = "tarsy-reject"


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackSender:
    token: str = field(repr=False)
    # None: the thread in which the session or the question was asked for.
    channel: str | None
    api_url: str
    reply_to_alerts: bool = False
    # The configuration has the app that receives clicks.
    has_buttons: bool = False
    service = "slack"
    has_threads = True
    markup = Markup.SLACK

    async def send(self, notification: Notification, thread: MessageThread | None = None) -> Delivered | NotDelivered:
        if self.channel is None and notification.event.slack_thread is None:
            return NotDelivered("only what someone asks for in Slack is posted there")
        # Large, and needed only where Slack is configured.
        from aiohttp import ClientError  # noqa: PLC0415
        from slack_sdk.errors import SlackApiError, SlackClientError  # noqa: PLC0415
        from slack_sdk.web.async_client import AsyncWebClient  # noqa: PLC0415

        # The types of the SDK are incomplete.
        client: Any = AsyncWebClient(token=self.token, base_url=self.api_url, trust_env_in_session=True)
        try:
            return Delivered(await self._deliver(client, notification, thread))
        except SlackApiError as error:
            answer: Any = error.response
            return NotDelivered(f"Slack answered: {_error(error)}", retry_after(answer.headers.get("Retry-After")))
        except (SlackClientError, ClientError, OSError) as error:
            return NotDelivered(f"Slack cannot be reached: {type(error).__name__}")

    async def _deliver(self, client: Any, notification: Notification, thread: MessageThread | None) -> PostedMessage | None:
        """Show an event; return the message that later ones change, if it is a new one."""
        event = notification.event
        if thread and thread.shows_decision:
            # This request for an approval was delayed until after the decision.
            return None
        if event.kind is EventKind.ANSWERED:
            await self._post(client, notification, *await self._place(client, event, thread.posted if thread else None))
            return None
        message = await self._update(client, notification, thread) if thread else None
        if event.kind is EventKind.DECIDED and thread and thread.approval:
            await self._change(client, thread.approval, notification.text, _call_blocks(notification, has_buttons=False))
            return None
        channel, parent = await self._place(client, event, message)
        if event.kind is EventKind.WAITING and event.approval:
            # It has to be seen by more people than those who follow the thread, because it expires.
            blocks = _call_blocks(notification, has_buttons=self.has_buttons)
            posted = await self._post(client, notification, channel, parent, blocks=blocks, reply_broadcast=parent is not None)
        elif message:
            # An update alone would notify nobody, and hide what it replaced. It came first, because it can be repeated.
            await self._post(client, notification, channel, parent)
            return None
        else:
            posted = await self._post(client, notification, channel, parent, blocks=self._blocks(event, notification.text))
        return PostedMessage(channel=posted["channel"], ts=posted["ts"], parent=parent)

    async def _update(self, client: Any, notification: Notification, thread: MessageThread) -> PostedMessage | None:
        """Show the present state in the message of the incident; return it, or None if there is none any more."""
        event = notification.event
        # A notification that was delayed does not replace a later one, and a call for the answer to a question not what was found.
        if thread.posted is None or event.at < thread.shown_at or (event.approval and thread.finding):
            return thread.posted
        text = present_text(notification, thread)
        is_there = await self._change(client, thread.posted, text, self._blocks(event, text))
        return thread.posted if is_there else None

    async def _place(self, client: Any, event: NotificationEvent, message: PostedMessage | None) -> tuple[str, str | None]:
        """Return the channel of a new message, and the message in whose thread it is posted."""
        if self.channel is None:
            asked = cast("SlackThread", event.slack_thread)
            return asked.channel, asked.ts
        if message:
            return message.channel, message.parent or message.ts
        return self.channel, await self._alert_message(client, self.channel, event)

    async def _post(self, client: Any, notification: Notification, channel: str, parent: str | None, **more: Any) -> Any:
        return await client.chat_postMessage(
            text=notification.text, channel=channel, thread_ts=parent, unfurl_links=False, unfurl_media=False, **more
        )

    async def _change(self, client: Any, message: PostedMessage, text: str, blocks: list[dict[str, Any]] | None) -> bool:
        """Change a message; return whether it is still there."""
        from slack_sdk.errors import SlackApiError  # noqa: PLC0415 - needed only where Slack is configured

        try:
            await client.chat_update(channel=message.channel, ts=message.ts, text=text, blocks=blocks)
        except SlackApiError as error:
            if _error(error) not in _CANNOT_UPDATE:
                raise
            return False
        return True

    def _blocks(self, event: NotificationEvent, text: str) -> list[dict[str, Any]] | None:
        """Return the message with its buttons; None without buttons, where the text is enough."""
        buttons = _buttons(event) if self.has_buttons else []
        return [_section(text), {"type": "actions", "elements": buttons}] if buttons else None

    async def _alert_message(self, client: Any, channel: str, event: NotificationEvent) -> str | None:
        """Return the latest message that contains a fingerprint of the alerts, however it is spaced and capitalised, of one page of the history."""
        from slack_sdk.errors import SlackApiError  # noqa: PLC0415 - needed only where Slack is configured

        # An empty one would be in every message.
        fingerprints = [folded for fingerprint in event.fingerprints if (folded := _folded(fingerprint))]
        if not fingerprints or not (self.reply_to_alerts or event.is_named_in_slack):
            return None
        oldest = (event.at - ALERT_MESSAGE_AGE).timestamp()
        try:
            found: Any = await client.conversations_history(channel=channel, oldest=f"{oldest:.6f}", limit=HISTORY_LIMIT)
        except SlackApiError as error:
            if _error(error) != "missing_scope":
                raise
            # A message outside the thread is better than none.
            log.warning("slack.history_unreadable", channel=channel, remedy="give the bot the scope channels:history")
            return None
        for message in found["messages"]:
            text = _folded(" ".join(_texts(message)))
            if any(fingerprint in text for fingerprint in fingerprints):
                return str(message.get("thread_ts") or message["ts"])
        return None


def posts_to(sender: Sender, channel: str) -> bool:
    """Return whether a sender posts to this channel of Slack."""
    return isinstance(sender, SlackSender) and sender.channel == channel


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def _texts(value: object) -> Iterator[str]:
    """Yield all texts of a message: its own, and those of its attachments and blocks."""
    match value:
        case str():
            yield value
        case dict():
            for item in cast("dict[str, object]", value).values():
                yield from _texts(item)
        case list():
            for item in cast("list[object]", value):
                yield from _texts(item)
        case _:
            pass


def _section(text: str) -> dict[str, Any]:
    # Verbatim: Slack makes no links and mentions of its own.
    return {"type": "section", "text": {"type": "mrkdwn", "text": clip(text, MAX_SECTION, notice="…"), "verbatim": True}}


def _button(label: str, action: Button, **more: Any) -> dict[str, Any]:
    return {"type": "button", "action_id": action, "text": {"type": "plain_text", "text": label}, **more}


def _buttons(event: NotificationEvent) -> list[dict[str, Any]]:
    found = [_button("Open", Button.OPEN, url=event.link)] if event.link else []
    if event.kind is EventKind.VERDICT and event.session_id:
        found.append(_button("Ask", Button.ASK, value=event.session_id))
    if event.kind in {EventKind.VERDICT, EventKind.FAILED} and event.incident_id:
        found.append(_button("Investigate again", Button.INVESTIGATE_AGAIN, value=event.incident_id))
    if event.kind is EventKind.VERDICT and event.session_id:
        found += [
            _button("Useful", Button.USEFUL, value=event.session_id),
            _button("Not useful", Button.NOT_USEFUL, value=event.session_id),
        ]
    return found


def _call_blocks(notification: Notification, *, has_buttons: bool) -> list[dict[str, Any]]:
    """Return a message with the arguments of a call as they are sent, and the buttons that decide about it."""
    event, approval = notification.event, cast("Approval", notification.event.approval)
    # Slack reads no markup in it.
    arguments = {"type": "text", "text": clip(escape(approval.arguments, Markup.NONE), MAX_SECTION)}
    shown = {"type": "rich_text", "elements": [{"type": "rich_text_preformatted", "elements": [arguments]}]}
    buttons = [_button("Open", Button.OPEN, url=event.link)] if event.link else []
    if has_buttons and approval.state is ApprovalState.PENDING:
        # Nobody approves what is not shown whole.
        if len(approval.arguments) <= MAX_SECTION:
            confirm = {
                "title": {"type": "plain_text", "text": "Run this call?"},
                "text": {"type": "plain_text", "text": "It runs once, exactly as shown."},
                "confirm": {"type": "plain_text", "text": "Approve"},
                "deny": {"type": "plain_text", "text": "Back"},
            }
            buttons.append(_button("Approve", Button.APPROVE, value=approval.id, style="primary", confirm=confirm))
        buttons.append(_button("Reject", Button.REJECT, value=approval.id, style="danger"))
    return [_section(notification.text), shown, *([{"type": "actions", "elements": buttons}] if buttons else [])]


def present_text(notification: Notification, thread: MessageThread) -> str:
    """Return what the message of an incident shows now: a resolved one still shows what was found."""
    is_resolved = notification.event.kind is EventKind.RESOLVED
    return f"{notification.text}\n\n{thread.finding}" if is_resolved and thread.finding else notification.text


def _error(error: Any) -> str:
    """Return Slack's name of the error, or the HTTP status if something else answered, such as a proxy."""
    data = getattr(error.response, "data", None)
    if isinstance(data, dict) and "error" in data:
        return str(cast("dict[str, object]", data)["error"])
    # The SDK gives its own response, or that of the library below it.
    return f"HTTP {getattr(error.response, 'status_code', None) or error.response.status}"
