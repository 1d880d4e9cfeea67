"""What can still be read when the sections are not there: other formats' calls, and calls described in prose. Pure module."""

import re

from tarsy.agent.react.call import (
    DOTTED_NAME,
    NO_ARGUMENTS,
    WrittenAnswer,
    WrittenCall,
    clean_input,
    json_call,
    json_end,
    tool_names,
)
from tarsy.agent.react.parsed import ReActAction, ReActFinalAnswer
from tarsy.agent.react.sections import LINE_HEADER

# A turn holds one call; what does not show within this many attempts is prose, and the time stays linear.
_ATTEMPTS = 16

_JSON_START = re.compile(r"(?:\A|<tool_call>|\[TOOL_CALLS\]|^```\w{0,12}[ \t]{0,4}$)\s{0,8}(?=[{\[])", re.MULTILINE)
_CALL_SYNTAX = re.compile(r"^[ \t]{0,8}`{0,3}(?P<tool>[A-Za-z][\w-]{0,100}\.[A-Za-z_][\w.-]{0,100})\(", re.MULTILINE)
_BETWEEN_NAME_AND_JSON = re.compile(r"[`\"'*)>]{0,4}[^{}\n]{0,60}\n?[^{}\n]{0,20}(?=\{)")


def recover(text: str, thought: str, orphan_input: str | None) -> ReActAction | ReActFinalAnswer | None:
    """Try one after the other what models do instead of following the format."""
    if orphan_input is not None:
        return _from_orphan_input(thought, orphan_input)
    return _from_json(text) or _from_call_syntax(text) or _from_prose(text)


def _from_json(text: str) -> ReActAction | ReActFinalAnswer | None:
    """A call as JSON: alone, in a code fence, or in the tags of a function-calling model."""
    for attempt, start in enumerate(_JSON_START.finditer(text)):
        if attempt == _ATTEMPTS:
            return None
        before = _thought_before(text, start.start())
        match json_call(text[start.end() :], within=text):
            case WrittenCall(tool, arguments):
                return ReActAction(before, tool, arguments or NO_ARGUMENTS)
            case WrittenAnswer(own_thought, answer):
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


def _from_orphan_input(thought: str, orphan_input: str) -> ReActAction | None:
    """Arguments without a name, when the thought before them speaks of exactly one tool."""
    names = tool_names(thought)
    return ReActAction(thought, names[0], clean_input(orphan_input)) if len(names) == 1 else None


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
    """The complete lines before a call, without the names of sections."""
    return LINE_HEADER.sub("", text[: text.rfind("\n", 0, position) + 1]).strip()
