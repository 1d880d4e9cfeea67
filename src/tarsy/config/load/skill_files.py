"""Skills on disk: the open SKILL.md format (agentskills.io), and directories of such files."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tarsy.config.load.source import Source, parse_source
from tarsy.config.parsed_data import as_mapping
from tarsy.config.problems import Problem, did_you_mean
from tarsy.domain.skill import MAIN_FILE, Skill

# The limits of the format.
MAX_NAME = 64
MAX_DESCRIPTION = 1_024
MAX_COMPATIBILITY = 500
_KEYS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_FENCE = "---"

# Some 16,000 tokens: more would not leave a model enough context, and the format recommends a third of it.
MAX_FILE_BYTES = 64 * 1024
# A directory with more contains a library rather than texts for agents.
MAX_FILES = 100
# More would not fit into the catalogue in a prompt.
MAX_SKILLS = 500


@dataclass(frozen=True, slots=True)
class SkillDirectory:
    """A directory of skills, and its name for people."""

    root: Path
    # The prefix of file names in problems: a directory, or an address with its commit.
    shown: str
    origin: str
    commit: str = ""

    def problem(self, path: str, message: str, remedy: str = "") -> Problem:
        return Problem(f"{self.shown}/{path}" if path else self.shown, 0, "", message, remedy)


@dataclass(slots=True)
class FoundSkills:
    """The skills of a place. `broken` are the names of invalid ones, so that references to them are no second mistake."""

    skills: list[Skill] = field(default_factory=list[Skill])
    broken: set[str] = field(default_factory=set[str])
    problems: list[Problem] = field(default_factory=list[Problem])
    remarks: list[Problem] = field(default_factory=list[Problem])


def read_skills(place: SkillDirectory) -> FoundSkills:
    """Read all skills of a place: directories with a SKILL.md, and files without an extension."""
    found = FoundSkills()
    entries: list[Path] = []
    for entry in sorted(place.root.iterdir()):
        is_flat = entry.is_file() and "." not in entry.name and not entry.name.isupper()
        # Names with a leading dot belong to others, such as `..data` of a ConfigMap.
        if not entry.name.startswith(".") and (is_flat or (entry / MAIN_FILE).is_file() or (entry / MAIN_FILE).is_symlink()):
            entries.append(entry)
    for number, entry in enumerate(entries):
        if number == MAX_SKILLS:
            found.problems.append(place.problem("", f"there are more than {MAX_SKILLS} skills here", "name a directory with fewer"))
            break
        _read_skill(place, entry, found)
    return found


def _read_skill(place: SkillDirectory, entry: Path, found: FoundSkills) -> None:
    name, flat = entry.name, entry.is_file()
    main = name if flat else f"{name}/{MAIN_FILE}"
    if not _is_within(entry, place.root):
        text = place.problem(name, "this link points outside the directory of skills", "put a copy here")
    elif not _is_within(place.root / main, place.root if flat else entry):
        text = place.problem(main, "this link points outside the skill's directory", "put a copy here")
    else:
        text = _text_of(place.root / main)
    if isinstance(text, _Unreadable):
        text = place.problem(main, f"cannot be read: {text.reason}")
    if isinstance(text, Problem):
        found.problems.append(text)
        found.broken.add(name)
        return
    skill = _parse_skill(place, name, main, text, found)
    further = {} if flat else dict(_further_files(place, entry, found))
    if skill is None:
        found.broken.add(name)
    else:
        found.skills.append(replace(skill, files={**skill.files, **further}))


def _parse_skill(place: SkillDirectory, name: str, main: str, text: str, found: FoundSkills) -> Skill | None:
    """Parse the main file of the skill `name`, and add its problems and remarks to `found`. Return None if it is invalid."""
    file = f"{place.shown}/{main}"
    lines = text.removeprefix("\ufeff").splitlines()
    end = next((number for number, line in enumerate(lines[1:], start=1) if line.rstrip() == _FENCE), None)
    if not lines or lines[0].rstrip() != _FENCE or end is None:
        remedy = "begin with a line ---, then name and description, then a line --- and the instructions"
        found.problems.append(Problem(file, 1, "", "this skill has no front matter", remedy))
        return None
    # The empty line in place of the first fence keeps the line numbers.
    source = parse_source(Source(file), "\n".join(["", *lines[1:end], ""]))
    body = "\n".join(lines[end + 1 :]).strip()
    problems = [*source.problems, *_mistakes(source, name)]
    if not body:
        problems.append(Problem(file, end + 1, "", "this skill has no instructions", "write its instructions below the front matter"))
    data = as_mapping(source.data) or {}
    unknown = (key for key in data if key not in _KEYS)
    found.remarks += (
        source.problem((key,), f'"{key}" is not a key of the format and is ignored', did_you_mean(key, _KEYS)) for key in unknown
    )
    if problems:
        found.problems += problems
        return None
    tools = data.get("allowed-tools") or ""
    return Skill(
        name=name,
        description=" ".join(str(data["description"]).split()),
        origin=place.origin,
        commit=place.commit,
        files={MAIN_FILE: body},
        license=str(data.get("license") or ""),
        compatibility=str(data.get("compatibility") or ""),
        metadata={key: str(value) for key, value in (as_mapping(data.get("metadata")) or {}).items()},
        allowed_tools=tuple(tools.split() if isinstance(tools, str) else map(str, tools)),
    )


def _mistakes(source: Source, directory_name: str) -> Iterator[Problem]:
    data = as_mapping(source.data)
    if data is None:
        if not source.problems:
            yield Problem(source.file, 1, "", "the front matter is not a mapping of keys to values", "write name: … and description: …")
        return
    name = "" if data.get("name") is None else str(data["name"])
    if not name:
        yield source.problem(("name",), "name is missing", f"write name: {directory_name}")
    elif len(name) > MAX_NAME or not _NAME.fullmatch(name):
        suggested = "-".join(re.findall(r"[a-z0-9]+", directory_name.lower()))[:MAX_NAME].strip("-") or "crash-loops"
        remedy = f"at most {MAX_NAME} lower-case letters, digits and single hyphens, such as {suggested}"
        yield source.problem(("name",), f'"{name}" is not the name of a skill', remedy)
    elif name != directory_name:
        yield source.problem(("name",), f'the skill is called "{name}", but its directory "{directory_name}"', "rename one of them")
    yield from _text_mistakes(source, data, "description", MAX_DESCRIPTION, required=True)
    yield from _text_mistakes(source, data, "compatibility", MAX_COMPATIBILITY)
    yield from _text_mistakes(source, data, "license", MAX_DESCRIPTION)
    if data.get("metadata") is not None and as_mapping(data["metadata"]) is None:
        yield source.problem(("metadata",), "this is not a mapping of keys to texts")
    if data.get("allowed-tools") is not None and not isinstance(data["allowed-tools"], (str, list)):
        yield source.problem(("allowed-tools",), "this is not a list of tools", "write their names with spaces between")


def _text_mistakes(source: Source, data: dict[str, Any], key: str, limit: int, *, required: bool = False) -> Iterator[Problem]:
    value = data.get(key)
    if value is None or value == "":
        if required:
            yield source.problem((key,), f"{key} is missing", "say what the skill does and when to use it")
    elif not isinstance(value, str | int | float):
        yield source.problem((key,), "this is not a text")
    elif len(str(value)) > limit:
        yield source.problem((key,), f"this has {len(str(value))} characters", f"at most {limit} are allowed")


def _further_files(place: SkillDirectory, directory: Path, found: FoundSkills) -> Iterator[tuple[str, str]]:
    """Yield the path and text of the files beside SKILL.md. Files that are no text or too large are left out with a remark."""
    files: list[Path] = []
    for file in sorted(directory.rglob("*")):
        parts = file.relative_to(directory).parts
        if (file.is_file() or file.is_symlink()) and parts != (MAIN_FILE,) and not any(part.startswith(".") for part in parts):
            files.append(file)
    if len(files) > MAX_FILES:
        found.remarks.append(place.problem(directory.name, f"only the first {MAX_FILES} of {len(files)} files can be loaded"))
    for file in files[:MAX_FILES]:
        path = file.relative_to(directory).as_posix()
        if not _is_within(file, directory):
            found.problems.append(
                place.problem(f"{directory.name}/{path}", "this link points outside the skill's directory", "put a copy here")
            )
            continue
        text = _text_of(file)
        if isinstance(text, str):
            yield path, text
        else:
            found.remarks.append(place.problem(f"{directory.name}/{path}", f"agents cannot load this file: {text.reason}"))


def _is_within(file: Path, directory: Path) -> bool:
    """Return whether the file, after following links, is in the directory."""
    try:
        return file.resolve().is_relative_to(directory.resolve())
    except RuntimeError:
        # Links in a circle lead to no file outside; reading the skill reports the circle.
        return True


@dataclass(frozen=True, slots=True)
class _Unreadable:
    reason: str


def _text_of(file: Path) -> str | _Unreadable:
    try:
        if file.stat().st_size > MAX_FILE_BYTES:
            return _Unreadable(f"it is larger than {MAX_FILE_BYTES // 1024} KiB")
        text = file.read_bytes().decode()
    except OSError as error:
        return _Unreadable(error.strerror or "it is not a file")
    except UnicodeDecodeError:
        return _Unreadable("it is not UTF-8 text")
    # PostgreSQL cannot store it.
    return _Unreadable("it contains a NUL character") if "\0" in text else text
