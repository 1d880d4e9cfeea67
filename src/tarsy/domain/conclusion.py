"""Conclusions: the analysis a session ends with, and its shortcomings, such as having no content or no evidence."""

import re
from collections.abc import Sequence
from enum import StrEnum

from tarsy.domain.citation import CitationCounts
from tarsy.domain.history import ExecutionRecord, StageRecord
from tarsy.domain.stage import StageType
from tarsy.domain.status import RunStatus, TimelineStatus
from tarsy.domain.timeline import TimelineEventType
from tarsy.domain.tool import BUILT_IN_SERVER
from tarsy.domain.verdict import Challenge, Ruling, ceiling_sentence, parse_challenge


def concluding_executions(records: Sequence[StageRecord]) -> tuple[ExecutionRecord, ...]:
    """Return the executions whose conclusions are the analysis of a session, with its verdict and its citations, however it ends.

    They are of the newest stage in which an agent has concluded: the agents that completed; if none did, those that were stopped with
    a conclusion, as an agent is that was correcting its answer.
    """
    for record in reversed(records):
        concluded = tuple(one for one in record.executions if one.conclusion)
        if record.stage.stage_type.concludes and concluded:
            return tuple(one for one in concluded if one.execution.status is RunStatus.COMPLETED) or concluded
    return ()


def best_analysis(records: Sequence[StageRecord]) -> str | None:
    """Return the analysis of a session; the conclusions of several agents are joined. None if no agent has concluded."""
    concluding = concluding_executions(records)
    if len(concluding) == 1:
        return concluding[0].conclusion
    return "\n\n".join(f"## {one.execution.agent_name}\n\n{one.conclusion}" for one in concluding) or None


def citation_counts(records: Sequence[StageRecord]) -> CitationCounts | None:
    """Return the citation counts of the analysis of a session; None if its citations were not checked."""
    counts = [one.citations for one in concluding_executions(records) if one.citations]
    return sum(counts, CitationCounts()) if counts else None


def challenge_of(record: ExecutionRecord) -> Challenge | None:
    """Return the challenge that an execution concluded with; None if it states no result.

    A refutation counts only with a verified quotation: without evidence it is a hypothesis, and only weakens the verdict.
    """
    challenge = parse_challenge(record.conclusion)
    if challenge is None or challenge.ruling is not Ruling.REFUTED:
        return challenge
    verified = record.citations.verified if record.citations else 0
    return challenge if verified else Challenge(Ruling.WEAKENED, challenge.objection)


# Metadata keys of a final analysis in the timeline. A forced conclusion has its own, which is older.
SHORTCOMING = "shortcoming"
FORCED_CONCLUSION = "forced_conclusion"
# Why code wrote the text, not the model.
WRITTEN_BY_CODE = "written_by_code"


class Shortcoming(StrEnum):
    """Why an analysis counts as partial although its agent completed."""

    EMPTY = "says_nothing"
    REPEATS_PROMPT = "repeats_prompt"
    CUT = "cut"
    FORCED = "forced"


_REASONS = {
    Shortcoming.EMPTY: "The model's conclusion says nothing.",
    Shortcoming.REPEATS_PROMPT: "The model repeated its instructions or the alert instead of analysing it.",
    Shortcoming.CUT: "The analysis breaks off: the model reached the limit of what it may say at once.",
    Shortcoming.FORCED: "The agent had to conclude before it had found an answer of its own.",
}
_NO_EVIDENCE = "It rests on no tool result: no tool was called in the whole session, or none succeeded."

_SENTENCE_END = re.compile(r"[.!?:;\n]+")
_WORD = re.compile(r"\w+")
_NOT_APPLICABLE = re.compile(r"\bn/a\b", re.IGNORECASE)
# Words of a form in which nothing was filled in.
_FORM = frozenset({"final", "answer", "analysis", "thought", "summary", "none", "null", "tbd", "todo", "unknown"})
# An answer of which this share is found in the prompt, sentence by sentence, has no content of its own.
_REPEATED_SHARE = 0.9
# Any two words may occur in a prompt.
_SHORTEST_REPETITION = 3

