"""Conclusions: the analysis a session ends with, and the shortcomings of one that says nothing or has no evidence."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from tarsy.domain.history import ExecutionRecord, StageRecord
from tarsy.domain.stage import StageType
from tarsy.domain.status import RunStatus, TimelineStatus
from tarsy.domain.timeline import TimelineEvent, TimelineEventType
from tarsy.domain.tool import BUILT_IN_SERVER
from tarsy.domain.verdict import Challenge, Ruling, parse_challenge


@dataclass(frozen=True, slots=True)
class StageConclusions:
    """The agents of a stage that completed, in their order, and what each of them concluded."""

    stage_type: StageType
    analyses: tuple[tuple[str, str], ...]


def conclusions_of(record: StageRecord) -> StageConclusions:
    """The conclusions of a stage as it is stored, ended or not."""
    # One that was stopped while its answer was being corrected has an analysis without having completed.
    analyses = tuple((one.execution.agent_name, one.conclusion) for one in record.executions if one.conclusion)
    return StageConclusions(record.stage.stage_type, analyses)


def concluding_executions(records: Sequence[StageRecord]) -> tuple[ExecutionRecord, ...]:
    """The executions whose conclusions make the best analysis."""
    for record in reversed(records):
        found = tuple(one for one in record.executions if one.conclusion)
        if record.stage.stage_type.concludes and found:
            return found
    return ()


def best_analysis(stages: Sequence[StageConclusions]) -> str | None:
    """The conclusions of the newest stage that has any, also when it has not ended; of several agents, all."""
    for stage in reversed(stages):
        if stage.stage_type.concludes and stage.analyses:
            if len(stage.analyses) == 1:
                return stage.analyses[0][1]
            return "\n\n".join(f"## {agent}\n\n{analysis}" for agent, analysis in stage.analyses)
    return None


def challenge_of(record: ExecutionRecord) -> Challenge | None:
    """What a challenge came to; None where it says no result.

    A refutation counts only with a quotation that was found in the result it names: a claim without evidence is a hypothesis.
    """
    said = parse_challenge(record.conclusion)
    if said is None or said.ruling is not Ruling.REFUTED:
        return said
    verified = record.citations.verified if record.citations else 0
    return said if verified else Challenge(Ruling.WEAKENED, said.objection)


# Under this name the timeline entry of a conclusion says what it lacks; `FORCED` has had a name of its own for longer.
SHORTCOMING = "shortcoming"
FORCED_CONCLUSION = "forced_conclusion"


class Shortcoming(StrEnum):
    """What a conclusion lacks to be worth the word completed."""

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
# What is left of a form when nothing was filled in.
_FORM = frozenset({"final", "answer", "analysis", "thought", "summary", "none", "null", "tbd", "todo", "unknown"})
# An answer of which so much stands in the prompt, sentence by sentence, says nothing of its own.
_REPEATED_SHARE = 0.9
# Two words stand in any prompt.
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
    """What a conclusion lacks, judged by its own words and those of the prompt."""
    if all(word[0] in _FORM for word in _WORD.finditer(_NOT_APPLICABLE.sub("", text).lower())):
        return Shortcoming.EMPTY
    if _repeats(text, prompt):
        return Shortcoming.REPEATS_PROMPT
    return Shortcoming.CUT if cut else None


def _repeats(text: str, prompt: str) -> bool:
    known = f" {_normal(prompt)} "
    # More than this many words of its own, and it does not repeat, whatever else it says: most answers show that in their first sentences.
    enough = len(_WORD.findall(text.lower())) * (1 - _REPEATED_SHARE) + 1
    words = repeated = 0
    seen = {""}
    for sentence in map(_normal, _SENTENCE_END.split(text)):
        if sentence in seen:
            continue
        seen.add(sentence)
        words += _length(sentence)
        repeated += _length(sentence) if f" {sentence} " in known else 0
        if words - repeated > enough:
            return False
    return words >= _SHORTEST_REPETITION and repeated >= words * _REPEATED_SHARE


def _normal(text: str) -> str:
    return " ".join(_WORD.findall(text.lower()))


def _length(sentence: str) -> int:
    return sentence.count(" ") + 1


def lack_content(stages: Sequence[StageRecord]) -> bool:
    """Whether there is nothing in the newest conclusions that a summary could be made of."""
    found = _shortcomings(stages)
    return bool(found) and set(found) <= {Shortcoming.EMPTY, Shortcoming.REPEATS_PROMPT}


def partial_reason(stages: Sequence[StageRecord], *, with_tools: bool) -> str | None:
    """Why the analysis of a session whose stages all ended well is partial all the same; None: it is not.

    `with_tools`: its agents were given tool servers.
    """
    found = _shortcomings(stages)
    if found and all(found) and (ceiling := _ceiling(stages)):
        return ceiling_sentence(ceiling)
    if found and all(found):
        return _REASONS[found[0]] if found[0] else None
    return _NO_EVIDENCE if with_tools and found and not _has_evidence(stages) else None


def ceiling_sentence(ceiling: str) -> str:
    return f"It was ended by {ceiling}."


def _ceiling(stages: Sequence[StageRecord]) -> str | None:
    """The ceiling that forced the newest conclusion that was forced by one."""
    executions = (execution for record in reversed(stages) for execution in record.executions)
    return next((execution.ceiling for execution in executions if execution.ceiling), None)


def _shortcomings(stages: Sequence[StageRecord]) -> list[Shortcoming | None]:
    """Of each conclusion that the session's analysis consists of; of a flawless synthesis, those of what it synthesised."""
    concluded = [record for record in stages if record.stage.stage_type.concludes and _conclusions(record)]
    if not concluded:
        return []
    newest = concluded[-1]
    own = [_lack(execution) for execution in _conclusions(newest)]
    if newest.stage.stage_type is StageType.SYNTHESIS and not all(own):
        beneath = next((record for record in concluded if record.stage.id == newest.stage.referenced_stage_id), None)
        return [_lack(execution) for execution in _conclusions(beneath)] if beneath else own
    return own


def _conclusions(record: StageRecord) -> list[ExecutionRecord]:
    return [one for one in record.executions if one.execution.status is RunStatus.COMPLETED and one.analysis]


def _lack(record: ExecutionRecord) -> Shortcoming | None:
    metadata = next(event.metadata for event in reversed(record.events) if event.event_type is TimelineEventType.FINAL_ANALYSIS)
    if said := metadata.get(SHORTCOMING):
        return Shortcoming(said)
    return Shortcoming.FORCED if metadata.get(FORCED_CONCLUSION) else None


def _has_evidence(stages: Sequence[StageRecord]) -> bool:
    return any(_is_evidence(event) for record in stages for top in record.executions for one in top.tree for event in one.events)


def _is_evidence(event: TimelineEvent) -> bool:
    # Reading the alert again with a tool of ours tells nothing new.
    own = event.metadata.get("server_name") == BUILT_IN_SERVER
    return event.event_type in _EVIDENCE and event.status is TimelineStatus.COMPLETED and not own
