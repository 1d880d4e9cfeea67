"""The pipeline of production in a database of its own that is thrown away: an eval touches nothing of the installation."""

import tempfile
from collections.abc import AsyncGenerator, Generator, Iterable, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import anyio

from tarsy.agent.ports import LLMClient, ToolServers
from tarsy.config.load.loader import LoadedConfig
from tarsy.db.embedded.server import embedded_postgres
from tarsy.db.recordings import RecordingSource
from tarsy.db.skill_texts import SkillTextRepository
from tarsy.domain.recording import Recording
from tarsy.domain.session import AlertSession, NewSession
from tarsy.evals.attempt import Attempt
from tarsy.evals.reading import attempt_of
from tarsy.kit.groups import single_errors
from tarsy.session.elsewhere import Elsewhere
from tarsy.settings import Role, Settings
from tarsy.wiring import Application, application

# A scripted case takes a tenth of a second: asking more seldom would be most of the run, more often would be work for nothing.
POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Running workers, and the way to the models that they ask."""

    application: Application
    llm: LLMClient

    async def keep_skills(self, texts: Iterable[str]) -> None:
        """Store the texts of skills that recorded chains name."""
        await SkillTextRepository(self.application.engine).keep(texts)

    async def attempt(self, session: NewSession) -> Attempt:
        """Submit a session and read what came of it."""
        services = self.application.services
        masked = replace(session, alert_data=services.mask(session.alert_data))
        await services.sessions.insert(masked)
        ended = await self._end_of(masked.id)
        recording = await RecordingSource(self.application.engine).read(masked.id)
        took = (ended.completed_at - ended.started_at).total_seconds() if ended.completed_at and ended.started_at else 0.0
        spent = (await services.interactions.run(masked.id)).total_spending
        # A sum from which something is missing would pass for the whole.
        cost = float(spent.usd) if spent.usd is not None and not spent.unpriced_calls else None
        return attempt_of(recording or Recording(), seconds=took, error=ended.error_message or "", cost_usd=cost)

    async def _end_of(self, session_id: str) -> AlertSession:
        while True:
            session = await self.application.services.sessions.get(session_id)
            if session.status.is_final:
                return session
            await anyio.sleep(POLL_SECONDS)


@asynccontextmanager
async def pipeline(
    settings: Settings, loaded: LoadedConfig, llm: LLMClient, tools: ToolServers, elsewhere: Mapping[str, Elsewhere], *, jobs: int
) -> AsyncGenerator[Pipeline]:
    """The application as in production with `jobs` workers, on these tools; some sessions take place `elsewhere`, by id."""
    with _scratch_directory() as directory:
        async with embedded_postgres(directory, throwaway=True) as url:
            own = replace(settings, data_dir=directory, database_url=url, role=Role.WORKER, replay_speed=0.0)
            async with application(own, tools=tools, llm=llm, loaded=apart(loaded, jobs), elsewhere=elsewhere) as running:
                with single_errors():
                    async with anyio.create_task_group() as tasks:
                        if running.pool:
                            tasks.start_soon(running.pool.run, name="workers")
                        yield Pipeline(running, llm)
                        if running.pool:
                            running.pool.stop_now()


def apart(loaded: LoadedConfig, jobs: int) -> LoadedConfig:
    """The configuration with so many workers; what the installation may spend and what it traces are for its alerts, not for these."""
    queue = loaded.config.queue.model_copy(update={"worker_count": jobs, "max_concurrent_sessions": jobs})
    env = {name: value for name, value in loaded.env.items() if not name.startswith("OTEL_")}
    system = loaded.config.system.model_copy(update={"budgets": ()})
    return replace(loaded, config=replace(loaded.config, queue=queue, system=system), env=env)


@contextmanager
def _scratch_directory() -> Generator[Path]:
    with tempfile.TemporaryDirectory(prefix="tarsy-eval-") as directory:
        path = Path(directory)
        # The database's account has to get to its own directory in there, which it closes to all other accounts.
        path.chmod(0o711)
        yield path
