"""What senders might send by mistake: their examples with values replaced, dropped or doubled, and any JSON at all."""

import json
from typing import Any, cast

from hypothesis import strategies as st

from support.sender_examples import Example, load_examples

EXAMPLES = load_examples()
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=-(10**40), max_value=10**40),
    st.floats(),
    st.text(max_size=30),
    st.sampled_from(
        ["\ud800", "\0", "x" * 10_000, "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "http://[", "{EVENT.ID}", "resolved", "1e999"]
    ),
)
KEYS = st.one_of(st.text(max_size=5), st.sampled_from(["alerts", "labels", "event", "data", "status", "Message", "id", "type"]))
VALUES = st.recursive(SCALARS, lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=4)), max_leaves=8)


@st.composite
def mutated(draw: st.DrawFn) -> tuple[Example, Any]:
    """An example in which some values were replaced, dropped or doubled."""
    example = draw(st.sampled_from(EXAMPLES))
    body = json.loads(json.dumps(example.body))
    for _ in range(draw(st.integers(1, 4))):
        body = _mutation(draw, body)
    return example, body


def _mutation(draw: st.DrawFn, value: Any) -> Any:
    children = _children(value)
    if not children or draw(st.integers(0, 9)) == 0:
        return draw(VALUES)
    child, kind = draw(st.sampled_from(children)), draw(st.sampled_from(["deeper", "deeper", "deeper", "drop", "replace"]))
    if kind == "drop":
        del value[child]
    else:
        value[child] = draw(VALUES) if kind == "replace" else _mutation(draw, value[child])
    return value


def _children(value: Any) -> list[Any]:
    if isinstance(value, list):
        return list(range(len(cast("list[Any]", value))))
    return list(cast("dict[str, Any]", value)) if isinstance(value, dict) else []
