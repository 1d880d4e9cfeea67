"""Text that grows by pieces reads the same from everywhere."""

from hypothesis import given
from hypothesis import strategies as st

from tarsy.events.live_state import GrowingText

PIECES = st.lists(st.text(max_size=8), max_size=700)


@given(pieces=PIECES, data=st.data())
def test_pieces_in_order_give_the_whole_text_from_any_position(pieces: list[str], data: st.DataObject) -> None:
    text, whole = GrowingText(), ""
    for piece in pieces:
        assert text.put(len(whole), piece) == len(whole)
        whole += piece
    offset = data.draw(st.integers(0, len(whole)))
    assert text.length == len(whole)
    assert text.since(offset) == whole[offset:]


@given(whole=st.text(max_size=60), spans=st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=30))
def test_overlapping_copies_of_the_same_text_change_nothing(whole: str, spans: list[tuple[int, int]]) -> None:
    text, known = GrowingText(), 0
    for start, end in spans:
        agreed = text.put(start, whole[start:end])
        if start > known:
            assert agreed is None
        else:
            assert agreed == known
            known = max(known, min(end, len(whole)))
        assert text.since(0) == whole[:known]


def test_a_piece_that_disagrees_replaces_what_follows_its_place() -> None:
    text = GrowingText()
    text.put(0, "first try")
    assert text.put(0, "second") == 0
    assert text.since(0) == "second"
    assert text.put(3, "ond thought") == 6
    assert text.since(0) == "second thought"


def test_a_piece_beyond_the_end_is_refused() -> None:
    text = GrowingText()
    text.put(0, "ab")
    assert text.put(3, "d") is None
    assert text.since(0) == "ab"
