"""The open SKILL.md format (agentskills.io): YAML front matter, then Markdown. Pure module."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tarsy.config.load.source import Source, parse_source
from tarsy.config.parsed_data import mapping
from tarsy.config.problems import Problem, did_you_mean

# The limits of the format.
MAX_NAME = 64
MAX_DESCRIPTION = 1_024
MAX_COMPATIBILITY = 500
_KEYS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_FENCE = "---"


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillHead:
    """The front matter of a skill."""

    name: str
    description: str
    license: str = ""
    compatibility: str = ""
    metadata: tuple[tuple[str, str], ...] = ()
    allowed_tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ParsedSkill:
    """A file that was read: its parts where it is a skill, what is wrong with it, what is odd about it."""

    head: SkillHead | None
    text: str
    problems: tuple[Problem, ...] = ()
    remarks: tuple[Problem, ...] = ()


def parse_skill(file: str, text: str, directory_name: str) -> ParsedSkill:
    """Read a skill's main file. `file` is how people find it, `directory_name` what the skill has to be called."""
    lines = text.removeprefix("\ufeff").splitlines()
    end = next((number for number, line in enumerate(lines[1:], start=1) if line.rstrip() == _FENCE), None)
    if not lines or lines[0].rstrip() != _FENCE or end is None:
        cure = "begin with a line ---, then name and description, then a line --- and the instructions"
        return ParsedSkill(None, "", (Problem(file, 1, "", "this skill has no front matter", cure),))
    # The empty line in place of the first fence keeps the numbers of the lines.
    source = parse_source(Source(file), "\n".join(["", *lines[1:end], ""]))
    body = "\n".join(lines[end + 1 :]).strip()
    problems = [*source.problems, *_mistakes(source, directory_name)]
    if not body:
        problems.append(Problem(file, end + 1, "", "this skill has no instructions", "write its instructions below the front matter"))
    head = None if problems else _head(mapping(source.data) or {})
    return ParsedSkill(head, body, tuple(problems), tuple(_remarks(source)))


def _mistakes(source: Source, directory_name: str) -> Iterator[Problem]:
    data = mapping(source.data)
    if data is None:
        if not source.problems:
            yield Problem(source.file, 1, "", "the front matter is not a mapping of keys to values", "write name: … and description: …")
        return
    yield from _name_mistakes(source, data.get("name"), directory_name)
    yield from _text_mistakes(source, data, "description", MAX_DESCRIPTION, required=True)
    yield from _text_mistakes(source, data, "compatibility", MAX_COMPATIBILITY)
    yield from _text_mistakes(source, data, "license", MAX_DESCRIPTION)
    if data.get("metadata") is not None and mapping(data["metadata"]) is None:
        yield source.problem(("metadata",), "this is not a mapping of keys to texts")
    if data.get("allowed-tools") is not None and not isinstance(data["allowed-tools"], str | list):
        yield source.problem(("allowed-tools",), "this is not a list of tools", "write their names with spaces between")


def _name_mistakes(source: Source, value: Any, directory_name: str) -> Iterator[Problem]:
    name = "" if value is None else str(value)
    if not name:
        yield source.problem(("name",), "name is missing", f"write name: {directory_name}")
    elif len(name) > MAX_NAME or not _NAME.fullmatch(name):
        cure = f"at most {MAX_NAME} lower-case letters, digits and single hyphens, such as {_suggested(directory_name)}"
        yield source.problem(("name",), f'"{name}" is not the name of a skill', cure)
    elif name != directory_name:
        yield source.problem(("name",), f'the skill is called "{name}", but its directory "{directory_name}"', "rename one of them")


def _suggested(text: str) -> str:
    return "-".join(re.findall(r"[a-z0-9]+", text.lower()))[:MAX_NAME].strip("-") or "crash-loops"


def _text_mistakes(source: Source, data: dict[str, Any], key: str, limit: int, *, required: bool = False) -> Iterator[Problem]:
    value = data.get(key)
    if value is None or value == "":
        if required:
            yield source.problem((key,), f"{key} is missing", "say what the skill does and when to use it")
    elif not isinstance(value, str | int | float):
        yield source.problem((key,), "this is not a text")
    elif len(str(value)) > limit:
        yield source.problem((key,), f"this has {len(str(value))} characters", f"at most {limit} are allowed")


def _remarks(source: Source) -> Iterator[Problem]:
    for key in mapping(source.data) or {}:
        if key not in _KEYS:
            yield source.problem((key,), f'"{key}" is not a key of the format and is ignored', did_you_mean(key, _KEYS))


def _head(data: dict[str, Any]) -> SkillHead:
    tools = data.get("allowed-tools") or ""
    return SkillHead(
        name=str(data["name"]),
        description=" ".join(str(data["description"]).split()),
        license=str(data.get("license") or ""),
        compatibility=str(data.get("compatibility") or ""),
        metadata=tuple((key, str(value)) for key, value in (mapping(data.get("metadata")) or {}).items()),
        allowed_tools=tuple(tools.split() if isinstance(tools, str) else map(str, tools)),
    )
