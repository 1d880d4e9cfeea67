"""Problems of a configuration, described so that the operator can solve them."""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

KeyPath = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """A mistake in one place. `line` counts from 1; 0 means that no file contains the place (a built-in entry, a missing file)."""

    file: str
    line: int
    path: str
    message: str
    remedy: str = ""
    # Whether the environment lacks something, not a file: a model, or a variable of a built-in tool server.
    of_environment: bool = False

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        where = f" {self.path}:" if self.path else ""
        if not self.remedy:
            return f"{place}:{where} {self.message}"
        first, *rest = self.remedy.splitlines()
        return "\n".join([f"{place}:{where} {self.message}; {first}", *(f"    {line}" for line in rest)])


class ConfigError(Exception):
    """The configuration is invalid; the operator can act. The text is the report of all problems in the order of the files."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = sorted_problems(problems)
        super().__init__(report(self.problems))


def sorted_problems(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Sort problems by file, line and path, without duplicates."""
    return tuple(sorted(set(problems), key=lambda problem: (problem.file, problem.line, problem.path, problem.message)))


def report(problems: Iterable[Problem]) -> str:
    return "\n".join(str(problem) for problem in sorted_problems(problems))


def dotted(path: KeyPath) -> str:
    """Format a path for people: `agent_chains.web.stages[0].name`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def nearest(word: str, options: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """Return the option that `word` is probably a misspelling of, if any."""
    # 0.6 accepts a missing, doubled or swapped letter in words of three letters or more, and little else.
    return _nearest(word, frozenset(options), cutoff)


# A file written for another program has the same unknown keys in many sections.
@lru_cache(maxsize=1_000)
def _nearest(word: str, options: frozenset[str], cutoff: float) -> str | None:
    known = sorted(options)
    near = difflib.get_close_matches(word.lower(), [option.lower() for option in known], n=1, cutoff=cutoff)
    return next(option for option in known if option.lower() == near[0]) if near else None


def did_you_mean(word: str, options: Iterable[str]) -> str:
    """Suggest the option that `word` is probably a misspelling of, or list the first of them."""
    known = sorted(options)
    if near := nearest(word, known):
        return f'did you mean "{near}"?'
    if not known:
        return ""
    # A dozen names fit into one line of a terminal; more would hide the report.
    shown = ", ".join(known[:12])
    return f"known: {shown}" if len(known) <= 12 else f"known: {shown}, …"
