"""Notes and comments on the objects that alerts came from or belong to: PagerDuty, Opsgenie, Grafana, Jira, GitHub.

None of these services takes an idempotency key, so that each note names its notification, and is looked for before it is written.
"""

import base64
import html
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlencode

import httpx

from tarsy import __version__
from tarsy.config.schema.write_back import (
    GitHubTargetConfig,
    GrafanaTargetConfig,
    JiraTargetConfig,
    OpsgenieTargetConfig,
    PagerDutyTargetConfig,
    WriteBackConfig,
)
from tarsy.domain.notification import MessageThread, Notification
from tarsy.domain.notification_text import Markup
from tarsy.domain.route import Matcher, Operator
from tarsy.domain.write_back import last_line
from tarsy.kit.text import clip
from tarsy.notify.senders.sender import Delivered, NotDelivered, retry_after
from tarsy.notify.senders.webhook import tls_context

_JIRA_ISSUE = r"[A-Z][A-Z0-9_]*-[0-9]+"
_GITHUB_ISSUE = r"[0-9]+"
# Enough to see what the service complains about.
_SHOWN_CHARACTERS = 200
# Opsgenie counts the requests of a minute, and does not say when there may be more.
_RATE_LIMIT_SECONDS = 60.0
# More than the notes of one incident; a service that sends more is not asked again.
_MAX_LISTED_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteBack:
    """A note on one object: the address that lists those it has, and the request that adds one."""

    listed_at: str
    posted_to: str
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteBackSender:
    service: str
    # The events that name an object of this service.
    only: Matcher | None
    markup: Markup
    headers: Mapping[str, str] = field(repr=False)
    write_backs: Callable[[Notification], Sequence[WriteBack]]
    has_threads = False

    async def send(self, notification: Notification, thread: MessageThread | None = None) -> Delivered | NotDelivered:
        del thread
        written, missing = False, NotDelivered(f"no alert of this event names anything in {self.service}")
        try:
            async with httpx.AsyncClient(
                verify=tls_context(),
                timeout=None,  # noqa: S113 - the caller limits the time
                headers={"Accept": "application/json", "User-Agent": f"TARSy/{__version__}", **self.headers},
            ) as client:
                for one in self.write_backs(notification):
                    response, text = await _read(client, "GET", one.listed_at)
                    if response.is_success and notification.id not in text:
                        response, text = await _read(client, "POST", one.posted_to, json=one.body)
                    if response.is_success:
                        written = True
                        continue
                    missing = NotDelivered(
                        f"HTTP {response.status_code} {clip(text, _SHOWN_CHARACTERS, notice='…')}".strip(), _pause(response)
                    )
                    # Alerts of several senders may be one incident, and someone may have deleted an object.
                    if response.status_code != HTTPStatus.NOT_FOUND:
                        return missing
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return NotDelivered(f"{self.service} cannot be reached: {type(error).__name__}")
        return Delivered() if written else missing


async def _read(client: httpx.AsyncClient, method: str, url: str, **more: Any) -> tuple[httpx.Response, str]:
    """Return the response with the beginning of its text."""
    async with client.stream(method, url, **more) as response:
        read = bytearray()
        async for chunk in response.aiter_bytes():
            read += chunk
            if len(read) > _MAX_LISTED_BYTES:
                break
    return response, read.decode(errors="replace")


def _pause(response: httpx.Response) -> float | None:
    """Return the seconds for which a service asks to be left alone; None if it does not."""
    headers = response.headers
    if "Retry-After" in headers:
        return retry_after(headers["Retry-After"])
    # GitHub has two ways to say it.
    is_spent = response.status_code == HTTPStatus.FORBIDDEN and headers.get("X-RateLimit-Remaining") == "0"
    if response.status_code != HTTPStatus.TOO_MANY_REQUESTS and not is_spent:
        return None
    # PagerDuty sends the seconds until then, GitHub the time.
    if (seconds := headers.get("RateLimit-Reset", "")).isdecimal():
        return float(seconds)
    if (at := headers.get("X-RateLimit-Reset", "")).isdecimal():
        return max(float(at) - time.time(), 0.0)
    return _RATE_LIMIT_SECONDS


def write_back_sender(config: WriteBackConfig, env: Mapping[str, str]) -> WriteBackSender:
    """Return the sender of a target with the token of `env`."""
    token = env[config.token_env].strip()
    match config:
        case PagerDutyTargetConfig():
            return _pagerduty(config, token)
        case OpsgenieTargetConfig():
            return _opsgenie(config, token)
        case GrafanaTargetConfig():
            return _grafana(config, token)
        case JiraTargetConfig():
            return _jira(config, token)
        case GitHubTargetConfig():
            return _github(config, token)


def _pagerduty(config: PagerDutyTargetConfig, token: str) -> WriteBackSender:
    """https://developer.pagerduty.com/api-reference: create a note on an incident. The fingerprint of its alerts is the incident's id."""

    def write_backs(notification: Notification) -> list[WriteBack]:
        urls = [f"{config.api_url.rstrip('/')}/incidents/{_quoted(one)}/notes" for one in notification.event.fingerprints]
        return [WriteBack(listed_at=url, posted_to=url, body={"note": {"content": _signed(notification)}}) for url in urls]

    return WriteBackSender(
        service="pagerduty",
        only=Matcher("source", Operator.EQUAL, "pagerduty"),
        markup=Markup.PLAIN,
        headers={"Authorization": f"Token token={token}", "From": config.user},
        write_backs=write_backs,
    )


