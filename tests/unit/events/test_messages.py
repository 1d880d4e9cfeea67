"""What clients may say, and on which channels."""

import pytest

from tarsy.domain.live_events import UnknownChannelError, session_of
from tarsy.events.messages import BadActionError, Catchup, Ping, Subscribe, Unsubscribe, parse_action

SESSION = "0b6f8f3e-9f6a-4d8e-8a75-3f3c6f0a1b2c"


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ('{"action": "ping"}', Ping(action="ping")),
        ('{"action": "subscribe", "channel": "sessions"}', Subscribe(action="subscribe", channel="sessions")),
        (
            '{"action": "subscribe", "channel": "sessions", "last_event_id": 0}',
            Subscribe(action="subscribe", channel="sessions", last_event_id=0),
        ),
        ('{"action": "unsubscribe", "channel": "sessions"}', Unsubscribe(action="unsubscribe", channel="sessions")),
        (
            '{"action": "catchup", "channel": "sessions", "last_event_id": 7}',
            Catchup(action="catchup", channel="sessions", last_event_id=7),
        ),
    ],
)
def test_every_action_is_understood(text: str, action: object) -> None:
    assert parse_action(text) == action


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "[]",
        '{"action": "shout"}',
        '{"channel": "sessions"}',
        '{"action": "subscribe"}',
        '{"action": "catchup", "channel": "sessions"}',
        '{"action": "catchup", "channel": "sessions", "last_event_id": -1}',
        '{"action": "subscribe", "channel": "sessions", "last_event_id": 99999999999999999999}',
        '{"action": "subscribe", "channel": "' + "x" * 101 + '"}',
        b"\xff\xfe",
    ],
)
def test_anything_else_is_refused_with_a_reason(text: str | bytes) -> None:
    with pytest.raises(BadActionError, match=r"\w"):
        parse_action(text)


def test_the_shared_channel_belongs_to_no_session_and_a_session_channel_to_its_own() -> None:
    assert session_of("sessions") is None
    assert session_of(f"session:{SESSION}") == SESSION


@pytest.mark.parametrize(
    "channel", ["", "session:", "session:x", "tarsy_events", f"session:{SESSION.upper()}", f"session:{{{SESSION}}}", f"sessions:{SESSION}"]
)
def test_no_other_channel_exists(channel: str) -> None:
    with pytest.raises(UnknownChannelError):
        session_of(channel)
