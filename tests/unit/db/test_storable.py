"""Whatever a step brings can be stored."""

from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from tarsy.db.rows import as_stored, json_text, storable_json

TEXTS = st.text(st.characters(exclude_categories=()), max_size=10)
LEAVES = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | TEXTS
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS | st.integers(0, 9), inner, max_size=4))


@given(VALUES)
def test_the_text_of_a_value_is_that_of_its_storable_copy(value: Any) -> None:
    assert json_text(value) == orjson.dumps(storable_json(value)).decode()


@given(VALUES)
def test_a_value_as_it_is_stored_has_the_text_of_its_storable_copy(value: Any) -> None:
    stored, text = as_stored(value)
    assert text.encode() == orjson.dumps(stored) == orjson.dumps(storable_json(value))


def test_what_cannot_be_stored_is_replaced() -> None:
    assert json_text({"a\x00": ["\ud83d", 2**64]}) == '{"a\ufffd":["\ufffd","18446744073709551616"]}'
