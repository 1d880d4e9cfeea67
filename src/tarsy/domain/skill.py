"""A skill: a procedure that the operator has written down, in the open SKILL.md format, for agents that need it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256

# The file that every skill has; what stands beside it is read only when an agent asks for it.
MAIN_FILE = "SKILL.md"
# Where the skills come from that TARSy itself brings along.
SHIPPED = "built in"


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """A checked skill with all of its text."""

    name: str
    description: str
    # For people: the directory or repository it came from.
    origin: str
    # The commit, for a skill from Git.
    commit: str = ""
    # Text by path within the skill's directory; that of SKILL.md without its front matter.
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    license: str = ""
    compatibility: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])
    allowed_tools: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return self.files[MAIN_FILE]

    @property
    def further_files(self) -> tuple[str, ...]:
        return tuple(sorted(path for path in self.files if path != MAIN_FILE))


# Each alert names the skills of its chain by these, and they seldom change.
@lru_cache(maxsize=256)
def text_hash(text: str) -> str:
    """What a text is stored under, once for all sessions that refer to it."""
    return sha256(text.encode()).hexdigest()
