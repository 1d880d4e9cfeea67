"""Secrets out of everything that a tool call says: its name and arguments, what it says while it runs, its result."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Protocol

from tarsy.domain.conversation import ToolCall
from tarsy.domain.tool import ToolCatalog, ToolName, ToolResult
from tarsy.kit.text import in_thread_if_long
from tarsy.tools.masking import Masker


class UnmaskedTools(Protocol):
    """Tools whose results are what their servers said, secrets and all."""

    async def list_tools(self) -> ToolCatalog: ...

    async def execute(self, call: ToolCall, on_output: Callable[[str], None]) -> ToolResult: ...


class MaskedTools:
    """The innermost wrapper: nothing of a server leaves it unmasked. `maskers` are the servers' own."""

    def __init__(self, inner: UnmaskedTools, maskers: Mapping[str, Masker]) -> None:
        self._inner = inner
        self._maskers = maskers
        # For calls that name no server of ours.
        self._strict = Masker.for_group("all")

    async def list_tools(self) -> ToolCatalog:
        return await self._inner.list_tools()

    async def execute(self, call: ToolCall, on_output: Callable[[str], None]) -> ToolResult:
        name = ToolName.parse(call.name)
        masker = self._maskers.get(name.server, self._strict) if name else self._strict
        said = masker.stream(by_words=False)

        def pass_on(masked: str) -> None:
            if masked:
                on_output(masked)

        try:
            result = await self._inner.execute(call, lambda output: pass_on(said.feed(output)))
        finally:
            pass_on(said.finish())
        shown, arguments = masker.mask(call.name), await in_thread_if_long(masker.mask, call.arguments)
        made = call if (shown, arguments) == (call.name, call.arguments) else replace(call, name=shown, arguments=arguments)
        content = await in_thread_if_long(masker.mask, result.content)
        # As a rule there was nothing to hide.
        return result if result.call is made and result.content == content else replace(result, call=made, content=content)
