"""The built-in tool that gives an agent the operator's procedures, and what its prompt says about them."""

from collections.abc import Callable, Collection, Mapping

import pytest

from support.agent_scenario import agent
from tarsy.agent.prompt.builder import PromptBuilder, PromptContext, SeenResult
from tarsy.agent.prompt.sections import skill_section
from tarsy.agent.toolbox.skills import AgentSkills, LoadSkill, SkillTextMissingError
from tarsy.agent.toolbox.toolbox import toolbox
from tarsy.config.resolve.resolved import ResolvedSkill
from tarsy.domain.conversation import ToolCall
from tarsy.domain.skill import text_hash
from tarsy.domain.tool import LOAD_SKILL_TOOL, ToolCalling, ToolCatalog, ToolDefinition, ToolResult
from tarsy.kit.clock import FixedClock
from tarsy.tools.masking import Unmasked

TEXTS = {"dns": "# DNS\nAsk the pod.", "dns/coredns.md": "# CoreDNS", "pods": "# Pods\nRead events.", "secret": "not for you"}


def skill(name: str, commit: str = "", **files: str) -> ResolvedSkill:
    hashes = {path.replace("_", "."): text_hash(TEXTS[text]) for path, text in ({"SKILL_md": name} | files).items()}
    return ResolvedSkill(name=name, description=f"About {name}.", origin="skills", commit=commit, files=hashes)


KNOWN = {
    "dns": skill("dns", coredns_md="dns/coredns.md"),
    "pods": skill("pods", commit="0123456789abcdef0123456789abcdef01234567"),
    "secret": skill("secret"),
}


class Stored:
    async def read(self, hashes: Collection[str]) -> Mapping[str, str]:
        return {text_hash(text): text for text in TEXTS.values() if text_hash(text) in hashes}


class NothingStored:
    async def read(self, hashes: Collection[str]) -> Mapping[str, str]:
        del hashes
        return {}


class Servers:
    def __init__(self, *names: str) -> None:
        self._tools = tuple(ToolDefinition(name, "A tool.") for name in names)

    async def list_tools(self) -> ToolCatalog:
        return ToolCatalog(self._tools)

    async def execute(self, call: ToolCall, on_output: Callable[[str], None]) -> ToolResult:
        del on_output
        raise AssertionError(f"{call.name} is not for the servers")


def skills_of(*loadable: str, required: tuple[str, ...] = ()) -> AgentSkills:
    return AgentSkills(KNOWN, agent().model_copy(update={"skills": loadable, "required_skills": required}), Stored())


async def load(arguments: str, skills: AgentSkills | None = None) -> ToolResult:
    tools = toolbox(
        Servers("k8s.pods"),
        (LoadSkill(skills or skills_of("dns", "pods")),),
        tool_calling=ToolCalling.NATIVE,
        mask=Unmasked(),
        clock=FixedClock(),
    )
    await tools.list_tools()
    return await tools.execute(ToolCall("c1", LOAD_SKILL_TOOL, arguments), lambda _: None)


@pytest.mark.parametrize("arguments", ['{"name": "dns"}', "name: dns", "dns", '"dns"', '{"name": "dns", "file": "SKILL.md"}'])
async def test_a_skill_is_loaded_by_its_name_with_what_else_it_has(arguments: str) -> None:
    result = await load(arguments)
    assert not result.is_error
    assert result.content == "[Skill dns, from skills]\n# DNS\nAsk the pod.\n\n[Further files of this skill, by `file`: coredns.md]"


async def test_a_file_beside_it_is_loaded_by_its_path() -> None:
    assert (await load('{"name": "dns", "file": "coredns.md"}')).content == "[Skill dns, file coredns.md, from skills]\n# CoreDNS"


async def test_a_skill_from_git_is_shown_with_its_commit() -> None:
    assert (await load("pods")).content.startswith("[Skill pods, from skills at commit 0123456789ab]\n# Pods")


@pytest.mark.parametrize(
    ("arguments", "refusal"),
    [
        ('{"name": "dsn"}', 'There is no skill "dsn"; did you mean "dns"?'),
        # It is there, but not for this agent.
        ('{"name": "secret"}', 'There is no skill "secret"; known: dns, pods'),
        ('{"name": "dns", "file": "../pods/SKILL.md"}', 'The skill "dns" has no file "../pods/SKILL.md"; did you mean "SKILL.md"?'),
        ('{"name": "dns", "file": "/etc/passwd"}', 'The skill "dns" has no file "/etc/passwd"; known: SKILL.md, coredns.md'),
        ("{}", None),
    ],
)
async def test_what_an_agent_does_not_have_is_refused_with_what_it_has(arguments: str, refusal: str | None) -> None:
    result = await load(arguments)
    assert result.is_error
    assert result.refused
    assert refusal is None or result.content == refusal


@pytest.mark.parametrize(
    ("servers", "loadable", "required", "offered"),
    [
        (("k8s.pods",), ("dns",), (), True),
        ((), ("dns",), (), True),
        (("k8s.pods",), (), (), False),
        # All that the skill has is in the prompt.
        (("k8s.pods",), (), ("pods",), False),
        (("k8s.pods",), (), ("dns",), True),
        ((), (), ("dns",), False),
    ],
)
async def test_the_tool_is_offered_where_there_is_something_to_load(
    servers: tuple[str, ...], loadable: tuple[str, ...], required: tuple[str, ...], *, offered: bool
) -> None:
    tools = toolbox(
        Servers(*servers),
        (LoadSkill(skills_of(*loadable, required=required)),),
        tool_calling=ToolCalling.NATIVE,
        mask=Unmasked(),
        clock=FixedClock(),
    )
    assert ((await tools.list_tools()).find(LOAD_SKILL_TOOL) is not None) is offered


async def test_the_prompt_holds_what_is_required_and_names_what_can_be_loaded() -> None:
    section = await skills_of("pods", required=("dns",)).section()
    assert "## Skill dns\n# DNS\nAsk the pod." in section
    assert section.endswith("\n- pods: About pods.")
    assert "Read events" not in section
    context = PromptContext(agent_name="A", alert_type="t", alert_data="d", nonce="n", received_at="2026", skills=section)
    assert section in PromptBuilder(context).build_messages(ToolCalling.NATIVE, ())[0].content


def test_without_skills_the_prompt_says_nothing_about_them() -> None:
    assert skill_section([], []) == ""
    assert LOAD_SKILL_TOOL not in skill_section([("dns", "text")], [])


async def test_a_required_text_that_is_gone_is_no_silent_gap() -> None:
    skills = AgentSkills(KNOWN, agent().model_copy(update={"required_skills": ("dns",)}), NothingStored())
    with pytest.raises(SkillTextMissingError, match='the text of the skill "dns"'):
        await skills.section()


async def test_a_loaded_skill_may_be_followed_and_is_not_fenced_as_data() -> None:
    prompts = PromptBuilder(PromptContext(agent_name="A", alert_type="t", alert_data="d", nonce="n", received_at="2026"))
    result = await load("pods")
    assert "<<<BEGIN" not in prompts.tool_result(SeenResult(evidence_id="A1", result=result, read_at=result.started_at), result.content)
    other = ToolResult(call=ToolCall("c2", "k8s.pods", "{}"), content=result.content, started_at=result.started_at)
    assert "<<<BEGIN" in prompts.tool_result(SeenResult(evidence_id="A2", result=other, read_at=other.started_at), other.content)
