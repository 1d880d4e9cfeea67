"""Skills: procedures in the open SKILL.md format that agents load when they need them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256

# Every skill has this file; agents load the files beside it separately.
MAIN_FILE = "SKILL.md"
# The origin of the skills that are part of TARSy.
SHIPPED = "built in"
# The length of a commit in texts for people.
SHORT_COMMIT = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """A validated skill with all its texts."""

    name: str
    description: str
    # For people: its directory or repository.
    origin: str
    # For a skill from Git.
    commit: str = ""
    # Texts by path within the skill's directory; that of SKILL.md without its front matter.
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


def text_hash(text: str) -> str:
    """Return the key under which a text is stored once for all sessions that use it."""
    return sha256(text.encode()).hexdigest()
