"""Recordings, played again in the database of a test."""

from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime

from support.agent_scenario import built_in_config
from tarsy.agent.execution import SessionOverrides
from tarsy.agent.ports import ToolServers
from tarsy.agent.toolbox.approval import RecordedApprovals
from tarsy.db.session.recordings import RecordingSource
from tarsy.db.skill_texts import SkillTextRepository
from tarsy.domain.claim import CHAT_ANSWER, INVESTIGATION
from tarsy.domain.recording import RULES_SINCE, Recording
from tarsy.domain.replay import Difference, differences
from tarsy.kit.clock import SystemClock
from tarsy.llm.in_process import in_process_client
from tarsy.session.playback import played_from, recorded_chain, session_from
from tarsy.settings import Settings
from tarsy.tools.recorded import RecordedToolServers
from tarsy.wiring.application import Application, application
from tarsy.wiring.infrastructure import Overrides


def playing(
    database_url: str, session_id: str, recording: Recording, tools: ToolServers, *, older_rules: bool = False
) -> AbstractAsyncContextManager[Application]:
    """The application with recorded models and the tools given, and the recorded inputs for one session."""
    llm = in_process_client(env={}, recordings=lambda _: recording)
    inputs = tuple(given.placed() for given in recording.inputs)
    overrides = Overrides(
        tools=tools,
        llm=llm,
        approvals=RecordedApprovals(inputs),
        sessions={session_id: SessionOverrides(clock=SystemClock(), recorded_inputs=inputs, older_rules=older_rules)},
    )
    return application(Settings(env={}, database_url=database_url), loaded=built_in_config(), overrides=overrides)


async def replay_recording(database_url: str, recording: Recording) -> Recording:
    """Play a recorded session again, with its questions, and read it back."""
    session = session_from(recording, recorded_chain(recording, played_from("the recording")), now=datetime(2026, 1, 1, tzinfo=UTC))
    older = recording.tarsy_recording < RULES_SINCE
    async with playing(database_url, session.id, recording, RecordedToolServers(recording), older_rules=older) as running:
        await SkillTextRepository(running.engine).store(recording.skills.values())
        await running.services.repositories.sessions.insert(session)
        await running.pool.run_waiting(INVESTIGATION)
        for question in recording.questions:
            await running.services.repositories.chats.ask(session.id, question, author="tester")
            await running.pool.run_waiting(CHAT_ANSWER)
        found = await RecordingSource(running.engine).read(session.id)
    assert found is not None
    return found


async def replayed(database_url: str, recording: Recording) -> list[Difference]:
    """Play a recorded session again, and tell in what it differs."""
    found = await replay_recording(database_url, recording)
    assert found.outcome is not None
    assert recording.outcome is not None
    return differences(recording.outcome, found.outcome, version=recording.tarsy_recording)
