"""Recordings of whole sessions, run again in a database of their own."""

import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from tarsy.agent.ports import LLMClient, Mask, ToolServers
from tarsy.config.load.loader import LoadedConfig, load_config
from tarsy.config.problems import did_you_mean
from tarsy.config.resolve.resolved import ResolvedProvider, resolved_provider
from tarsy.db.embedded.server import embedded_postgres
from tarsy.db.session.recordings import RecordingSource
from tarsy.db.skill_texts import SkillTextRepository
from tarsy.domain.claim import CHAT_ANSWER, INVESTIGATION, SCORING
from tarsy.domain.recording import RecordedOutcome, Recording, reaches
from tarsy.domain.replay import Difference, differences
from tarsy.domain.run_input import AnyInput
from tarsy.domain.stage import StageType
from tarsy.domain.status import RunStatus
from tarsy.kit.clock import SystemClock
from tarsy.llm.in_process import in_process_client
from tarsy.llm.providers.replay import RecordingFiles, RecordingUnreadableError
from tarsy.queue.pool import WorkerPool
from tarsy.replay.forking_client import ForkingClient
from tarsy.session.playback import NotReplayableError, follow_ups, played_from, recorded_chain, session_from
from tarsy.settings import Settings
from tarsy.tools.masking import Unmasked
from tarsy.tools.recorded import RecordedToolServers
from tarsy.wiring.application import Application, application
from tarsy.wiring.infrastructure import Overrides


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOptions:
    live_model: str | None = None
    live_tools: bool = False
    # How many recorded calls are played before the live model takes over.
    from_step: int = 0


@dataclass(frozen=True, slots=True)
class ReplayOutcome:
    file: Path
    differences: tuple[Difference, ...]
    outcome: RecordedOutcome


@dataclass(frozen=True, slots=True)
class NotReplayed:
    """A file that could not be replayed, and why."""

    file: Path
    reason: str


async def replay_all(settings: Settings, files: Sequence[Path], options: ReplayOptions) -> list[ReplayOutcome | NotReplayed]:
    """Run recordings again, one after the other, in a database that is thrown away afterwards. One that cannot be run leaves the others alone.

    Raises:
        NotReplayableError: there is no such model, or no key for it.
    """
    # What cannot be done is said before anything is started.
    loaded = load_config(settings.config_dir, settings.env)
    live = _live_provider(loaded, options.live_model)
    found = [_replayable(file) for file in files]
    if all(isinstance(each, NotReplayed) for each in found):
        return [each for each in found if isinstance(each, NotReplayed)]
    with _scratch_directory() as directory:
        own = replace(settings, data_dir=directory, replay_speed=0.0)
        async with embedded_postgres(directory, throwaway=True) as url:
            return [
                each
                if isinstance(each, NotReplayed)
                else await _replay(
                    replace(own, database_url=url),
                    each,
                    _inputs(each.recording, options),
                    None if options.live_tools else RecordedToolServers(each.recording),
                    ForkingClient(each.recording, options.from_step, live, in_process_client(env=loaded.env)),
                    # What is only played was masked when it was recorded, by the rules of that day.
                    None if live or options.live_tools else Unmasked(),
                )
                for each in found
            ]


@dataclass(frozen=True, slots=True)
class _Replayable:
    file: Path
    recording: Recording
    outcome: RecordedOutcome


def _replayable(file: Path) -> _Replayable | NotReplayed:
    try:
        recording = RecordingFiles()(str(file))
        # Built again when it runs; here it tells whether it can be.
        session_from(recording, recorded_chain(recording, played_from(str(file))), now=SystemClock().now())
    except (RecordingUnreadableError, NotReplayableError, ValidationError) as error:
        return NotReplayed(file, str(error))
    if recording.outcome is None:
        return NotReplayed(file, "the recording holds no outcome to compare with")
    return _Replayable(file, recording, recording.outcome)


@contextmanager
def _scratch_directory() -> Generator[Path]:
    with tempfile.TemporaryDirectory(prefix="tarsy-") as directory:
        path = Path(directory)
        # The database's account has to get to its own directory in there, which it closes to all other accounts.
        path.chmod(0o711)
        yield path


def _inputs(recording: Recording, options: ReplayOptions) -> tuple[AnyInput, ...]:
    played = recording.calls[: options.from_step]
    return tuple(given.placed() for given in recording.inputs if options.live_model is None or reaches(given, played))


async def _replay(
    settings: Settings, each: _Replayable, inputs: Sequence[AnyInput], tools: ToolServers | None, client: LLMClient, mask: Mask | None
) -> ReplayOutcome:
    async with application(settings, overrides=Overrides(tools=tools, llm=client, mask=mask, recorded_inputs=inputs)) as running:
        replayed = await _run(running, each.recording, str(each.file))
    return ReplayOutcome(each.file, tuple(differences(each.outcome, replayed, version=each.recording.tarsy_recording)), replayed)


async def _run(running: Application, recording: Recording, source: str) -> RecordedOutcome:
    """Submit the recorded alert, ask the recorded questions, and read back what came of it."""
    services, pool = running.services, running.pool
    session = session_from(recording, recorded_chain(recording, played_from(source)), now=SystemClock().now())
    await SkillTextRepository(running.engine).keep(recording.skills.values())
    await services.repositories.sessions.insert(session)
    if pool:
        await pool.work_off(INVESTIGATION)
        await _follow_up(running, pool, recording, session.id)
    found = await RecordingSource(running.engine).read(session.id)
    if found is None or found.outcome is None:
        raise NotReplayableError("the replayed session has vanished")
    return found.outcome


async def _follow_up(running: Application, pool: WorkerPool, recording: Recording, session_id: str) -> None:
    """Ask and judge in the order in which it was done."""
    services, questions = running.services, iter(recording.questions)
    for kind in follow_ups(recording):
        if kind is StageType.CHAT:
            await services.repositories.chats.ask(session_id, next(questions), author="replay")
            await pool.work_off(CHAT_ANSWER)
            continue
        # The first judgement was asked for by the session's end.
        latest = await services.repositories.scores.latest(session_id)
        if latest is None or latest.status is not RunStatus.PENDING:
            await services.repositories.scores.request(session_id, requested_by="replay")
        await pool.work_off(SCORING)


def _live_provider(loaded: LoadedConfig, name: str | None) -> ResolvedProvider | None:
    providers = loaded.config.llm_providers
    if name is None:
        return None
    if name not in providers:
        raise NotReplayableError(f'There is no provider "{name}"; {did_you_mean(name, providers)}')
    if missing := providers[name].missing_variables(loaded.env):
        raise NotReplayableError(f'The provider "{name}" cannot be asked: set {" and ".join(missing)} in the environment or in .env.')
    return resolved_provider(name, providers[name])
