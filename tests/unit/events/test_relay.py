"""The relay between processes: its payloads, who receives them, and how often they are sent."""

from hypothesis import given
from hypothesis import strategies as st

from tarsy.domain.live_events import StreamDelta
from tarsy.events.live_state import OpenStream
from tarsy.events.relay import (
    EXPIRY_SECONDS,
    LONGEST_PAUSE_SECONDS,
    PAYLOAD_LIMIT,
    REPEAT_SECONDS,
    SHORTEST_PAUSE_SECONDS,
    Interest,
    TopicUpdates,
    Watch,
    pack_updates,
    pack_watch,
    parse_updates,
    parse_watch,
    pause_after,
)

# Characters that take one to six bytes as JSON.
TEXT = st.text(alphabet=st.sampled_from('a"\\\n\x01é€😀'), min_size=1, max_size=400).map(lambda text: text * 40)
DELTAS = st.lists(st.builds(StreamDelta, st.uuids().map(str), st.uuids().map(str), st.just(0), TEXT), max_size=6)


@given(deltas=DELTAS)
def test_every_payload_fits_and_the_texts_come_out_as_they_went_in(deltas: list[StreamDelta]) -> None:
    texts: dict[str, OpenStream] = {}
    for payload in pack_updates(TopicUpdates("me", deltas)):
        assert len(payload.encode()) <= PAYLOAD_LIMIT
        updates = parse_updates(payload)
        assert updates.sender == "me"
        for piece in updates.texts:
            assert texts.setdefault(piece.event_id, OpenStream(piece, own=False)).write(piece.offset, piece.delta) is not None
    assert {event: text.text for event, text in texts.items()} == {delta.event_id: delta.delta for delta in deltas}


def test_many_small_texts_share_one_payload() -> None:
    deltas = [StreamDelta(f"session-{number}", f"event-{number}", 0, "token ") for number in range(100)]
    assert len(pack_updates(TopicUpdates("me", deltas))) == 1


def test_progress_travels_beside_text() -> None:
    [payload] = pack_updates(TopicUpdates("me", [StreamDelta("s", "e", 3, "x")], [{"session_id": "s", "stage_index": 2}]))
    updates = parse_updates(payload)
    assert updates.texts == [StreamDelta("s", "e", 3, "x")]
    assert updates.progress == [{"session_id": "s", "stage_index": 2}]


def test_watches_say_which_channels_are_needed_from_the_start() -> None:
    channels = [f"session:{number:036}" for number in range(500)]
    payloads = pack_watch(Watch("me", channels, channels[:3]))
    read = [parse_watch(payload) for payload in payloads]
    assert len(payloads) > 1
    assert [channel for watch in read for channel in watch.channels] == channels
    assert [channel for watch in read for channel in watch.from_start] == channels[:3]


def test_a_channel_is_wanted_until_its_announcement_expires() -> None:
    interest = Interest()
    assert interest.announced(["a"], now=0) == ["a"]
    assert interest.announced(["a", "b"], now=REPEAT_SECONDS) == ["b"]
    assert interest.includes("a", REPEAT_SECONDS + EXPIRY_SECONDS)
    assert not interest.includes("a", REPEAT_SECONDS + EXPIRY_SECONDS + 0.1)
    assert not interest.includes("c", 0)


def test_two_announcements_may_be_lost() -> None:
    interest = Interest()
    interest.announced(["a"], now=0)
    assert interest.includes("a", 3 * REPEAT_SECONDS)


def test_text_waits_at_most_ten_milliseconds_while_the_database_is_quick() -> None:
    assert pause_after(0.001) <= 0.01


def test_slow_sends_gather_more_text_each() -> None:
    assert pause_after(0.002) < pause_after(0.005) < pause_after(0.01)


@given(st.floats(min_value=0, max_value=60))
def test_a_pause_is_never_felt_and_never_nothing(took: float) -> None:
    assert SHORTEST_PAUSE_SECONDS <= pause_after(took) <= LONGEST_PAUSE_SECONDS
