"""Slack, by the vendor's SDK: one message for each incident, which shows its present state, and a reply in its thread for each later event."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from tarsy.domain.notification import EventKind, MessageThread, Notification, NotificationEvent, PostedMessage
from tarsy.domain.notification_text import Markup
from tarsy.kit.text import clip
from tarsy.notify.senders.sender import Delivered, NotDelivered, retry_after

# A message of the monitoring system that is older is about an earlier firing.
ALERT_MESSAGE_AGE = timedelta(hours=24)
# One page of the channel's history, which Slack limits more than other calls.
HISTORY_LIMIT = 200
# Of a section's text, by Slack.
MAX_SECTION = 2_900
# The buttons, by which a click is recognised.
ASK, INVESTIGATE_AGAIN, USEFUL, NOT_USEFUL = "tarsy-ask", "tarsy-investigate", "tarsy-useful", "tarsy-not-useful"
# Someone has deleted the message, or it has become too old to be changed.
_CANNOT_UPDATE = frozenset({"message_not_found", "cant_update_message", "edit_window_closed"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackSender:
    token: str = field(repr=False)
    channel: str
    api_url: str
    reply_to_alerts: bool = False
    # The configuration has the app that receives clicks.
    has_buttons: bool = False
    service = "slack"
    has_threads = True
    markup = Markup.SLACK

    async def send(self, notification: Notification, thread: MessageThread | None = None) -> Delivered | NotDelivered:
        # Large, and needed only where Slack is configured.
        from aiohttp import ClientError  # noqa: PLC0415
        from slack_sdk.errors import SlackApiError, SlackClientError  # noqa: PLC0415
        from slack_sdk.web.async_client import AsyncWebClient  # noqa: PLC0415

        # The types of the SDK are incomplete.
        client: Any = AsyncWebClient(token=self.token, base_url=self.api_url, trust_env_in_session=True)
        try:
            if thread is not None:
                try:
                    await self._continue(client, notification, thread)
                    return Delivered()
                except SlackApiError as error:
                    if _error(error) not in _CANNOT_UPDATE:
                        raise
            return Delivered(await self._begin(client, notification))
        except SlackApiError as error:
            answer: Any = error.response
            return NotDelivered(f"Slack answered: {_error(error)}", retry_after(answer.headers.get("Retry-After")))
        except (SlackClientError, ClientError, OSError, TimeoutError) as error:
            return NotDelivered(f"Slack cannot be reached: {type(error).__name__}")

    async def _begin(self, client: Any, notification: Notification) -> PostedMessage:
        """Post the message of an incident, in the thread of the alert's own message if there is one."""
        parent = await self._alert_message(client, notification) if self.reply_to_alerts else None
        blocks = self._blocks(notification, notification.text)
        posted = await self._post(client, notification.text, channel=self.channel, thread_ts=parent, blocks=blocks)
        return PostedMessage(channel=posted["channel"], ts=posted["ts"], parent=parent)

    async def _continue(self, client: Any, notification: Notification, thread: MessageThread) -> None:
        """Show the present state in the message, and reply to it: an update alone would notify nobody, and hide what it replaced.

        The update comes first, because it can be repeated.
        """
        posted = thread.posted
        # A notification that was delayed does not replace a later one.
        if notification.event.at >= thread.shown_at:
            text = present_text(notification, thread)
            await client.chat_update(channel=posted.channel, ts=posted.ts, text=text, blocks=self._blocks(notification, text))
        await self._post(client, notification.text, channel=posted.channel, thread_ts=posted.parent or posted.ts)

    async def _post(self, client: Any, text: str, **more: Any) -> Any:
        return await client.chat_postMessage(text=text, unfurl_links=False, unfurl_media=False, **more)

    def _blocks(self, notification: Notification, text: str) -> list[dict[str, Any]] | None:
        """Return the message with its buttons; None without buttons, where the text is enough."""
        buttons = _buttons(notification.event) if self.has_buttons else []
        if not buttons:
            return None
        # Verbatim: Slack makes no links and mentions of its own.
        shown = {"type": "mrkdwn", "text": clip(text, MAX_SECTION, notice="…"), "verbatim": True}
        return [{"type": "section", "text": shown}, {"type": "actions", "elements": buttons}]

    async def _alert_message(self, client: Any, notification: Notification) -> str | None:
        """Return the latest message of the channel that contains a fingerprint of the incident's alerts."""
        event = notification.event
        if not event.fingerprints:
            return None
        oldest = (event.at - ALERT_MESSAGE_AGE).timestamp()
        found: Any = await client.conversations_history(channel=self.channel, oldest=f"{oldest:.6f}", limit=HISTORY_LIMIT)
        for message in found["messages"]:
            # Its attachments and blocks, too, as text.
            if any(fingerprint in str(message) for fingerprint in event.fingerprints):
                return str(message.get("thread_ts") or message["ts"])
        return None


def _buttons(event: NotificationEvent) -> list[dict[str, Any]]:
    def button(label: str, action: str, **more: str) -> dict[str, Any]:
        return {"type": "button", "action_id": action, "text": {"type": "plain_text", "text": label}, **more}

    found = [button("Open", "tarsy-open", url=event.link)] if event.link else []
    if event.kind is EventKind.VERDICT and event.session_id:
        found.append(button("Ask", ASK, value=event.session_id))
    if event.kind in {EventKind.VERDICT, EventKind.FAILED} and event.incident_id:
        found.append(button("Investigate again", INVESTIGATE_AGAIN, value=event.incident_id))
    if event.kind is EventKind.VERDICT and event.session_id:
        found += [button("Useful", USEFUL, value=event.session_id), button("Not useful", NOT_USEFUL, value=event.session_id)]
    return found


def present_text(notification: Notification, thread: MessageThread) -> str:
    """Return what the message of an incident shows now: a resolved one still shows what was found."""
    is_resolved = notification.event.kind is EventKind.RESOLVED
    return f"{notification.text}\n\n{thread.finding}" if is_resolved and thread.finding else notification.text


def _error(error: Any) -> str:
    return str(error.response.get("error"))
