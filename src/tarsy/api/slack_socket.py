"""Socket Mode: requests of Slack over a WebSocket that TARSy opens, so that Slack needs no address to reach it."""

from collections.abc import Callable, Mapping
from typing import Any

import anyio
import structlog

from tarsy.api.services import Services
from tarsy.api.slack import handle_command, handle_event, handle_interaction
from tarsy.kit.auto_reset_event import AutoResetEvent
from tarsy.notify.policy import SlackApp

# The client connects again by itself; this is for what it cannot handle.
RESTART_SECONDS = 30.0

log = structlog.get_logger(__name__)


class SlackSocket:
    """Keeps the connection of the configured app open. With several processes, Slack sends each request to one of them."""

    def __init__(self, services: Callable[[], Services]) -> None:
        # Those in force.
        self._services = services
        self._changed = AutoResetEvent()

    def reconfigure(self) -> None:
        """Connect anew if the app is another one."""
        self._changed.set()

    async def run(self) -> None:
        """Take requests until cancelled."""
        while True:
            app = self._app
            async with anyio.create_task_group() as tasks:
                if app and app.app_token:
                    tasks.start_soon(self._listen, app, name="slack")
                while self._app == app:
                    await self._changed.wait()
                tasks.cancel_scope.cancel()

    @property
    def _app(self) -> SlackApp | None:
        return self._services().notifications.policy.slack_app

    async def _listen(self, app: SlackApp) -> None:
        # Large, and needed only where Slack is configured.
        from slack_sdk.socket_mode.aiohttp import SocketModeClient  # noqa: PLC0415
        from slack_sdk.web.async_client import AsyncWebClient  # noqa: PLC0415

        while True:
            web = AsyncWebClient(token=app.token, base_url=app.api_url, trust_env_in_session=True)
            client: Any = SocketModeClient(app_token=app.app_token or "", web_client=web)
            client.socket_mode_request_listeners.append(self._answer)
            try:
                await client.connect()
                await anyio.sleep_forever()
            except Exception as error:  # noqa: BLE001 - Slack being away must not stop the server
                log.warning("slack.disconnected", error=str(error) or type(error).__name__)
            finally:
                with anyio.CancelScope(shield=True):
                    await client.close()
            await anyio.sleep(RESTART_SECONDS)

    async def _answer(self, client: Any, request: Any) -> None:
        from slack_sdk.socket_mode.response import SocketModeResponse  # noqa: PLC0415 - as above

        answer: Mapping[str, Any] = {}
        match request.type:
            case "interactive":
                answer = await handle_interaction(self._services(), request.payload)
            case "slash_commands":
                answer = await handle_command(self._services(), request.payload)
            case "events_api":
                await handle_event(self._services(), request.payload)
            case _:
                # Requests that TARSy did not subscribe to are acknowledged.
                pass
        await client.send_socket_mode_response(SocketModeResponse(envelope_id=request.envelope_id, payload=dict(answer) or None))
