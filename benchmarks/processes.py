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

    def serve(self, role: str) -> str:
        """Start a process and return the address it answers at."""
        command = [str(Path(sys.executable).with_name("tarsy")), "serve", "--role", role, "--port", "0", "--config", str(self.directory)]
        environment = {**os.environ, "DATABASE_URL": self.database_url, "TARSY_REPLAY_SPEED": "0"}
        log = (self.directory / f"{role}-{len(self.running)}.log").open("w")
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment)
        self.running.append(process)
        assert process.stdout is not None
        line = process.stdout.readline()
        return line[line.index("http") :].strip().rstrip("/")


@contextmanager
def processes(settings: str = TARSY_YAML, says: Recording | None = None) -> Generator[Processes]:
    """Processes with these settings, and a model that says what is recorded."""
    with tempfile.TemporaryDirectory(prefix="tarsy-bench-") as name:
        directory = Path(name)
        (directory / "tarsy.yaml").write_text(settings)
        (directory / "llm-providers.yaml").write_text(PROVIDERS_YAML.format(recording=directory / "recording.json"))
        (directory / "recording.json").write_text((says or _recording()).model_dump_json(exclude_none=True))
        server = EmbeddedServer(directory / "data")
        server.open()
        started = Processes(server.url, directory)
        try:
            yield started
        finally:
            for process in started.running:
                process.terminate()
            for process in started.running:
                process.wait(60)
            server.close()


def percentile(values: list[float], share: float) -> float:
    """In milliseconds, from seconds."""
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)] * 1000
