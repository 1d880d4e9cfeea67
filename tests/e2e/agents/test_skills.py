"""Sessions whose agents have skills: they read the texts of the day they began, also when they are played again elsewhere."""

import pytest
import sqlalchemy as sa

from support.agent_scenario import SUMMARY, Scenario, agent, answers, calls, chain, conversation, says, stage
from support.replaying import replayed
from tarsy.config.resolve.resolved import ResolvedSkill
from tarsy.db.connection import create_engine
from tarsy.db.skill_texts import SkillTextRepository
from tarsy.db.tables import skill_texts
from tarsy.domain.skill import text_hash
from tarsy.domain.tool import LOAD_SKILL_TOOL

TRACK = "0.look/1.Investigator"
TEXT = "# Disks\nAsk for the pods first."
ALWAYS = "# House rules\nName the owner."


def skill(name: str, text: str) -> ResolvedSkill:
    return ResolvedSkill(name=name, description=f"About {name}.", origin="skills", files={"SKILL.md": text_hash(text)})


SCENARIO = Scenario(
    chain(
        stage(agent(skills=("disks",), required_skills=("house-rules",))),
        skills={"disks": skill("disks", TEXT), "house-rules": skill("house-rules", ALWAYS)},
    ),
    [
        says(TRACK, 0, calls("c1", LOAD_SKILL_TOOL, name="disks")),
        says(TRACK, 1, calls("c2", "k8s.pods")),
        says(TRACK, 2, "web-1 was evicted, the disk is full."),
        says(f"1.{SUMMARY}", 0, "Disk."),
    ],
    [answers(TRACK, "c2", "k8s.pods", "web-1 Evicted")],
)


@pytest.fixture
async def kept(database_url: str) -> str:
    """A database that an installation with these skills has used."""
    engine = create_engine(database_url)
    await SkillTextRepository(engine).store([TEXT, ALWAYS, TEXT])
    await SkillTextRepository(engine).store([TEXT])
    await engine.dispose()
    return database_url


async def test_an_agent_has_the_required_skill_in_its_prompt_and_loads_the_other(kept: str) -> None:
    outcome = (await SCENARIO.play(kept)).outcome
    assert outcome is not None
    opening = outcome.conversations[TRACK][0]["content"]
    assert "## Skill house-rules\n# House rules\nName the owner." in opening
    assert "- disks: About disks." in opening
    assert TEXT not in opening
    (loaded,) = [content for role, content in conversation(outcome, TRACK) if role == "tool" and "[Skill disks" in content]
    assert loaded.endswith(f"\n[Skill disks, from skills]\n{TEXT}")
    assert "<<<BEGIN" not in loaded


async def test_a_recording_holds_the_texts_and_replays_where_there_are_none(kept: str) -> None:
    recording = await SCENARIO.play(kept)
    assert set(recording.skills.values()) == {TEXT, ALWAYS}
    engine = create_engine(kept)
    async with engine.begin() as connection:
        await connection.execute(sa.delete(skill_texts))
    await engine.dispose()
    assert await replayed(kept, recording) == []