def _opsgenie(config: OpsgenieTargetConfig, token: str) -> WriteBackSender:
    """https://docs.opsgenie.com/docs/alert-api: add a note to an alert. The fingerprint of its alerts is their alias."""

    def write_backs(notification: Notification) -> list[WriteBack]:
        urls = [
            f"{config.api_url.rstrip('/')}/v2/alerts/{_quoted(one)}/notes?identifierType=alias" for one in notification.event.fingerprints
        ]
        body = {"note": _signed(notification), "source": "TARSy"}
        return [WriteBack(listed_at=f"{url}&order=desc&limit=100", posted_to=url, body=body) for url in urls]

    return WriteBackSender(
        service="opsgenie",
        only=Matcher("source", Operator.EQUAL, "opsgenie"),
        markup=Markup.PLAIN,
        headers={"Authorization": f"GenieKey {token}"},
        write_backs=write_backs,
    )


def _grafana(config: GrafanaTargetConfig, token: str) -> WriteBackSender:
    """https://grafana.com/docs/grafana/latest/developers/http_api/annotations: one that dashboards show by its tag `tarsy`."""

    def write_backs(notification: Notification) -> list[WriteBack]:
        url, tags = f"{config.url.rstrip('/')}/api/annotations", ["tarsy", notification.id]
        # Grafana shows the text as HTML.
        body = {"time": int(notification.event.at.timestamp() * 1000), "tags": tags, "text": html.escape(_signed(notification))}
        return [WriteBack(listed_at=f"{url}?{urlencode({'tags': tags}, doseq=True)}", posted_to=url, body=body)]

    return WriteBackSender(
        service="grafana", only=None, markup=Markup.NONE, headers={"Authorization": f"Bearer {token}"}, write_backs=write_backs
    )


def _jira(config: JiraTargetConfig, token: str) -> WriteBackSender:
    """https://developer.atlassian.com/cloud/jira/platform/rest/v3: add a comment, as a document whose text is shown as it is."""

    def write_backs(notification: Notification) -> list[WriteBack]:
        # In a text, a line break is a space.
        lines = [{"type": "text", "text": line} for line in _signed(notification).splitlines() if line.strip()]
        content = [{"type": "paragraph", "content": [line]} for line in lines]
        body = {"body": {"type": "doc", "version": 1, "content": content}}
        issues = _labelled(notification, config.issue_label, _JIRA_ISSUE)
        urls = [f"{config.url.rstrip('/')}/rest/api/3/issue/{issue}/comment" for issue in issues]
        return [WriteBack(listed_at=f"{url}?orderBy=-created&maxResults=100", posted_to=url, body=body) for url in urls]

    credentials = base64.b64encode(f"{config.user}:{token}".encode()).decode()
    return WriteBackSender(
        service="jira",
        only=Matcher(config.issue_label, Operator.LIKE, _JIRA_ISSUE),
        markup=Markup.NONE,
        headers={"Authorization": f"Basic {credentials}"},
        write_backs=write_backs,
    )


def _github(config: GitHubTargetConfig, token: str) -> WriteBackSender:
    """https://docs.github.com/en/rest/issues/comments: create a comment, whose text is a code block, without mentions and references."""

    def write_backs(notification: Notification) -> list[WriteBack]:
        longest = max((len(run) for run in re.findall(r"`+", notification.text)), default=0)
        fence = "`" * max(longest + 1, 3)
        parts = (f"{fence}text\n{notification.text}\n{fence}", notification.event.link, last_line(notification.id))
        issues = _labelled(notification, config.issue_label, _GITHUB_ISSUE)
        urls = [f"{config.api_url.rstrip('/')}/repos/{config.repository}/issues/{issue}/comments" for issue in issues]
        since = urlencode({"per_page": 100, "since": f"{notification.event.at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"})
        return [WriteBack(listed_at=f"{url}?{since}", posted_to=url, body={"body": "\n\n".join(filter(None, parts))}) for url in urls]

    return WriteBackSender(
        service="github",
        only=Matcher(config.issue_label, Operator.LIKE, _GITHUB_ISSUE),
        markup=Markup.NONE,
        headers={"Authorization": f"Bearer {token}", "X-GitHub-Api-Version": "2022-11-28"},
        write_backs=write_backs,
    )


def _labelled(notification: Notification, label: str, pattern: str) -> list[str]:
    """Return the issues that the label of the alerts names; other values could lead to other addresses."""
    return [value for value in notification.event.labels.get(label, ()) if re.fullmatch(pattern, value, re.ASCII)]


def _quoted(identity: str) -> str:
    # Dots alone would be a directory of the address.
    return quote(identity, safe="").replace(".", "%2E")


def _signed(notification: Notification) -> str:
    return f"{notification.text}\n\n{last_line(notification.id)}"
