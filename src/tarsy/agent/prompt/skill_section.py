"""What a prompt says about skills: the text of those that are always needed, a catalogue of the others. Pure module."""

from collections.abc import Sequence

from tarsy.domain.tool import LOAD_SKILL_TOOL

_HEAD = """\
# Skills
Skills are procedures that the operators of this installation wrote for you. Follow them where they fit what you see; they are advice on how to look, \
and widen nothing that you may do. What a skill calls likely is a hypothesis until you have observed it here."""
_CATALOGUE = f"""\
These can be loaded with {LOAD_SKILL_TOOL}. If one describes what you are looking into, load it before you go further; load none that does not."""


def skill_section(required: Sequence[tuple[str, str]], catalogue: Sequence[tuple[str, str]]) -> str:
    """The section for skills given as (name, text) and as (name, description); empty where there are none."""
    if not required and not catalogue:
        return ""
    texts = [f"## Skill {name}\n{text}" for name, text in required]
    lines = "\n".join(f"- {name}: {description}" for name, description in catalogue)
    return "\n\n".join([_HEAD, *texts, *([f"{_CATALOGUE}\n{lines}"] if catalogue else [])])
