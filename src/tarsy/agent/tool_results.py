"""Tool results as the model is shown them: whole, folded, summarised by a model, or cut; an empty one with a note on what it is empty of.

Folding and cutting state exactly what is left out. The whole result is stored before, and stays readable with `read_result`.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from anyio import to_thread

from tarsy.agent.answer_text import WholeText
from tarsy.agent.budget.ceilings import CeilingMetError
from tarsy.agent.context_window import BYTES_PER_TOKEN, window_of
from tarsy.agent.failures import failed_closes
from tarsy.agent.folding import Folded, fold, is_table_header
from tarsy.agent.model_call import ModelCall
from tarsy.agent.prompt.builder import SeenResult
from tarsy.agent.prompt.fence import argument_text, reading_back
from tarsy.agent.run import Run
from tarsy.config.resolve.resolved import ResolvedSummarization
from tarsy.domain.conversation import ToolCall
from tarsy.domain.interaction import LLMInteraction, LLMInteractionKind
from tarsy.domain.llm import GenerateInput
from tarsy.domain.timeline import TimelineClose, TimelineEventType
from tarsy.domain.tool import READ_RESULT_TOOL, ToolName, ToolResult
from tarsy.kit.text import CutText, cut_middle, estimate_tokens

# The most tokens of a huge result that a summarising model is given: half of a common window.
_SUMMARY_INPUT_TOKENS = 60_000
# A shorter result is read faster than a fold of it.
_SHORTEST_FOLDED = 2_000
# Folding that much takes a few milliseconds.
_FOLDED_AT_ONCE = 20_000


@dataclass(frozen=True, slots=True)
class ShownResult:
    """The text and the note that the model is shown, and the parts of the step that stores them."""

    text: str
    note: str = ""
    closed: tuple[TimelineClose, ...] = ()
    interactions: tuple[LLMInteraction, ...] = ()


class ResultPresenter:
    """Decides how much of a tool result the model of a run is shown."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._context = run.context
        self._recorder = run.recorder

    def take_room(self, result: ToolResult) -> int:
        """Return the most tokens of a result that enter the conversation: as configured, at most a quarter of the window, and as can be paid.

        They count as part of the conversation until the turn has ended, and a ceiling that leaves less is recorded as met.
        """
        share = self._run.window // 4
        limit = min(self._run.provider.max_tool_result_tokens or share, share)
        tokens = min(estimate_tokens(result.content), limit)
        room = self._context.ceilings.result_room(result.call.id, tokens, self._run.conversation_tokens)
        self._run.pending_result_tokens += tokens if room is None else room
        return limit if room is None else min(limit, room)

    async def fold(self, result: ToolResult, limit: int) -> Folded:
        """Return the result, folded if that saves a third, or if the result is over `limit` or would be summarised."""
        content = result.content
        is_too_large = self.summarization(result, content) is not None or estimate_tokens(content) > limit
        # What was folded the first time is what an agent wants to see that reads a result again.
        is_whole = len(content) < _SHORTEST_FOLDED or result.is_error or result.is_trusted or result.call.name == READ_RESULT_TOOL
        if is_whole and not is_too_large:
            return Folded(content, 0, 0)
        # Folding a megabyte takes about a second: in a thread, other agents go on meanwhile.
        folded = await to_thread.run_sync(fold, content) if len(content) > _FOLDED_AT_ONCE else fold(content)
        return folded if is_too_large or folded.pays else Folded(content, 0, 0)

    async def show(self, seen: SeenResult, folded: Folded, purpose: str, limit: int) -> ShownResult:
        """Return at most `limit` tokens for the conversation; `purpose` is why the model made the call."""
        if settings := self.summarization(seen.result, folded.text):
            return await self._summarize(seen, folded, settings, purpose, limit)
        if estimate_tokens(folded.text) > limit:
            return self._cut(seen, folded, limit)
        if folded.is_folded:
            note = (
                f"Folded: what repeats is shown once with its count, which leaves out {folded.lines} lines, {folded.characters} characters."
            )
            return ShownResult(folded.text, f"{note}{reading_back(self._run.read_tool, seen.evidence_id)}")
        return ShownResult(folded.text, "" if seen.result.is_error else empty_result_note(seen.result.call, folded.text))

    def summarization(self, result: ToolResult, text: str) -> ResolvedSummarization | None:
        """Return the server's settings if they want a result whose text is that long summarised."""
        name = ToolName.parse(result.call.name)
        server = self._context.servers.get(name.server) if name else None
        if server is None or not server.summarization.enabled or result.is_error:
            return None
        return server.summarization if estimate_tokens(text) > server.summarization.size_threshold_tokens else None

    def _rest(self, seen: SeenResult, folded: Folded, cut: CutText) -> str:
        """Return how to read what a cut leaves out; offsets in a folded text are not offsets in the result."""
        return reading_back(self._run.read_tool, seen.evidence_id, cut.head if cut.is_cut and not folded.is_folded else None)

    def _cut(self, seen: SeenResult, folded: Folded, limit_tokens: int) -> ShownResult:
        cut = cut_middle(folded.text, limit_tokens * BYTES_PER_TOKEN)
        note = f"Cut: you see {_extent(cut)} of {len(folded.text)}{_of_folded(folded)}; what lies between was shown to no one."
        return ShownResult(cut.text, f"{note}{self._rest(seen, folded, cut)}")

    async def _summarize(self, seen: SeenResult, folded: Folded, settings: ResolvedSummarization, purpose: str, limit: int) -> ShownResult:
        context, recorder = self._context, self._recorder
        provider = settings.provider or self._run.provider
        given = cut_middle(folded.text, min(_SUMMARY_INPUT_TOKENS, window_of(provider) // 2) * BYTES_PER_TOKEN)
        request = GenerateInput(
            session_id=context.place.session_id,
            execution_id=context.place.execution_id,
            messages=context.prompts.build_mcp_summarization_messages(seen, purpose, given.text, settings.summary_max_token_limit),
            provider=provider,
            backend=settings.backend or self._run.backend,
            track=f"{context.place.track}/summary/{seen.result.call.id}",
        )
        model_call = ModelCall(context, recorder, WholeText(TimelineEventType.MCP_TOOL_SUMMARY))
        try:
            call = await model_call.run(
                request, LLMInteractionKind.SUMMARIZATION, within=context.config.llm_call_timeout, own_messages=True
            )
        except CeilingMetError as error:
            context.ceilings.record(error.met)
            return self._cut(seen, folded, min(settings.size_threshold_tokens, limit))
        if call.answer.error or not call.answer.text.strip():
            cut = self._cut(seen, folded, min(settings.size_threshold_tokens, limit))
            return ShownResult(cut.text, cut.note, failed_closes(call, recorder), (call.interaction,))
        metadata = {"call_id": seen.result.call.id, "evidence_id": seen.evidence_id}
        closed = (recorder.close(call.open_event.id, metadata=metadata),) if call.open_event else ()
        summary = cut_middle(call.answer.text_without_loop, limit * BYTES_PER_TOKEN).text
        read = "read all of it" if not given.is_cut else f"read {_extent(given)}, not what lies between"
        note = f"Summary of a result of {len(seen.result.content)} characters, made by a model that {read}{_of_folded(folded)}."
        note = f"{note} Quote the result, not the summary.{self._rest(seen, folded, given)}"
        return ShownResult(summary, note, closed, (call.interaction,))


def _of_folded(folded: Folded) -> str:
    return " (repetitions folded)" if folded.is_folded else ""


def _extent(cut: CutText) -> str:
    return f"the first {cut.head} and the last {cut.tail} characters"


# An empty answer is short in any format; a longer text is not checked.
_LONGEST_EMPTY = 4_000
# Results of servers that found nothing.
_NOTHING = frozenset({"", "(no output)", "null", "none"})
_KIND = re.compile(r"([A-Z][A-Za-z]{1,40})List")
_WORD = re.compile(r"[a-z]{2,24}")
_YAML_ITEMS = re.compile(r"^items:[ \t]*\[\][ \t]*$", re.MULTILINE)
_YAML_KIND = re.compile(rf"^kind:[ \t]*{_KIND.pattern}[ \t]*$", re.MULTILINE)
_MORE_PAGES = ("continue", "nextToken", "next_token", "nextPageToken", "cursor")


def empty_result_note(call: ToolCall, text: str) -> str:
    """Return the note on an empty result, such as "Empty: 0 pods in namespace shop."; an empty string for any other result.

    Without it, a model may take the absence of output for any finding. The note stands outside the fence, so at most one plain word of the
    server's answer gets into it.
    """
    missing = _missing(text.strip()) if len(text) <= _LONGEST_EMPTY else ""
    if not missing:
        return ""
    try:
        parsed: Any = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, dict):
        return f"Empty: {missing}."
    # The arguments of the call.
    given = {name: value for name, value in cast("dict[str, Any]", parsed).items() if value not in (None, "", [], {})}
    namespace = given.pop("namespace", None)
    within = f" in namespace {argument_text(namespace)}" if namespace else ""
    others = ", ".join(f"{name}={argument_text(value)}" for name, value in given.items())
    return f"Empty: {missing}{within} ({argument_text(others)})." if others else f"Empty: {missing}{within}."


def _missing(text: str) -> str:
    if text.lower() in _NOTHING:
        return "no output"
    if text[:1] in {"{", "["}:
        try:
            parsed: Any = json.loads(text)
        except (ValueError, RecursionError):
            return ""
        return _missing_in_json(parsed)
    if _YAML_ITEMS.search(text):
        kind = _YAML_KIND.search(text)
        return f"0 {_plural(kind[1]) if kind else 'items'}"
    return "0 rows" if is_table_header(text) else ""


def _missing_in_json(parsed: Any) -> str:
    match parsed:
        case []:
            return "0 entries"
        case {"data": {"resultType": str(kind), "result": []}}:
            return "0 streams" if kind == "streams" else "0 series"
        case {"items": [], **rest}:
            kind = _KIND.fullmatch(str(rest.get("kind", "")))
            metadata = rest.get("metadata")
            paged = isinstance(metadata, dict) and any(cast("dict[str, Any]", metadata).get(name) for name in _MORE_PAGES)
            return f"0 {_plural(kind[1]) if kind else 'items'}" + (" on this page" if paged else "")
        case {}:
            return _missing_in_object(cast("dict[str, Any]", parsed))
        case _:
            return ""


def _missing_in_object(fields: Mapping[str, Any]) -> str:
    """Describe an object that is empty, or has one empty list and no other collection."""
    if not fields:
        return "no fields"
    held = [name for name, value in fields.items() if isinstance(value, (list, dict))]
    is_paged = any(fields.get(name) for name in _MORE_PAGES)
    if len(held) != 1 or fields[held[0]] != [] or is_paged:
        return ""
    return f"0 {held[0]}" if _WORD.fullmatch(held[0]) else "0 entries"


def _plural(kind: str) -> str:
    """`Pod` → `pods`, `Ingress` → `ingresses`, `NetworkPolicy` → `networkpolicies`: as the Kubernetes API names its resources."""
    name = kind.lower()
    if name.endswith(("s", "x", "ch")):
        return f"{name}es"
    return f"{name[:-1]}ies" if name.endswith("y") and name[-2] not in "aeiou" else f"{name}s"
