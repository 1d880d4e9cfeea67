"""Real `tarsy serve` processes on one embedded database, for benchmarks that go over HTTP."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tarsy.db.embedded.server import EmbeddedServer
from tarsy.domain.recording import RecordedCall, RecordedChunk, Recording

TARSY_YAML = """
queue: {worker_count: 2, max_concurrent_sessions: 6, graceful_shutdown_timeout: 1s}
defaults: {llm_provider: recorded}
agents:
  Investigator: {description: answers at once}
agent_chains:
  bench:
    alert_types: [bench]
    stages:
      - {name: investigation, agents: [{name: Investigator}]}
"""
PROVIDERS_YAML = """
llm_providers:
  recorded: {{type: replay, model: recorded, recording: {recording}}}
"""


def _recording() -> Recording:
    """A model that knows the answer without looking."""
    says = (RecordedChunk(text="The new release leaks connections; roll it back."),)
    tracks = ("0.investigation/1.Investigator", "1.executive summary/1.ExecSummaryAgent")
    return Recording(calls=tuple(RecordedCall(track=track, turn=0, chunks=says) for track in tracks))


@dataclass(slots=True)
class Processes:
    database_url: str
    directory: Path
    running: list[subprocess.Popen[str]] = field(default_factory=list[subprocess.Popen[str]])

    @property
    def postmaster(self) -> int:
        """The process id of the database."""
        return int((self.directory / "data" / "postgres" / "postmaster.pid").read_text().split()[0])

    @property
    def database_log(self) -> Path:
        return self.directory / "data" / "postgres" / "server.log"

    def configure(self, settings: str, says: Recording) -> None:
        """Write what the processes that are started from now on read: their settings, and what their model says."""
        (self.directory / "tarsy.yaml").write_text(settings)
        (self.directory / "llm-providers.yaml").write_text(PROVIDERS_YAML.format(recording=self.directory / "recording.json"))
        (self.directory / "recording.json").write_text(says.model_dump_json(exclude_none=True))

    def serve(self, role: str, *arguments: str, **environment: str) -> str:
        """Start a process and return the address it answers at."""
        line = self._started(role, "serve", "--role", role, "--port", "0", "--config", str(self.directory), *arguments, **environment)
        return line[line.index("http") :].strip().rstrip("/")

    def llm_service(self) -> str:
        """Start the model layer as a process of its own and return its address."""
        return self._started("llm", "llm-service", "--port", "0").split()[-1]

    def _started(self, name: str, *arguments: str, **environment: str) -> str:
        """The first line that a new process says."""
        command = [str(Path(sys.executable).with_name("tarsy")), *arguments]
        variables = {**os.environ, "DATABASE_URL": self.database_url, "TARSY_REPLAY_SPEED": "0", **environment}
        log = (self.directory / f"{name}-{len(self.running)}.log").open("w")
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=variables)
        self.running.append(process)
        assert process.stdout is not None
        return process.stdout.readline()

    def stop(self, *processes: subprocess.Popen[str]) -> None:
        """End these processes, or all."""
        ending = processes or tuple(self.running)
        for process in ending:
            process.terminate()
        for process in ending:
            process.wait(60)
            self.running.remove(process)


@contextmanager
def processes(settings: str = TARSY_YAML, says: Recording | None = None) -> Generator[Processes]:
    """Processes with these settings, and a model that says what is recorded."""
    with tempfile.TemporaryDirectory(prefix="tarsy-bench-") as name:
        directory = Path(name)
        server = EmbeddedServer(directory / "data")
        server.open()
        started = Processes(server.url, directory)
        started.configure(settings, says or _recording())
        try:
            yield started
        finally:
            started.stop()
            server.close()


def percentile(values: list[float], share: float) -> float:
    """In milliseconds, from seconds."""
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)] * 1000
