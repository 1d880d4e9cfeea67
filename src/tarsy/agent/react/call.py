"""Reads a tool's name and its arguments from the text where they should be.

A name is always a piece of the model's own text: it may be wrong, but is never invented here.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

NO_ARGUMENTS = "{}"

# `server.tool`; the look-behind lets a match begin only where a run of such characters begins, which keeps the search linear.
DOTTED_NAME = re.compile(r"(?<![\w./@-])[A-Za-z][\w-]*\.[A-Za-z_](?:[\w.-]*\w)?")

_FIRST_WORD = re.compile(r"[\s`\"'*_\[<(]{0,8}(?P<tool>[A-Za-z0-9](?:[\w.:/-]*\w)?)[`\"'*\]>]{0,4}")
_NOTHING = frozenset({"", "-", "none", "n/a", "na", "null", "nil", "no action", "none needed", "no tool", "not applicable", "(none)"})
_ANSWER_AS_ACTION = re.compile(r"[`\"'*_\s]*final[ _-]?answer[`\"'*_\s.:]*", re.IGNORECASE)
_KEY_VALUE = re.compile(r"[\w.\"'-]{1,80}[ \t]{0,4}[:=]")
_INLINE_JSON = re.compile(r"[^{\n]{0,60}(?=\{)")
# Names with a dot that are not tools.
_NOT_A_TOOL = frozenset({"com", "org", "net", "io", "dev", "local", "svc", "internal", "cluster", "service", "socket"}) | frozenset(
    {"yaml", "yml", "json", "log", "txt", "md", "py", "go", "sh", "conf", "html", "xml", "csv", "pdf", "exe", "so", "jar"}
)


@dataclass(frozen=True, slots=True)
class WrittenCall:
    tool: str
    # None: nothing that could be arguments was written beside the name.
    arguments: str | None


@dataclass(frozen=True, slots=True)
class ReActFinalAnswer:
    thought: str
    answer: str


def is_nothing(text: str) -> bool:
    """Whether a section consists of a word such as "none"."""
    return text.strip(" \t\r\n`\"'*_.").lower() in _NOTHING


def is_answer_as_action(text: str) -> bool:
    """Whether a model named the final answer as if it were a tool."""
    return _ANSWER_AS_ACTION.fullmatch(text) is not None if len(text) < 64 else False


def read_action(text: str) -> WrittenCall | None:
    """Read the text of an Action section: a name, perhaps with words or arguments around it."""
    blob = unfenced(text)
    if blob.startswith("{"):
        call = json_call(blob, within=text)
        return call if isinstance(call, WrittenCall) else None
    first_line, _, more = blob.partition("\n")
    word = _FIRST_WORD.match(first_line)
    if word is None:
        return None
    beside = first_line[word.end() :].strip()
    if "." in word["tool"] or not beside or beside[0] in "({":
        return WrittenCall(word["tool"], _arguments_beside(beside, more))
    names = tool_names(first_line)
    return WrittenCall(names[0], _arguments_beside("", more)) if len(names) == 1 else None


def _arguments_beside(beside: str, more: str) -> str | None:
    rest = f"{beside}\n{more}".strip()
    if rest.startswith("()"):
        return NO_ARGUMENTS
    if rest.startswith("(") and (close := rest.find(")")) > 0 and not _KEY_VALUE.match(rest[1:close].strip()) and "{" not in rest[:close]:
        # A remark in parentheses.
        rest = rest[close + 1 :].strip()
    if rest.startswith("("):
        return clean_input(rest.removeprefix("(").rstrip("`").removesuffix(")"))
    if rest.startswith(("```", "[")) or _KEY_VALUE.match(rest):
        return clean_input(rest)
    inline = _INLINE_JSON.match(rest)
    return clean_input(rest[inline.end() :]) if inline else None


def clean_input(text: str) -> str:
    """Strip what models put around arguments: fences, backticks, an afterthought behind the JSON."""
    body = unfenced(text).strip()
    if len(body) > 1 and body[0] == body[-1] == "`":
        body = body.strip("`").strip()
    if is_nothing(body):
        return NO_ARGUMENTS
    if body[0] in "{[" and (end := json_end(body)) is not None:
        return body[:end]
    return body.removesuffix("```").rstrip()


def unfenced(text: str) -> str:
    """The content of a leading code fence, or the text as it is."""
    body = text.strip()
    if not body.startswith("```"):
        return body
    first_line, newline, rest = body.partition("\n")
    if not newline:
        return first_line.strip("`").removeprefix("json").strip()
    end = rest.find("```")
    return (rest if end < 0 else rest[:end]).strip()


def json_end(text: str) -> int | None:
    """Return the end of the JSON value that `text` begins with; None if it begins with none."""
    decoded = _decode(text)
    return None if decoded is None else decoded[1]


def json_call(text: str, *, within: str) -> WrittenCall | ReActFinalAnswer | None:
    """Read a call or an answer written as one JSON value, in any of the shapes models know from other formats.

    A name that its escapes hide from `within` is not accepted.
    """
    decoded = _decode(text)
    value: Any = decoded[0] if decoded else None
    if isinstance(value, list) and value:
        value = cast("list[Any]", value)[0]
    if not isinstance(value, Mapping):
        return None
    try:
        return _call_of(cast("Mapping[str, Any]", value), within)
    except RecursionError:
        # A value nested so deep that it could just be parsed cannot be serialised again.
        return None


def _call_of(fields: Mapping[str, Any], within: str) -> WrittenCall | ReActFinalAnswer | None:
    thought = _first(fields, "thought", "reasoning")
    function = fields.get("function")
    if isinstance(function, Mapping):
        return _call_of(cast("Mapping[str, Any]", function), within)
    arguments = _first(fields, "action_input", "actionInput", "tool_input", "arguments", "args", "parameters", "params", "input")
    name = _first(fields, "action", "tool", "tool_name", "function") or (fields.get("name") if arguments is not None else None)
    answer = _first(fields, "final_answer", "finalAnswer", "Final Answer")
    if isinstance(name, str) and is_answer_as_action(name):
        answer = answer or arguments
    elif isinstance(name, str) and name in within and (word := _FIRST_WORD.fullmatch(name)):
        return WrittenCall(word["tool"], None if arguments is None else _as_text(arguments))
    text = _as_text(answer or "").strip()
    return ReActFinalAnswer(_as_text(thought or ""), text) if text else None


def tool_names(text: str) -> list[str]:
    """The distinct names in `text` that could be tools, in order."""
    found = (match[0] for match in DOTTED_NAME.finditer(text))
    return list(dict.fromkeys(name for name in found if name.rsplit(".", 1)[1].lower() not in _NOT_A_TOOL))


def _decode(text: str) -> tuple[Any, int] | None:
    try:
        return json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        # Nesting as deep as the interpreter's stack is no more an argument than a syntax error is.
        return None


def _first(fields: Mapping[str, Any], *keys: str) -> Any:
    return next((fields[key] for key in keys if fields.get(key) is not None), None)


def _as_text(value: Any) -> str:
    """A decoded value as text that can be stored: JSON escapes can spell what UTF-8 and PostgreSQL cannot hold."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text.encode(errors="replace").decode().replace("\0", "")
