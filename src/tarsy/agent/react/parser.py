"""The ReAct parser: a model's text becomes a tool call, a final answer, or feedback.

Tried in this order: headers at the beginnings of lines; headers in the middle of lines; related headers (`Tool:`, `Arguments:`); arguments
beside the tool's name; calls in other formats and in prose. If none applies, the feedback names what is wrong.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tarsy.agent.react.call import (
    DOTTED_NAME,
    NO_ARGUMENTS,
    ReActFinalAnswer,
    WrittenCall,
    clean_input,
    is_answer_as_action,
    is_nothing,
    json_call,
    json_end,
    read_action,
    tool_names,
    unfenced,
)
from tarsy.agent.react.feedback import ReActProblem, format_feedback
from tarsy.agent.react.sections import (
    LENIENT_LINE_HEADER,
    LINE_HEADER,
    ReActSection,
    SectionKind,
    all_headers,
    cut,
    line_headers,
    split_reasoning,
)


@dataclass(frozen=True, slots=True)
class ReActAction:
    """A tool call as the model wrote it; `tool` need not exist, `tool_input` is raw text, `{}` when it was left empty."""

    thought: str
    tool: str
    tool_input: str


@dataclass(frozen=True, slots=True)
class ReActMalformed:
    """A turn that is neither a call nor an answer; `feedback` is the message to the model."""

    thought: str
    problem: ReActProblem
    feedback: str


# A turn holds one call; text in which none is found within this many attempts is prose, and the time stays linear.
_ATTEMPTS = 16
_JSON_START = re.compile(r"(?:\A|<tool_call>|\[TOOL_CALLS\]|^```\w{0,12}[ \t]{0,4}$)\s{0,8}(?=[{\[])", re.MULTILINE)
_CALL_SYNTAX = re.compile(r"^[ \t]{0,8}`{0,3}(?P<tool>[A-Za-z][\w-]{0,100}\.[A-Za-z_][\w.-]{0,100})\(", re.MULTILINE)
_BETWEEN_NAME_AND_JSON = re.compile(r"[`\"'*)>]{0,4}[^{}\n]{0,60}\n?[^{}\n]{0,20}(?=\{)")


@dataclass(frozen=True, slots=True)
class _Turn:
    """The first call, or the answer, in a list of sections."""

    thought: str
    action: str | None = None
    tool_input: str | None = None
    answer: str | None = None
    observed: bool = False


def parse(text: str) -> ReActFinalAnswer | ReActAction | ReActMalformed:
    """Parse one turn of a model. Never raises; a tool's name is always a piece of `text`."""
    reasoning, body = split_reasoning(text.replace("\r\n", "\n"))
    strict = _read(cut(body, line_headers(body)), reasoning)
    if found := _call(strict):
        return found
    loose = _read(cut(body, all_headers(body)), reasoning)
    # An answer after a call in the same turn was written before the call's result: the call counts.
    if found := _call(loose) or _answer(strict) or _answer(loose):
        return found
    lenient = _read(cut(body, line_headers(body, LENIENT_LINE_HEADER)), reasoning)
    if found := _call(lenient) or _call_with_input_beside_name(strict):
        return found
    if found := _recovered(body, strict):
        if reasoning and not found.thought.startswith(reasoning):
            return replace(found, thought=f"{reasoning}\n\n{found.thought}".strip())
        return found
    problem = _problem(text, strict)
    return ReActMalformed(strict.thought, problem, format_feedback(problem))


def forced_answer(text: str) -> ReActFinalAnswer:
    """Parse a turn that has to be an answer: without the header, its text is the answer."""
    match parse(text):
        case ReActFinalAnswer() as answer:
            return answer
        case ReActAction(thought, _, _) | ReActMalformed(thought, _, _):
            return ReActFinalAnswer("", thought or text.strip())


def _read(sections: Sequence[ReActSection], reasoning: str) -> _Turn:
    """Walk the sections to the end of the first call, or to the answer."""
    thoughts = [reasoning] if reasoning else []
    action: str | None = None
    tool_input: str | None = None
    answer: str | None = None
    observed = False
    for section in sections:
        # The model invented the text after a complete call: the result is not known yet.
        if action is not None and tool_input is not None and section.kind is not SectionKind.INPUT:
            break
        match section.kind:
            case SectionKind.PREAMBLE | SectionKind.THOUGHT:
                thoughts.append(section.text.strip("`").strip())
            case SectionKind.ACTION:
                action = None if is_nothing(section.text) else section.text
            case SectionKind.INPUT:
                tool_input = tool_input or section.text
            case SectionKind.OBSERVATION:
                observed = True
                if action is not None:
                    break
            case SectionKind.ANSWER:
                answer = section.text
    thought = "\n\n".join(part for part in thoughts if part)
    return _Turn(thought, action, tool_input, answer, observed)


