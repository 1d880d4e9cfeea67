"""How many tokens a request has, estimated before its model has counted them."""

from itertools import takewhile
from math import ceil

from tarsy.agent.context_window import tokens_of, tokens_of_tools
from tarsy.domain.conversation import Role
from tarsy.domain.llm import GenerateInput
from tarsy.domain.usage import TokenUsage
from tarsy.kit.text import estimate_tokens

# Before the first usage report: logs, JSON and the vendors' own text around tools are denser than four bytes a token.
_CAUTION = 1.8
# And after it: the new part of a conversation may be denser than the old one.
_MARGIN = 1.1


class TokenEstimate:
    """Estimates the tokens of a request before its model has counted them, and learns from each call how dense the conversation is."""

    def __init__(self) -> None:
        # Tokens of the model per token that the length of the text suggests.
        self._density = _CAUTION

    def tokens(self, request: GenerateInput) -> int:
        return ceil(_plain_tokens(request) * self._density)

    def opening(self, request: GenerateInput) -> int:
        """Estimate the part of a conversation that cannot be shortened: all messages before the first answer."""
        first = takewhile(lambda message: message.role is not Role.ASSISTANT, request.messages)
        return ceil(sum(map(tokens_of, first)) * self._density)

    def of_plain(self, tokens: int) -> int:
        """Convert tokens by which conversations are shortened to those of the model."""
        return ceil(tokens * self._density)

    def plain(self, tokens: int) -> int:
        """Convert tokens of the model to those by which conversations are shortened."""
        return int(tokens / self._density)

    def usage(self, request: GenerateInput, written: str) -> TokenUsage:
        """Estimate what a call used that was cut off after it had `written` so much."""
        prompt, answer = self.tokens(request), estimate_tokens(written)
        return TokenUsage(prompt, answer, prompt + answer)

    def learn(self, request: GenerateInput, usage: TokenUsage) -> None:
        if usage.input_tokens:
            self._density = max(usage.input_tokens / _plain_tokens(request), 0.25) * _MARGIN


def _plain_tokens(request: GenerateInput) -> int:
    return sum(map(tokens_of, request.messages)) + tokens_of_tools(request.tools)
