"""How soon TARSy is there: `tarsy --help`, a first and a warm start of the server, and an alert that a worker begins to work on.

A start is told until `/health` is 200, which is asked all the time, and until everything is loaded and the address is printed. A warm start has its
database: the embedded one, which it starts with itself, or one that runs already.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import httpx
import psutil
import structlog
from machine import interpreter_start_ms
from websockets.sync.client import ClientConnection, connect

from tarsy.db.embedded.server import EmbeddedServer

RUNS = int(os.environ.get("BENCH_RUNS", "5"))
ALERTS = 20
HELP_SECONDS, WARM_SECONDS, CLAIM_SECONDS = 0.4, 3.0, 0.1
POLL_SECONDS = 0.005
TARSY = str(Path(sys.executable).with_name("tarsy"))
PATIENCE = 60.0


def help_seconds() -> float:
    started = time.monotonic()
    subprocess.run([TARSY, "--help"], check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - started


@dataclass(frozen=True, slots=True)
class Started:
    """A server's address; the seconds from its command until it was healthy, and until all of it was there; the CPU that took."""

    address: str
    healthy: float
    ready: float
    cpu: float


def free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        return taken.getsockname()[1]


@contextmanager
def server(directory: Path) -> Generator[Started]:
    """A server on the data in `directory`."""
    environment = {**os.environ, "TARSY_DATA_DIR": str(directory / "data"), "TARSY_REPLAY_SPEED": "0"}
    port = free_port()
    address, started = f"http://127.0.0.1:{port}", time.monotonic()
    with (directory / "serve.log").open("a") as log:
        command = [TARSY, "serve", "--port", str(port)]
        process = subprocess.Popen(command, cwd=directory, env=environment, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        assert process.stdout
        await_health(address)
        healthy = time.monotonic() - started
        assert process.stdout.readline()
        yield Started(address, healthy, time.monotonic() - started, sum(psutil.Process(process.pid).cpu_times()[:2]))
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)


def await_health(address: str) -> None:
    with httpx.Client(base_url=address, timeout=PATIENCE) as http:
        give_up = time.monotonic() + PATIENCE
        while time.monotonic() < give_up:
            with suppress(httpx.TransportError):
                if http.get("/health").is_success:
                    return
            time.sleep(POLL_SECONDS)
        raise TimeoutError(f"{address} did not become healthy")


def claim_seconds(http: httpx.Client, live: ClientConnection, alert: dict[str, str]) -> float:
    """From sending an alert until a subscriber of the list reads that it is in progress; returns when it is finished."""
    started = time.monotonic()
    session = http.post("/api/v1/alerts", json=alert).raise_for_status().json()["session_id"]
    claimed = 0.0
    while True:
        event = json.loads(live.recv(timeout=PATIENCE))
        if event.get("session_id") != session:
            continue
        if event["type"] == "session.status" and event["status"] == "in_progress":
            claimed = time.monotonic() - started
        if event["type"] == "session.completed" or event.get("status") in {"completed", "failed"}:
            return claimed


def claims(address: str) -> list[float]:
    with httpx.Client(base_url=address, timeout=PATIENCE) as http, connect(address.replace("http", "ws") + "/ws") as live:
        live.send(json.dumps({"action": "subscribe", "channel": "sessions"}))
        while json.loads(live.recv(timeout=PATIENCE))["type"] != "subscription.confirmed":
            pass
        sample = next(sample for sample in http.get("/api/v1/samples").json()["samples"] if sample["name"] == "flapping")
        alert = {"data": sample["alert_data"], "alert_type": sample["alert_type"]}
        # The first one imports what the others find imported.
        return [claim_seconds(http, live, alert) for _ in range(ALERTS + 1)][1:]


def report(what: str, values: Sequence[float], limit: float | None = None) -> bool:
    goal = f"   (limit {limit * 1000:.0f} ms)" if limit else ""
    print(f"{what:<44} median {median(values) * 1000:7.0f} ms   worst {max(values) * 1000:7.0f} ms   of {len(values)}{goal}")
    return limit is None or median(values) <= limit


def one_start(directory: Path) -> Started:
    with server(directory) as started:
        return started


def starts(what: str, found: Sequence[Started]) -> bool:
    report(f"start, {what}: /health is 200", [one.healthy for one in found])
    report(f"start, {what}: CPU", [one.cpu for one in found])
    start = interpreter_start_ms()
    print(f"{'':44} = {median(one.cpu for one in found) * 1000 / start:7.1f} starts of an interpreter, {start:.1f} ms each")
    return report(f"start, {what}: all there", [one.ready for one in found], WARM_SECONDS)


def main() -> bool:
    with tempfile.TemporaryDirectory(prefix="tarsy-bench-") as name:
        directory = Path(name)
        directory.chmod(0o711)
        quick = report("tarsy --help", [help_seconds() for _ in range(RUNS)], HELP_SECONDS)
        with server(directory) as first:
            report("first start until /health is 200", [first.healthy])
        quick &= starts("with its database", [one_start(directory) for _ in range(RUNS)])
        database = EmbeddedServer(directory / "data")
        database.open()
        try:
            quick &= starts("database runs", [one_start(directory) for _ in range(RUNS)])
        finally:
            database.close()
        with server(directory) as running:
            quick &= report("alert sent until seen in_progress", claims(running.address), CLAIM_SECONDS)
    return quick


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    sys.exit(0 if main() else 1)
