"""Measuring text."""

from tarsy.kit.text import estimate_tokens


def test_text_of_any_kind_can_be_measured() -> None:
    assert estimate_tokens("") == 1
    assert estimate_tokens("word" * 100) == 101
    assert estimate_tokens("é" * 100) > estimate_tokens("e" * 100)
    # Half a surrogate pair, as some models send it.
    assert estimate_tokens("a\ud83d") == 2
