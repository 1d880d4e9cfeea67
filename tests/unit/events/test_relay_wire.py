"""What processes tell each other fits PostgreSQL's limit and arrives whole."""

from hypothesis import given
from hypothesis import strategies as st

from tarsy.domain.live_events import StreamDelta
from tarsy.events.live_state import GrowingText
from tarsy.events.relay import PAYLOAD_LIMIT, Bulletin, Watch, pack_bulletin, pack_watch, read_bulletin, read_watch

# Characters that take one to six bytes as JSON.
TEXT = st.text(alphabet=st.sampled_from('a"\\\n\x01é€😀'), min_size=1, max_size=400).map(lambda text: text * 40)
DELTAS = st.lists(st.builds(StreamDelta, st.uuids().map(str), st.uuids().map(str), st.just(0), TEXT), max_size=6)


@given(deltas=DELTAS)
def test_every_payload_fits_and_the_texts_come_out_as_they_went_in(deltas: list[StreamDelta]) -> None:
    texts: dict[str, GrowingText] = {}
    for payload in pack_bulletin(Bulletin("me", deltas)):
        assert len(payload.encode()) <= PAYLOAD_LIMIT
        bulletin = read_bulletin(payload)
        assert bulletin.sender == "me"
        for piece in bulletin.texts:
            assert texts.setdefault(piece.event_id, GrowingText()).put(piece.offset, piece.delta) is not None
    assert {event: text.since(0) for event, text in texts.items()} == {delta.event_id: delta.delta for delta in deltas}


def test_many_small_texts_share_one_payload() -> None:
    deltas = [StreamDelta(f"session-{number}", f"event-{number}", 0, "token ") for number in range(100)]
    assert len(pack_bulletin(Bulletin("me", deltas))) == 1


def test_progress_travels_beside_text() -> None:
    [payload] = pack_bulletin(Bulletin("me", [StreamDelta("s", "e", 3, "x")], [{"session_id": "s", "stage_index": 2}]))
    bulletin = read_bulletin(payload)
    assert bulletin.texts == [StreamDelta("s", "e", 3, "x")]
    assert bulletin.progress == [{"session_id": "s", "stage_index": 2}]


def test_watches_say_which_channels_are_needed_from_the_start() -> None:
    channels = [f"session:{number:036}" for number in range(500)]
    payloads = pack_watch(Watch("me", channels, channels[:3]))
    read = [read_watch(payload) for payload in payloads]
    assert len(payloads) > 1
    assert [channel for watch in read for channel in watch.channels] == channels
    assert [channel for watch in read for channel in watch.from_start] == channels[:3]
