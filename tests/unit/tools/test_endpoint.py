"""Where a server is, and which of what we hand it is secret."""

from typing import Any

import pytest

from tarsy.config.resolve.resolved import ResolvedTransport
from tarsy.config.templates import expand
from tarsy.tools.endpoint import HttpEndpoint, credentials, endpoint_of

ENV = {"GRAFANA_TOKEN": "plain-words-only", "TEAM": "platform-team", "SHORT_TOKEN": "abc"}


def secrets(**transport: Any) -> frozenset[str]:
    resolved = ResolvedTransport.model_validate({"type": "http", "url": "https://host/mcp", **transport})
    return credentials(resolved, endpoint_of(resolved, lambda value: expand(value, ENV), lambda value: expand(value, ENV)), ENV)


@pytest.mark.parametrize(
    "transport",
    [
        {"bearer_token": "{{.GRAFANA_TOKEN}}"},
        {"custom_headers": {"X-API-Key": "plain-words-only"}},
        {"custom_headers": {"X-Scope": "{{.GRAFANA_TOKEN}}"}},
        {"custom_headers": {"Authorization": "Basic plain-words-only"}},
        {"url": "https://host/{{.GRAFANA_TOKEN}}/mcp"},
        {"session_cleanup_url": "https://host/end?key={{.GRAFANA_TOKEN}}"},
        {"type": "stdio", "command": "server", "args": ("--token", "{{.GRAFANA_TOKEN}}")},
        {"type": "stdio", "command": "server", "env": {"API_TOKEN": "plain-words-only"}},
        {"type": "stdio", "command": "server", "env": {"DB_PASSPHRASE": "plain-words-only"}},
    ],
)
def test_a_credential_is_known_wherever_it_is_handed_over(transport: dict[str, Any]) -> None:
    assert "plain-words-only" in secrets(**transport)


def test_what_is_no_credential_stays_readable() -> None:
    assert secrets(custom_headers={"X-Team": "{{.TEAM}}", "X-Api-Key": "{{.SHORT_TOKEN}}"}) == frozenset()


def test_a_line_break_at_the_end_of_a_token_is_not_part_of_it() -> None:
    transport = ResolvedTransport(type="http", url="https://host/mcp", bearer_token="{{.KEY}}")
    endpoint = endpoint_of(transport, lambda value: expand(value, {"KEY": "abcdef\n"}), str)
    assert isinstance(endpoint, HttpEndpoint)
    assert endpoint.headers["Authorization"] == "Bearer abcdef"


@pytest.mark.parametrize("value", ["one\ntwo", "tok\u2026en", "a\x00b"])
def test_a_header_that_cannot_be_sent_is_refused_without_being_quoted(value: str) -> None:
    transport = ResolvedTransport(type="http", url="https://host/mcp", custom_headers={"X-Key": "{{.KEY}}"})
    with pytest.raises(ValueError, match="the header X-Key") as refused:
        endpoint_of(transport, str, lambda text: expand(text, {"KEY": value}))
    assert value not in str(refused.value)