def _call(turn: _Turn) -> ReActAction | ReActFinalAnswer | None:
    if turn.action is None or turn.tool_input is None:
        return None
    if is_answer_as_action(turn.action):
        return _answer(replace(turn, answer=turn.tool_input))
    written = read_action(turn.action)
    if written is None:
        return None
    tool_input = turn.tool_input or written.arguments or NO_ARGUMENTS
    return ReActAction(turn.thought, written.tool, clean_input(tool_input))


def _answer(turn: _Turn) -> ReActFinalAnswer | None:
    answer = (turn.answer or "").strip()
    first_line, _, rest = answer.partition("\n")
    # A code fence that was opened before the answer, or put around all of it, is removed.
    if first_line in {"```", "```markdown", "```md", "```text"} and rest.endswith("```") and rest.count("```") % 2 == 1:
        answer = rest.removesuffix("```").strip()
    elif answer.endswith("```") and answer.count("```") % 2 == 1:
        answer = answer.removesuffix("```").rstrip()
    return ReActFinalAnswer(turn.thought, answer) if answer else None


def _call_with_input_beside_name(turn: _Turn) -> ReActAction | ReActFinalAnswer | None:
    if turn.action is None or turn.tool_input is not None:
        return None
    blob = unfenced(turn.action)
    match json_call(blob, within=turn.action) if blob.startswith("{") else read_action(turn.action):
        case WrittenCall(tool, str() as arguments):
            return ReActAction(turn.thought, tool, arguments or NO_ARGUMENTS)
        case WrittenCall() | None:
            return None
        case written:
            return ReActFinalAnswer(turn.thought or written.thought, written.answer)


def _recovered(body: str, turn: _Turn) -> ReActAction | ReActFinalAnswer | None:
    """Try what models write instead of the sections: other formats' calls, and calls in prose."""
    if turn.tool_input is not None:
        # Arguments without a name, after a thought that names exactly one tool.
        names = tool_names(turn.thought)
        return ReActAction(turn.thought, names[0], clean_input(turn.tool_input)) if len(names) == 1 else None
    return _from_json(body) or _from_call_syntax(body) or _from_prose(body)


def _problem(text: str, turn: _Turn) -> ReActProblem:
    if not text.strip():
        return ReActProblem.EMPTY
    if turn.action is not None:
        is_name = read_action(turn.action) is not None
        return ReActProblem.MISSING_INPUT if is_name else ReActProblem.NOT_A_TOOL_NAME
    if turn.answer is not None:
        return ReActProblem.EMPTY_ANSWER
    if turn.tool_input is not None:
        return ReActProblem.MISSING_ACTION
    if turn.observed:
        return ReActProblem.ONLY_OBSERVATION
    return ReActProblem.ONLY_THOUGHT if line_headers(text) else ReActProblem.NO_SECTIONS


def _from_json(text: str) -> ReActAction | ReActFinalAnswer | None:
    """A call as JSON: alone, in a code fence, or in the tags of a function-calling model."""
    for attempt, start in enumerate(_JSON_START.finditer(text)):
        if attempt == _ATTEMPTS:
            return None
        before = _thought_before(text, start.start())
        match json_call(text[start.end() :], within=text):
            case WrittenCall(tool, arguments):
                return ReActAction(before, tool, arguments or NO_ARGUMENTS)
            case ReActFinalAnswer(own_thought, answer):
                return ReActFinalAnswer(own_thought or before, answer)
            case None:
                continue
    return None


def _from_call_syntax(text: str) -> ReActAction | None:
    """`server.tool(…)` on a line of its own."""
    found = _CALL_SYNTAX.search(text)
    if found is None:
        return None
    line, _, _ = text[found.end() :].partition("\n")
    rest = text[found.end() :] if line.startswith("{") else line
    end = json_end(rest) if rest.startswith("{") else rest.rfind(")")
    if end is None or end < 0:
        return None
    return ReActAction(_thought_before(text, found.start()), found["tool"], clean_input(rest[:end]))


def _from_prose(text: str) -> ReActAction | None:
    """`I will call server.tool with {"a": 1}`."""
    for attempt, name in enumerate(DOTTED_NAME.finditer(text)):
        if attempt == _ATTEMPTS:
            return None
        between = _BETWEEN_NAME_AND_JSON.match(text, name.end())
        if between is None or not tool_names(name[0]):
            continue
        arguments = text[between.end() :]
        if (end := json_end(arguments)) is not None:
            return ReActAction(_thought_before(text, name.start()), name[0], arguments[:end])
    return None


def _thought_before(text: str, position: int) -> str:
    """Return the complete lines before a call, without headers."""
    return LINE_HEADER.sub("", text[: text.rfind("\n", 0, position) + 1]).strip()
