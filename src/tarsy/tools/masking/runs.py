"""The distinct runs of certain characters in a text. Pure module.

A megabyte of output says the same few words again and again: what is asked of each of them once need not be asked of each place they stand in.
"""


class Alphabet:
    """Characters a run may consist of; ASCII, because names and tokens are."""

    def __init__(self, characters: str) -> None:
        allowed = frozenset(characters.encode("ascii"))
        self._others_blank = bytes(code if code in allowed else 0x20 for code in range(256))

    def runs(self, text: str, *, at_least: int = 1) -> list[str]:
        """Each run of at least so many characters, once, in no particular order."""
        # Bytes, because translating and splitting them costs a few milliseconds a megabyte and an expression costs tens.
        runs = set(text.encode(errors="replace").translate(self._others_blank).split())
        return [run.decode("ascii") for run in runs if len(run) >= at_least]
