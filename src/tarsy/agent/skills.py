"""The skills of one agent in one session: what its prompt says about them, and their texts when it asks."""

from collections.abc import Mapping
from dataclasses import dataclass

from tarsy.agent.ports import SkillTexts
from tarsy.agent.prompt.skill_section import skill_section
from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedSkill
from tarsy.domain.skill import MAIN_FILE


class SkillTextMissingError(Exception):
    """A session refers to the text of a skill that is not in the database; the operator can act."""

    def __init__(self, skill: str, file: str) -> None:
        super().__init__(f'the text of the skill "{skill}" ({file}) is not in the database')


@dataclass(frozen=True, slots=True)
class AgentSkills:
    """`known` are the skills of the session's chain, as they were when it began."""

    known: Mapping[str, ResolvedSkill]
    agent: ResolvedAgentConfig
    texts: SkillTexts

    @property
    def loadable(self) -> tuple[ResolvedSkill, ...]:
        return tuple(self.known[name] for name in self.agent.skills)

    @property
    def required(self) -> tuple[ResolvedSkill, ...]:
        return tuple(self.known[name] for name in self.agent.required_skills)

    async def section(self) -> str:
        """What the prompt says about skills.

        Raises:
            SkillTextMissingError: the text of a required one is gone.
        """
        told = [(skill.name, await self.text(skill, MAIN_FILE)) for skill in self.required]
        return skill_section(told, [(skill.name, skill.description) for skill in self.loadable])

    async def text(self, skill: ResolvedSkill, file: str) -> str:
        hashed = skill.files[file]
        text = (await self.texts.read({hashed})).get(hashed)
        if text is None:
            raise SkillTextMissingError(skill.name, file)
        return text
