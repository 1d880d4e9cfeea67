"""Slack, by the vendor's SDK."""

from dataclasses import dataclass, field
from typing import Any

from tarsy.domain.notification import Notification
from tarsy.domain.notification_text import Markup
from tarsy.notify.senders.sender import Delivered, NotDelivered, retry_after


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackSender:
    token: str = field(repr=False)
    channel: str
    api_url: str
    service = "slack"
    markup = Markup.SLACK

    async def send(self, notification: Notification) -> Delivered | NotDelivered:
        # Large, and needed only where Slack is configured.
        from aiohttp import ClientError  # noqa: PLC0415
        from slack_sdk.errors import SlackApiError, SlackClientError  # noqa: PLC0415
        from slack_sdk.web.async_client import AsyncWebClient  # noqa: PLC0415

        # The types of the SDK are incomplete.
        client: Any = AsyncWebClient(token=self.token, base_url=self.api_url, trust_env_in_session=True)
        try:
            await client.chat_postMessage(channel=self.channel, text=notification.text, unfurl_links=False, unfurl_media=False)
        except SlackApiError as error:
            answer: Any = error.response
            return NotDelivered(f"Slack answered: {answer.get('error')}", retry_after(answer.headers.get("Retry-After")))
        except (SlackClientError, ClientError, OSError, TimeoutError) as error:
            return NotDelivered(f"Slack cannot be reached: {type(error).__name__}")
        return Delivered()
