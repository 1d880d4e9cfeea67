"""A directory of skills on disk: NAME/SKILL.md with further files beside it, or one flat file NAME (a mounted ConfigMap has no directories)."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tarsy.config.load.skills.skill_file import parse_skill
from tarsy.config.problems import Problem
from tarsy.domain.skill import MAIN_FILE, Skill

# Some 16,000 tokens: more would not leave a model room to work, and the format recommends a third of it.
MAX_FILE_BYTES = 64 * 1024
# A skill with more has a library in its directory, not reading matter.
MAX_FILES = 100
# More skills than a catalogue in a prompt can hold.
MAX_SKILLS = 500


@dataclass(frozen=True, slots=True)
class Place:
    """A directory that holds skills, and how people call it."""

    root: Path
    # Stands before the path of a skill's file in problems: a directory, or an address with its commit.
    shown: str
    origin: str
    commit: str = ""

    def problem(self, path: str, message: str, cure: str = "") -> Problem:
        return Problem(f"{self.shown}/{path}" if path else self.shown, 0, "", message, cure)


@dataclass(slots=True)
class FoundSkills:
    """What a place holds. `broken` are the names of those that cannot be used, so that no reference to them is a second mistake."""

    skills: list[Skill] = field(default_factory=list[Skill])
    broken: set[str] = field(default_factory=set[str])
    problems: list[Problem] = field(default_factory=list[Problem])
    remarks: list[Problem] = field(default_factory=list[Problem])


def read_skills(place: Place) -> FoundSkills:
    """Read all skills of a place. A place without any is a mistake of the caller's configuration, not of this function."""
    found = FoundSkills()
    for number, entry in enumerate(_entries(place.root)):
        if number == MAX_SKILLS:
            found.problems.append(place.problem("", f"there are more than {MAX_SKILLS} skills here", "name a directory with fewer"))
            break
        _read_skill(place, entry, found)
    return found


def _entries(root: Path) -> Iterator[Path]:
    """Directories with a SKILL.md, and files without an extension. What begins with a dot is not ours (`..data` of a ConfigMap)."""
    for entry in sorted(root.iterdir()):
        is_flat = entry.is_file() and "." not in entry.name and not entry.name.isupper()
        if not entry.name.startswith(".") and (is_flat or (entry / MAIN_FILE).is_file() or (entry / MAIN_FILE).is_symlink()):
            yield entry


def _read_skill(place: Place, entry: Path, found: FoundSkills) -> None:
    name, flat = entry.name, entry.is_file()
    main = name if flat else f"{name}/{MAIN_FILE}"
    text = _main_text(place, main, within=place.root if flat else entry)
    if not _is_within(entry, place.root):
        text = place.problem(name, "this link points outside the directory of skills", "put a copy here")
    if isinstance(text, Problem):
        found.problems.append(text)
        found.broken.add(name)
        return
    parsed = parse_skill(f"{place.shown}/{main}", text, name)
    found.remarks += parsed.remarks
    further: dict[str, str] = {} if flat else dict(_further_files(place, entry, found))
    if parsed.head is None:
        found.problems += parsed.problems
        found.broken.add(name)
        return
    head = parsed.head
    found.skills.append(
        Skill(
            name=head.name,
            description=head.description,
            origin=place.origin,
            commit=place.commit,
            files={MAIN_FILE: parsed.text, **further},
            license=head.license,
            compatibility=head.compatibility,
            metadata=dict(head.metadata),
            allowed_tools=head.allowed_tools,
        )
    )


def _main_text(place: Place, path: str, within: Path) -> str | Problem:
    file = place.root / path
    if not _is_within(file, within):
        return place.problem(path, "this link points outside the skill's directory", "put a copy here")
    text = _text_of(file)
    if isinstance(text, str):
        return text
    return place.problem(path, f"cannot be read: {text.reason}")


def _further_files(place: Place, directory: Path, found: FoundSkills) -> Iterator[tuple[str, str]]:
    """The texts beside SKILL.md. What is no text, or too large to be read, is left out and said."""
    files = [file for file in sorted(directory.rglob("*")) if _is_reading_matter(file, directory)]
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


def _is_reading_matter(file: Path, directory: Path) -> bool:
    parts = file.relative_to(directory).parts
    return (file.is_file() or file.is_symlink()) and parts != (MAIN_FILE,) and not any(part.startswith(".") for part in parts)


def _is_within(file: Path, directory: Path) -> bool:
    """Whether the file, links followed, is in the directory."""
    return file.resolve().is_relative_to(directory.resolve())


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
