"""Says at a glance that a short text holds no secret, which is so of most that a model and its tools say. Pure module."""

from collections.abc import Callable, Iterable

from tarsy.tools.masking.text_views import LONG_WORD, SHORT, Reading

Rule = Callable[[Reading], str]

# In every escape, which may hide a name.
_BACKSLASH = "\\"


class FirstLook:
    """Knows the literals without which no rule finds anything, but for the rules of long words: of these there are few, and they are tried."""

    def __init__(self, literals: Iterable[str], for_long_words: Iterable[Rule]) -> None:
        self._for_long_words = tuple(for_long_words)
        # Rules differ in whether they mind the case: none of them finds more than a look that does not.
        lowered = {literal.lower() for literal in literals} | {_BACKSLASH}
        # A text without `key` holds no `privatekey` either.
        self._literals = tuple(sorted(each for each in lowered if not any(other in each for other in lowered - {each})))

    def passes(self, text: str) -> bool:
        """Whether no rule would change `text`. What is not ASCII may be written so that it is read otherwise."""
        if len(text) > SHORT or not text.isascii():
            return False
        lowered = text.lower()
        for literal in self._literals:
            if literal in lowered:
                return False
        return max(map(len, text.split()), default=0) < LONG_WORD or self._long_words_pass(Reading(text))

    def _long_words_pass(self, reading: Reading) -> bool:
        return all(rule(reading) == reading.text for rule in self._for_long_words)
