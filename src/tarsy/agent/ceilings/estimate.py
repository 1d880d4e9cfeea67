"""Pure module: how many tokens a request will be, before a model has counted them."""

from itertools import takewhile
from math import ceil

from tarsy.agent.context_window import tokens_of
from tarsy.domain.conversation import Role
from tarsy.domain.llm import GenerateInput
from tarsy.domain.tool import ToolDefinition
from tarsy.domain.usage import TokenUsage
from tarsy.kit.text import estimate_tokens

# Before a model has counted for us: logs and JSON, and vendors' own words around the tools, take up to so much more than four bytes a token.
_CAUTION = 1.8
# And after it has: the new part of a conversation may be denser than the old one.
_MARGIN = 1.1


def tokens_of_tools(tools: tuple[ToolDefinition, ...]) -> int:
    return sum(estimate_tokens(f"{tool.name}{tool.description}{tool.parameters_schema}") for tool in tools)


def plain_tokens(request: GenerateInput) -> int:
    """By the length of its texts alone."""
    return sum(map(tokens_of, request.messages)) + tokens_of_tools(request.tools)


class Estimate:
    """Learns from each call how dense the conversation is."""

    def __init__(self) -> None:
        self._density = _CAUTION

    def tokens(self, request: GenerateInput) -> int:
        return ceil(plain_tokens(request) * self._density)

    def opening(self, request: GenerateInput) -> int:
        """What of a conversation cannot be shortened: all before the first answer."""
        first = takewhile(lambda message: message.role is not Role.ASSISTANT, request.messages)
        return ceil(sum(map(tokens_of, first)) * self._density)

    def as_counted(self, tokens: int) -> int:
        """So many tokens of the model, in those by which conversations are shortened."""
        return int(tokens / self._density)

    def learn(self, request: GenerateInput, usage: TokenUsage) -> None:
        if usage.input_tokens:
            self._density = max(usage.input_tokens / plain_tokens(request), 0.25) * _MARGIN
