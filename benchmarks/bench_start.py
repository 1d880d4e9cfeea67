"""How soon TARSy is there: `tarsy --help`, a first and a warm start of the server, and an alert that a worker begins to work on."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import httpx
from websockets.sync.client import ClientConnection, connect

RUNS = int(os.environ.get("BENCH_RUNS", "5"))
ALERTS = 20
HELP_SECONDS, WARM_SECONDS, CLAIM_SECONDS = 0.4, 3.0, 0.1
TARSY = str(Path(sys.executable).with_name("tarsy"))
PATIENCE = 60.0


def help_seconds() -> float:
    started = time.monotonic()
    subprocess.run([TARSY, "--help"], check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - started


@contextmanager
def server(directory: Path) -> Generator[tuple[str, float]]:
    """A server on the data in `directory`: its address, and the seconds from the command to a healthy answer."""
    environment = {**os.environ, "TARSY_DATA_DIR": str(directory / "data"), "TARSY_REPLAY_SPEED": "0"}
    started = time.monotonic()
    with (directory / "serve.log").open("a") as log:
        command = [TARSY, "serve", "--port", "0"]
        process = subprocess.Popen(command, cwd=directory, env=environment, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        assert process.stdout
        line = process.stdout.readline()
        address = line[line.index("http") :].strip().rstrip("/")
        httpx.get(f"{address}/health", timeout=PATIENCE).raise_for_status()
        yield address, time.monotonic() - started
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)


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


def told(what: str, values: Sequence[float], limit: float | None = None) -> bool:
    goal = f"   (limit {limit * 1000:.0f} ms)" if limit else ""
    print(f"{what:<36} median {median(values) * 1000:7.0f} ms   worst {max(values) * 1000:7.0f} ms   of {len(values)}{goal}")
    return limit is None or median(values) <= limit


def main() -> bool:
    with tempfile.TemporaryDirectory(prefix="tarsy-bench-") as name:
        directory = Path(name)
        directory.chmod(0o711)
        quick = told("tarsy --help", [help_seconds() for _ in range(RUNS)], HELP_SECONDS)
        with server(directory) as (_, seconds):
            told("first start until /health is 200", [seconds])
        warm: list[float] = []
        for _ in range(RUNS):
            with server(directory) as (address, seconds):
                warm.append(seconds)
        quick &= told("warm start until /health is 200", warm, WARM_SECONDS)
        with server(directory) as (address, _):
            quick &= told("alert sent until seen in_progress", claims(address), CLAIM_SECONDS)
    return quick


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
