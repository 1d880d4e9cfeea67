"""Replays recordings of whole sessions in a temporary database, up to a given call if a live model continues from there."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from tarsy.agent.execution import SessionOverrides
from tarsy.agent.ports import LLMClient
from tarsy.agent.toolbox.approval import RecordedApprovals
from tarsy.config.load.loader import LoadedConfig, load_config
from tarsy.config.problems import did_you_mean
from tarsy.config.resolve.resolved import ResolvedChain, ResolvedProvider, fitting_backend, resolved_provider, resolved_server
from tarsy.config.schema.configuration import Config
from tarsy.db.embedded.server import temporary_postgres
from tarsy.db.session.recordings import RecordingSource
from tarsy.db.skill_texts import SkillTextRepository
from tarsy.domain.claim import CHAT_ANSWER, INVESTIGATION, SCORING
from tarsy.domain.llm import Chunk, GenerateInput, LLMHealth
from tarsy.domain.recording import RULES_SINCE, RecordedCall, RecordedOutcome, Recording, reaches_fork
from tarsy.domain.replay import Difference, differences
from tarsy.domain.session import NewSession
from tarsy.domain.stage import StageType
from tarsy.domain.status import RunStatus
from tarsy.kit.clock import SystemClock
from tarsy.llm.in_process import in_process_client
from tarsy.llm.providers.replay import RecordingFiles, RecordingUnreadableError
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
    # The number of recorded calls before the live model is called.
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
    """Replay recordings, one after the other, in a temporary database. One that cannot be replayed does not stop the others.

    Raises:
        NotReplayableError: there is no such model, or no key for it.
    """
    # All errors are reported before a database is started.
    loaded = load_config(settings.config_dir, settings.env)
    live = _live_provider(loaded, options.live_model)
    found = [(file, _load_replayable(file, loaded.config if options.live_tools else None)) for file in files]
    refused = [each for _, each in found if isinstance(each, NotReplayed)]
    if len(refused) == len(found):
        return [*refused]
    results: list[ReplayOutcome | NotReplayed] = []
    async with temporary_postgres() as (directory, url):
        temporary = replace(settings, data_dir=directory, replay_speed=0.0, database_url=url)
        for file, each in found:
            if isinstance(each, NotReplayed):
                results.append(each)
                continue
            recording, outcome, session = each
            played = recording.calls[: options.from_step]
            inputs = [given.placed() for given in recording.inputs if live is None or reaches_fork(given, played)]
            replayed_as = SessionOverrides(
                clock=SystemClock(),
                recorded_inputs=inputs,
                older_rules=live is None and recording.tarsy_recording < RULES_SINCE,
            )
            overrides = Overrides(
                tools=None if options.live_tools else RecordedToolServers(recording, live_model=live is not None),
                llm=PartlyLiveClient(played, live, in_process_client(env=loaded.env)) if live else in_process_client(env=loaded.env),
                # A recording was masked when it was made, by the rules of that time.
                mask=None if live or options.live_tools else Unmasked(),
                # A call that a person approved once is not made a second time on live servers.
                approvals=None if options.live_tools else RecordedApprovals(inputs),
                sessions={session.id: replayed_as},
            )
            async with application(temporary, overrides=overrides) as running:
                replayed = await _run(running, recording, session)
            found_differences = tuple(differences(outcome, replayed, version=recording.tarsy_recording))
            results.append(ReplayOutcome(file, found_differences, replayed))
    return results


class PartlyLiveClient:
    """Sends the `played` calls to the recorded model, and all others to a live one."""

    def __init__(self, played: Sequence[RecordedCall], live: ResolvedProvider, inner: LLMClient) -> None:
        self._played = {(call.track, call.turn) for call in played}
        self._live = live
        self._inner = inner

    async def generate(self, request: GenerateInput) -> AsyncGenerator[Chunk]:
        if (request.track, request.turn) not in self._played:
            request = replace(request, provider=self._live, backend=fitting_backend(request.backend, self._live))
        async with aclosing(self._inner.generate(request)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def health(self) -> LLMHealth:
        return await self._inner.health()

    async def aclose(self) -> None:
        await self._inner.aclose()


def _load_replayable(file: Path, live: Config | None) -> tuple[Recording, RecordedOutcome, NewSession] | NotReplayed:
    """Load a recording, and return the session that replays it; its tools are called on the servers of `live`, if given."""
    try:
        recording = RecordingFiles()(str(file))
        chain = recorded_chain(recording, played_from(str(file)))
        if live:
            chain = _with_own_servers(chain, live)
        session = session_from(recording, chain, now=SystemClock().now())
    except (RecordingUnreadableError, NotReplayableError, ValidationError) as error:
        return NotReplayed(file, str(error))
    if recording.outcome is None:
        return NotReplayed(file, "the recording holds no outcome to compare with")
    return recording, recording.outcome, session


def _with_own_servers(chain: ResolvedChain, config: Config) -> ResolvedChain:
    """Return a recorded chain with the configured servers of the same names: a recording must not choose a program or an address."""
    if unknown := sorted(chain.mcp_servers.keys() - config.mcp_servers.keys()):
        names = " and ".join(f'"{name}"' for name in unknown)
        raise NotReplayableError(f"your configuration has no tool server {names}: add it, or leave out --live-tools")
    # Both only reach the model, which is recorded too.
    servers = {
        name: resolved_server(config, name).model_copy(
            update={"instructions": recorded.instructions, "summarization": recorded.summarization}
        )
        for name, recorded in chain.mcp_servers.items()
    }
    return chain.model_copy(update={"mcp_servers": servers})


async def _run(running: Application, recording: Recording, session: NewSession) -> RecordedOutcome:
    """Run the session, ask the recorded questions, and return the outcome."""
    services, pool = running.services, running.pool
    await SkillTextRepository(running.engine).store(recording.skills.values())
    await services.repositories.sessions.insert(session)
    await pool.run_waiting(INVESTIGATION)
    questions = iter(recording.questions)
    for kind in follow_ups(recording):
        if kind is StageType.CHAT:
            await services.repositories.chats.ask(session.id, next(questions), author="replay")
            await pool.run_waiting(CHAT_ANSWER)
            continue
        # The end of the session has already requested the first score.
        latest = await services.repositories.scores.latest(session.id)
        if latest is None or latest.status is not RunStatus.PENDING:
            await services.repositories.scores.request(session.id, requested_by="replay")
        await pool.run_waiting(SCORING)
    found = await RecordingSource(running.engine).read(session.id)
    if found is None or found.outcome is None:
        raise NotReplayableError("the replayed session is missing from the database")
    return found.outcome


def _live_provider(loaded: LoadedConfig, name: str | None) -> ResolvedProvider | None:
    providers = loaded.config.llm_providers
    if name is None:
        return None
    if name not in providers:
        raise NotReplayableError(f'There is no provider "{name}"; {did_you_mean(name, providers)}')
    if missing := providers[name].missing_variables(loaded.env):
        raise NotReplayableError(f'The provider "{name}" cannot be asked: set {" and ".join(missing)} in the environment or in .env.')
    return resolved_provider(name, providers[name])
