"""Large tool results, made to fit: repetitions are folded in code, a model shortens what is still too large, and what no model could shorten is cut.

Folding and cutting say exactly what is not shown. The whole result is stored before, and stays within reach of `read_result`.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from tarsy.agent.answer_text import WholeText
from tarsy.agent.budget.ceilings import CeilingMetError
from tarsy.agent.context_window import BYTES_PER_TOKEN, window_of
from tarsy.agent.failures import failed_closes
from tarsy.agent.folding import fold, is_table_header
from tarsy.agent.model_call import CompletedCall, ModelCall
from tarsy.agent.prompt.builder import SeenResult
from tarsy.agent.prompt.fence import argument_text, reading_back
from tarsy.agent.run import Run
from tarsy.config.resolve.resolved import ResolvedSummarization
from tarsy.domain.conversation import ToolCall
from tarsy.domain.interaction import LLMInteraction, LLMInteractionKind
from tarsy.domain.llm import GenerateInput
from tarsy.domain.timeline import TimelineClose, TimelineEventType
from tarsy.domain.tool import ToolName, ToolResult
from tarsy.kit.text import CutText, cut_middle, estimate_tokens, in_thread_if_long

# What a summarising model is given of a huge result at most: half of a common window, and of its own.
_SUMMARY_INPUT_TOKENS = 60_000


@dataclass(frozen=True, slots=True)
class Sized:
    """A result as large as code alone can leave it, and what is still to be done."""

    text: str
    # Lines of the result that its folded form does not show.
    folded_lines: int = 0
    is_folded: bool = False
    # The server's wish to have a model shorten it.
    settings: ResolvedSummarization | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """What the model is shown of a result, what it is told about that, and what else belongs into the step that stores it."""

    text: str
    note: str = ""
    closed: tuple[TimelineClose, ...] = ()
    interactions: tuple[LLMInteraction, ...] = ()


class Summarizer:
    """Decides what of a result the model that the run speaks to is shown."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._context = run.context
        self._recorder = run.recorder

    async def sized(self, result: ToolResult) -> Sized:
        """The result itself or, if it is too large, with its repetitions folded."""
        settings = self._settings(result, result.content)
        if settings is None and estimate_tokens(result.content) <= self._limit():
            return Sized(result.content)
        folded = await in_thread_if_long(fold, result.content)
        return Sized(folded.text, folded.lines, folded.is_folded, self._settings(result, folded.text))

    async def shown(self, seen: SeenResult, sized: Sized, purpose: str) -> Shown:
        """What the model can carry of a result; `purpose` is what it was after when it made the call."""
        if sized.settings:
            return await self._summarize(seen, sized, sized.settings, purpose)
        if estimate_tokens(sized.text) > self._limit():
            return self._cut(seen, sized, self._limit())
        if sized.is_folded:
            return Shown(sized.text, f"{_folded(sized)}{self._whole(seen)}")
        return Shown(sized.text, "" if seen.result.is_error else emptiness(seen.result.call, sized.text))

    def _settings(self, result: ToolResult, text: str) -> ResolvedSummarization | None:
        """The server's wish to have a result of this size summarised."""
        name = ToolName.parse(result.call.name)
        server = self._context.servers.get(name.server) if name else None
        if server is None or not server.summarization.enabled or result.is_error:
            return None
        return server.summarization if estimate_tokens(text) > server.summarization.size_threshold_tokens else None

    def _limit(self) -> int:
        """The most tokens one result may bring into the conversation: as configured, and never more than a quarter of the window."""
        share = self._run.window // 4
        return min(self._run.provider.max_tool_result_tokens or share, share)

    def _whole(self, seen: SeenResult) -> str:
        return reading_back(self._run.read_back, seen.evidence_id)

    def _rest(self, seen: SeenResult, sized: Sized, cut: CutText) -> str:
        """How to read what a cut leaves out; places in a folded text are not places in the result."""
        return reading_back(self._run.read_back, seen.evidence_id, cut.head if cut.left_out and not sized.is_folded else None)

    def _cut(self, seen: SeenResult, sized: Sized, limit_tokens: int) -> Shown:
        cut = cut_middle(sized.text, limit_tokens * BYTES_PER_TOKEN)
        note = f"Cut: you see {_extent(cut)} of {len(sized.text)}{_of_folded(sized)}; what lies between was shown to no one."
        return Shown(cut.text, f"{note}{self._rest(seen, sized, cut)}")

    async def _summarize(self, seen: SeenResult, sized: Sized, settings: ResolvedSummarization, purpose: str) -> Shown:
        provider = settings.provider or self._run.provider
        given = cut_middle(sized.text, min(_SUMMARY_INPUT_TOKENS, window_of(provider) // 2) * BYTES_PER_TOKEN)
        request = GenerateInput(
            session_id=self._context.session_id,
            execution_id=self._context.execution_id,
            messages=self._context.prompts.build_mcp_summarization_messages(seen, purpose, given.text, settings.summary_max_token_limit),
            provider=provider,
            backend=settings.backend or self._run.backend,
            track=f"{self._context.track}/summary/{seen.result.call.id}",
        )
        router, kind = WholeText(TimelineEventType.MCP_TOOL_SUMMARY), LLMInteractionKind.SUMMARIZATION

        async def make(admitted: GenerateInput, within: float) -> CompletedCall:
            return await ModelCall(self._context, self._recorder, router).run(admitted, kind, within=within, own_messages=True)

        try:
            call = await self._context.ceilings.metered(request, kind, self._context.config.llm_call_timeout, make)
        except CeilingMetError as error:
            self._context.ceilings.note(error.met)
            return self._cut(seen, sized, min(settings.size_threshold_tokens, self._limit()))
        if call.answer.error or not call.answer.text.strip():
            cut = self._cut(seen, sized, min(settings.size_threshold_tokens, self._limit()))
            return Shown(cut.text, cut.note, failed_closes(call, self._recorder), (call.interaction,))
        metadata = {"call_id": seen.result.call.id, "evidence_id": seen.evidence_id}
        closed = (self._recorder.close(call.open_event.id, metadata=metadata),) if call.open_event else ()
        summary = cut_middle(call.answer.told, self._limit() * BYTES_PER_TOKEN).text
        return Shown(summary, self._summary_note(seen, sized, given), closed, (call.interaction,))

    def _summary_note(self, seen: SeenResult, sized: Sized, given: CutText) -> str:
        read = "read all of it" if not given.left_out else f"read {_extent(given)}, not what lies between"
        note = f"Summary of a result of {len(seen.result.content)} characters, made by a model that {read}{_of_folded(sized)}."
        return f"{note} Quote the result, not the summary.{self._rest(seen, sized, given)}"


def _folded(sized: Sized) -> str:
    return f"Folded: what repeats is shown once with its count, which leaves out {sized.folded_lines} lines of this result."


def _of_folded(sized: Sized) -> str:
    return " (repetitions folded)" if sized.is_folded else ""


def _extent(cut: CutText) -> str:
    return f"the first {cut.head} and the last {cut.tail} characters"


# An empty answer is short, whatever it is written in; what is longer is not looked into.
_LONGEST = 4_000
# What servers answer that have nothing to say.
_NOTHING = frozenset({"", "(no output)", "null", "none"})
_KIND = re.compile(r"([A-Z][A-Za-z]{1,40})List")
_WORD = re.compile(r"[a-z]{2,24}")
_YAML_ITEMS = re.compile(r"^items:[ \t]*\[\][ \t]*$", re.MULTILINE)
_YAML_KIND = re.compile(rf"^kind:[ \t]*{_KIND.pattern}[ \t]*$", re.MULTILINE)
_MORE_PAGES = ("continue", "nextToken", "next_token", "nextPageToken", "cursor")


def emptiness(call: ToolCall, text: str) -> str:
    """The note on an empty answer; nothing for one that holds something."""
    if len(text) > _LONGEST:
        return ""
    lacking = _lacking(text.strip())
    return f"Empty: {lacking}{_where(call.arguments)}." if lacking else ""


def _lacking(text: str) -> str:
    if text.lower() in _NOTHING:
        return "no output"
    if text[:1] in {"{", "["}:
        return _of_json(text)
    if _YAML_ITEMS.search(text):
        kind = _YAML_KIND.search(text)
        return f"0 {_plural(kind[1]) if kind else 'items'}"
    return "0 rows" if is_table_header(text) else ""


def _of_json(text: str) -> str:
    try:
        parsed: Any = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    match parsed:
        case []:
            return "0 entries"
        case {}:
            return _of_object(cast("dict[str, Any]", parsed))
        case _:
            return ""


def _of_object(parsed: Mapping[str, Any]) -> str:
    match parsed:
        case {"data": {"resultType": str(kind), "result": []}}:
            return "0 streams" if kind == "streams" else "0 series"
        case {"items": [], **rest}:
            kind = _KIND.fullmatch(str(rest.get("kind", "")))
            metadata = rest.get("metadata")
            paged = isinstance(metadata, dict) and any(cast("dict[str, Any]", metadata).get(name) for name in _MORE_PAGES)
            return f"0 {_plural(kind[1]) if kind else 'items'}" + (" on this page" if paged else "")
        case _:
            return _of_only_list(parsed)


def _of_only_list(parsed: Mapping[str, Any]) -> str:
    """An object that holds nothing, or one empty list and no other collection."""
    if not parsed:
        return "no fields"
    held = [name for name, value in parsed.items() if isinstance(value, list | dict)]
    is_paged = any(parsed.get(name) for name in _MORE_PAGES)
    if len(held) != 1 or parsed[held[0]] != [] or is_paged:
        return ""
    return f"0 {held[0]}" if _WORD.fullmatch(held[0]) else "0 entries"


def _plural(kind: str) -> str:
    """`Pod` → `pods`, `Ingress` → `ingresses`, `NetworkPolicy` → `networkpolicies`: as the API names its resources."""
    name = kind.lower()
    if name.endswith(("s", "x", "ch")):
        return f"{name}es"
    return f"{name[:-1]}ies" if name.endswith("y") and name[-2] not in "aeiou" else f"{name}s"


def _where(arguments: str) -> str:
    """What was asked for, in the words of the call."""
    try:
        parsed: Any = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return ""
    if not isinstance(parsed, dict):
        return ""
    given = {name: value for name, value in cast("dict[str, Any]", parsed).items() if value not in (None, "", [], {})}
    namespace = given.pop("namespace", None)
    told = f" in namespace {argument_text(namespace)}" if namespace else ""
    others = ", ".join(f"{name}={argument_text(value)}" for name, value in given.items())
    return f"{told} ({argument_text(others)})" if others else told
