"""The skills of one agent in one session, and the built-in tool `tarsy.load_skill` that gives it their texts.

Texts come from the session's own snapshot. No path is ever opened here, so none can lead out of a skill's directory.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tarsy.agent.ports import SkillTexts
from tarsy.agent.prompt.sections import skill_section
from tarsy.agent.toolbox.toolbox import CallRefusedError
from tarsy.config.problems import did_you_mean
from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedSkill
from tarsy.domain.skill import MAIN_FILE, SHIPPED, SHORT_COMMIT
from tarsy.domain.tool import LOAD_SKILL_TOOL, ToolCatalog, ToolDefinition
from tarsy.domain.tool_arguments import ArgumentProblem, parse_arguments


class SkillTextMissingError(Exception):
    """A session refers to the text of a skill that is not in the database; the operator can act."""

    def __init__(self, skill: str, file: str) -> None:
        super().__init__(f'the text of the skill "{skill}" ({file}) is not in the database')


@dataclass(frozen=True, slots=True)
class AgentSkills:
    """The skills of one agent: which it may load, which are in its prompt, and their texts.

    `known` are the skills of the session's chain, as they were when it began.
    """

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
        """Return the prompt section about skills.

        Raises:
            SkillTextMissingError: the text of a required one is gone.
        """
        required = [(skill.name, await self.text(skill, MAIN_FILE)) for skill in self.required]
        return skill_section(required, [(skill.name, skill.description) for skill in self.loadable])

    async def text(self, skill: ResolvedSkill, file: str) -> str:
        text_hash = skill.files[file]
        text = (await self.texts.read({text_hash})).get(text_hash)
        if text is None:
            raise SkillTextMissingError(skill.name, file)
        return text


_BARE_NAME = re.compile(r"[\"']?[a-z0-9-]+[\"']?")

DEFINITION = ToolDefinition(
    name=LOAD_SKILL_TOOL,
    description="Load a skill: a procedure that the operators of this installation wrote. Without `file`, its instructions.",
    parameters_schema={
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "The skill, as the catalogue names it."},
            "file": {"type": "string", "description": "A further file of the skill, as its instructions name it."},
        },
        "required": ["name"],
    },
    read_only=True,
    idempotent=True,
)


class LoadSkill:
    definition = DEFINITION
    # The texts are in the session's own snapshot, and in its recording.
    is_recorded = False

    def __init__(self, skills: AgentSkills) -> None:
        self._skills = skills
        self._by_name = {skill.name: skill for skill in (*skills.loadable, *skills.required)}

    def is_offered(self, catalog: ToolCatalog) -> bool:
        """An agent whose prompt holds all its skills does not need the tool."""
        has_more = any(_further_files(skill) for skill in self._skills.required)
        return bool(self._skills.loadable) or (bool(catalog.tools) and has_more)

    async def run(self, arguments: str) -> str:
        wanted = parse_arguments(arguments, DEFINITION.parameters_schema)
        # Models that write arguments loosely may give the bare name.
        if isinstance(wanted, ArgumentProblem) and _BARE_NAME.fullmatch(arguments.strip()):
            wanted = {"name": arguments.strip().strip("\"'")}
        if isinstance(wanted, ArgumentProblem):
            raise CallRefusedError(wanted.message)
        skill = self._by_name.get(wanted["name"])
        if skill is None:
            raise CallRefusedError(f'There is no skill "{wanted["name"]}"; {did_you_mean(wanted["name"], self._by_name)}')
        file = wanted.get("file") or MAIN_FILE
        if file not in skill.files:
            raise CallRefusedError(f'The skill "{skill.name}" has no file "{file}"; {did_you_mean(file, skill.files)}')
        text = await self._skills.text(skill, file)
        at = f" at commit {skill.commit[:SHORT_COMMIT]}" if skill.commit else ""
        title = skill.name if file == MAIN_FILE else f"{skill.name}, file {file}"
        more = _further_files(skill) if file == MAIN_FILE else ()
        rest = f"\n\n[Further files of this skill, by `file`: {', '.join(more)}]" if more else ""
        origin = SHIPPED if skill.origin == SHIPPED else f"from {skill.origin}"
        return f"[Skill {title}, {origin}{at}]\n{text}{rest}"


def _further_files(skill: ResolvedSkill) -> tuple[str, ...]:
    return tuple(path for path in skill.files if path != MAIN_FILE)
