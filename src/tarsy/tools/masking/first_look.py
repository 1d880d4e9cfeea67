"""Says at a glance that a short text holds no secret, which is so of most that a model and its tools say. Pure module."""

from collections.abc import Iterable

from tarsy.tools.masking.text_views import LONG_WORD, SHORT

# In every escape, which may hide a name.
_BACKSLASH = "\\"


class FirstLook:
    """Knows the literals without which no rule finds anything in a text of short words; with them, the rules have to be tried."""

    def __init__(self, literals: Iterable[str]) -> None:
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
        return max(map(len, text.split()), default=0) < LONG_WORD
