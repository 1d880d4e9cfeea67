"""`tarsy serve --processes`: what an operator starts as one, kills in parts, and stops as one."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import psutil
import pytest

from support.otlp_receiver import otlp_receiver
from support.tarsy_process import TARSY, Served, Tarsy, plain_environment, served
from support.warm_tarsy import warm_command

pytestmark = [pytest.mark.xdist_group("serve"), pytest.mark.timeout(200)]

# A dead worker's session is taken over at once.
QUEUE = "queue: {heartbeat_interval: 300ms, orphan_detection_interval: 500ms, orphan_threshold: 1s}\n"
GIVE_UP_SECONDS = 60
# PR_SET_CHILD_SUBREAPER: the processes below it get this parent when their own ends.
ADOPTING_TARSY = (*TARSY[:-1], f"import ctypes; assert ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) == 0; {TARSY[-1]}")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "tarsy.yaml").write_text(QUEUE)
    return tmp_path


def _workers(server: Served) -> list[psutil.Process]:
    return [child for child in psutil.Process(server.process.pid).children() if child.name().startswith("tarsy worker")]


def _until(condition: Callable[[], bool]) -> None:
    give_up = time.monotonic() + GIVE_UP_SECONDS
    while not condition():
        assert time.monotonic() < give_up
        time.sleep(0.1)


def _log(home: Path) -> list[dict[str, object]]:
    lines = (home / "serve.log").read_text().splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]


def test_forked_workers_reach_the_llm_service_and_the_collector_one_that_dies_is_replaced_and_all_end_in_order(
    home: Path, database_url: str
) -> None:
    """Channels and exporters have threads, which do not survive a fork: each process creates its own, and the parent has none."""
    service = subprocess.Popen(
        [*warm_command(), "llm-service", "--port", "0"],
        env=plain_environment(TARSY_REPLAY_SPEED="0"),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert service.stdout
        address = service.stdout.readline().split()[-1]
        with otlp_receiver() as collector:
            env = {"DATABASE_URL": database_url, "TARSY_LLM_SERVICE_ADDR": address, **collector.env}
            with served(home, "--processes", "2", command=TARSY, env=env) as server, server.client() as http:
                before = _workers(server)
                assert len(before) == 2
                before[0].kill()
                psutil.wait_procs(before[:1], GIVE_UP_SECONDS)
                sample = http.get("/api/v1/samples").json()["samples"][0]
                alert = {"data": sample["alert_data"], "alert_type": sample["alert_type"]}
                sessions = [http.post("/api/v1/alerts", json=alert).raise_for_status().json()["session_id"] for _ in range(2)]
                _until(lambda: all(http.get(f"/api/v1/sessions/{one}").json()["status"] == "completed" for one in sessions))
                _until(lambda: len(_workers(server)) == 2)
                assert psutil.Process(server.process.pid).num_threads() == 1
                _until(lambda: all(worker.num_threads() > 1 for worker in _workers(server)))
                everything = psutil.Process(server.process.pid).children(recursive=True)
                server.process.terminate()
                assert server.process.wait(GIVE_UP_SECONDS) == 0
                _, left = psutil.wait_procs(everything, GIVE_UP_SECONDS)
                assert left == []
            roots = {UUID(bytes=span.trace_id) for span in collector.spans if not span.parent_span_id}
            assert roots == {UUID(one) for one in sessions}
    finally:
        service.terminate()
        service.communicate(timeout=GIVE_UP_SECONDS)
    stopped = [line["process"] for line in _log(home) if line.get("event") == "server.stopping"]
    assert stopped[-1] == "api"
    assert set(stopped[:-1]) <= {"worker-1", "worker-2"}
    assert any(line.get("event") == "processes.ended" and line["status"] == -9 for line in _log(home))


@pytest.mark.skipif(sys.platform != "linux", reason="prctl is a call of Linux")
def test_a_parent_that_adopts_orphans_as_process_1_of_a_container_does_goes_on_when_they_end(home: Path, database_url: str) -> None:
    env = {"DATABASE_URL": database_url}
    with served(home, "--processes", "2", command=ADOPTING_TARSY, env=env) as server, server.client() as http:
        sample = http.get("/api/v1/samples").json()["samples"][0]
        http.post("/api/v1/alerts", json={"data": sample["alert_data"], "alert_type": sample["alert_type"]}).raise_for_status()
        # The worker that took it keeps the supervisor of its tool servers.
        _until(lambda: any(worker.children() for worker in _workers(server)))
        worker = next(worker for worker in _workers(server) if worker.children())
        orphans = worker.children(recursive=True)
        worker.kill()
        _, left = psutil.wait_procs([worker, *orphans], GIVE_UP_SECONDS)
        assert left == []
        _until(lambda: len(_workers(server)) == 2)
        server.process.terminate()
        assert server.process.wait(GIVE_UP_SECONDS) == 0


def test_a_parent_that_is_killed_leaves_no_process_behind(home: Path, database_url: str) -> None:
    with served(home, "--processes", "2", env={"DATABASE_URL": database_url}) as server:
        # They, and no others, work in the directory of this test.
        everything = [process for process in psutil.process_iter(["cwd"]) if process.info["cwd"] == str(home)]
        assert len(everything) >= 4
        server.process.kill()
        server.process.wait(GIVE_UP_SECONDS)
        _, left = psutil.wait_procs(everything, GIVE_UP_SECONDS)
        assert left == []


def test_what_no_restart_would_mend_ends_all_of_them_with_its_reason(home: Path, tarsy: Tarsy) -> None:
    (home / "config" / "tarsy.yaml").write_text("queue: {worker_count: many}\n")
    ended = tarsy("serve", "--port", "0", "--processes", "2", cwd=home, env={"TARSY_DATA_DIR": str(home / "data")})
    assert ended.returncode == 1
    assert "worker_count" in ended.stderr


def test_several_processes_are_a_matter_of_the_whole(home: Path, tarsy: Tarsy) -> None:
    refused = tarsy("serve", "--role", "worker", "--processes", "2", cwd=home)
    assert refused.returncode == 1
    assert "cannot be combined with --role worker" in refused.stderr
