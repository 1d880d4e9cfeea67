"""Text that grows by pieces reads the same from everywhere."""

import orjson
from hypothesis import given
from hypothesis import strategies as st

from tarsy.domain.live_events import StreamDelta
from tarsy.events.live_state import OpenStream

PIECES = st.lists(st.text(max_size=8), max_size=700)


def open_stream() -> OpenStream:
    return OpenStream(StreamDelta("session", "event", 0, ""), own=True)


def shown(stream: OpenStream, position: int) -> str:
    update = stream.since(position)
    return orjson.loads(update[0])["delta"] if update else ""


@given(pieces=PIECES, data=st.data())
def test_pieces_in_order_give_the_whole_text_from_any_position(pieces: list[str], data: st.DataObject) -> None:
    text, whole = open_stream(), ""
    for piece in pieces:
        assert text.write(len(whole), piece) == len(whole)
        whole += piece
    offset = data.draw(st.integers(0, len(whole)))
    assert shown(text, offset) == whole[offset:]


@given(whole=st.text(max_size=60), spans=st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=30))
def test_overlapping_copies_of_the_same_text_change_nothing(whole: str, spans: list[tuple[int, int]]) -> None:
    text, known = open_stream(), 0
    for start, end in spans:
        agreed = text.write(start, whole[start:end])
        if start > known:
            assert agreed is None
        else:
            assert agreed == known
            known = max(known, min(end, len(whole)))
        assert text.text == whole[:known]


def test_a_piece_that_disagrees_replaces_what_follows_its_place() -> None:
    text = open_stream()
    text.write(0, "first try")
    assert text.write(0, "second") == 0
    assert text.text == "second"
    assert text.write(3, "ond thought") == 6
    assert text.text == "second thought"


def test_a_piece_beyond_the_end_is_refused() -> None:
    text = open_stream()
    text.write(0, "ab")
    assert text.write(3, "d") is None
    assert text.text == "ab"
