"""Which skills an agent has in its place of a chain. Pure module."""

from collections.abc import Collection, Iterable, Sequence

from tarsy.config.resolve.resolved import ResolvedSkill
from tarsy.config.schema.agents import SkillsKeys
from tarsy.domain.skill import Skill, text_hash


def loadable_skills(known: Collection[str], keys: Sequence[SkillsKeys], *, has_servers: bool) -> tuple[str, ...]:
    """The names an agent may load. `keys` are those of its definition and of its place in a stage, which adds.

    An agent without tool servers gets none unless it names them: a catalogue would give it function calls, which end the vendor's own tools.
    """
    definition, *places = keys
    named = _joined(key.skills for key in places)
    if definition.skills is None and (has_servers or not named):
        return tuple(sorted(known)) if has_servers else ()
    return _joined([definition.skills, named])


def required_skills(keys: Sequence[SkillsKeys]) -> tuple[str, ...]:
    return _joined(key.required_skills for key in keys)


def resolved_skill(skill: Skill) -> ResolvedSkill:
    return ResolvedSkill(
        name=skill.name,
        description=skill.description,
        origin=skill.origin,
        commit=skill.commit,
        files={path: text_hash(text) for path, text in sorted(skill.files.items())},
    )


def _joined(lists: Iterable[Sequence[str] | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for names in lists for name in names or ()))