_EVIDENCE = frozenset(
    {
        TimelineEventType.TOOL_RESULT,
        TimelineEventType.CODE_EXECUTION,
        TimelineEventType.GOOGLE_SEARCH_RESULT,
        TimelineEventType.URL_CONTEXT_RESULT,
    }
)


def shortcoming_of(text: str, prompt: str, *, cut: bool) -> Shortcoming | None:
    """Return what a conclusion lacks, judged by its own words and those of the prompt."""
    if all(word[0] in _FORM for word in _WORD.finditer(_NOT_APPLICABLE.sub("", text).lower())):
        return Shortcoming.EMPTY
    known = f" {_normal(prompt)} "
    words = repeated = 0
    for sentence in {_normal(part) for part in _SENTENCE_END.split(text)} - {""}:
        length = sentence.count(" ") + 1
        words += length
        repeated += length if f" {sentence} " in known else 0
    if words >= _SHORTEST_REPETITION and repeated >= words * _REPEATED_SHARE:
        return Shortcoming.REPEATS_PROMPT
    return Shortcoming.CUT if cut else None


def _normal(text: str) -> str:
    return " ".join(_WORD.findall(text.lower()))


def lack_content(stages: Sequence[StageRecord]) -> bool:
    """Return whether the newest conclusions contain nothing that could be summarised."""
    found = _shortcomings(stages)
    return bool(found) and set(found) <= {Shortcoming.EMPTY, Shortcoming.REPEATS_PROMPT}


def partial_reason(stages: Sequence[StageRecord], *, with_tools: bool) -> str | None:
    """Return why the analysis of a session is partial although all its stages completed; None: it is not.

    `with_tools`: the agents have tool servers.
    """
    found = _shortcomings(stages)
    if found and all(found):
        executions = (execution for record in reversed(stages) for execution in record.executions)
        ceiling = next((execution.ceiling for execution in executions if execution.ceiling), None)
        if ceiling:
            return ceiling_sentence(ceiling)
        return _REASONS[found[0]] if found[0] else None
    if not found or not with_tools:
        return None
    events = (event for record in stages for top in record.executions for one in top.tree for event in one.events)
    has_evidence = any(
        event.event_type in _EVIDENCE
        and event.status is TimelineStatus.COMPLETED
        # The built-in tools only return what the agents know anyway, such as the alert.
        and event.metadata.get("server_name") != BUILT_IN_SERVER
        for event in events
    )
    return None if has_evidence else _NO_EVIDENCE


def _shortcomings(stages: Sequence[StageRecord]) -> list[Shortcoming | None]:
    """Return the shortcoming of each conclusion of the newest stage; for a synthesis without any, those of the stage it synthesised."""
    concluded: dict[str, list[Shortcoming | None]] = {}
    newest: StageRecord | None = None
    for record in stages:
        analyses = [one for one in record.executions if one.execution.status is RunStatus.COMPLETED and one.analysis]
        if record.stage.stage_type.concludes and analyses:
            newest = record
            concluded[record.stage.id] = [_shortcoming(one) for one in analyses]
    if newest is None:
        return []
    own = concluded[newest.stage.id]
    if newest.stage.stage_type is StageType.SYNTHESIS and not all(own):
        return concluded.get(newest.stage.referenced_stage_id or "", own)
    return own


def _shortcoming(record: ExecutionRecord) -> Shortcoming | None:
    metadata = next(event.metadata for event in reversed(record.events) if event.event_type is TimelineEventType.FINAL_ANALYSIS)
    if shortcoming := metadata.get(SHORTCOMING):
        return Shortcoming(shortcoming)
    return Shortcoming.FORCED if metadata.get(FORCED_CONCLUSION) else None
