"""How many processes there are, and what each takes on."""

from pathlib import Path

import pytest

from tarsy.processes import (
    FIRST_PAUSE_SECONDS,
    LONGEST_PAUSE_SECONDS,
    START_SECONDS,
    cores,
    default_processes,
    fails_at_start,
    process_specs,
    restart_pause,
)
from tarsy.settings import ProcessRole, Settings, settings_from


@pytest.mark.parametrize(
    ("machine", "sessions", "wanted"),
    [(1, 5, 1), (64, 5, 1), (64, 50, 1), (64, 51, 2), (64, 400, 8), (4, 400, 2), (2, 400, 1)],
)
def test_there_are_as_many_processes_as_the_sessions_need_and_the_cores_can_feed(machine: int, sessions: int, wanted: int) -> None:
    assert default_processes(machine, sessions) == wanted


def test_a_container_counts_the_cores_it_was_given(tmp_path: Path) -> None:
    everything = cores(tmp_path / "absent")
    quota = tmp_path / "cpu.max"
    quota.write_text("max 100000\n")
    assert cores(quota) == everything
    quota.write_text("50000 100000\n")
    assert cores(quota) == 1


def test_probes_of_workers_are_at_the_ports_that_follow() -> None:
    api, first, second = process_specs(2, host="127.0.0.1", port=8080, more=("--insecure",))
    ports = [spec.arguments[spec.arguments.index("--port") + 1] for spec in (api, first, second)]
    assert ports == ["8080", "8081", "8082"]
    assert [spec.role for spec in (api, first, second)] == [ProcessRole.API, ProcessRole.WORKER, ProcessRole.WORKER]
    assert all(spec.arguments[-1] == "--insecure" for spec in (api, first, second))
    assert [spec.arguments[spec.arguments.index("--port") + 1] for spec in process_specs(1, host="::1", port=0, more=())] == ["0", "0"]


def test_processes_share_what_one_would_take_on() -> None:
    assert Settings(env={}).share(7) == 7
    shared = settings_from({"TARSY_PROCESSES_SHARING": "4", "TARSY_LIFELINE": "9"})
    assert (shared.share(5), shared.share(7, least=3), shared.lifeline) == (2, 3, 9)


def test_a_process_that_crashes_after_its_start_is_restarted_and_one_that_cannot_start_ends_all() -> None:
    assert fails_at_start(1, 2.0, ended_before=False)
    # An error after days of work, a killed process, and one that ran before.
    assert not fails_at_start(1, START_SECONDS, ended_before=False)
    assert not fails_at_start(-9, 2.0, ended_before=False)
    assert not fails_at_start(1, 2.0, ended_before=True)


def test_a_process_that_fails_again_and_again_is_restarted_after_growing_pauses_and_one_that_ran_for_long_at_once() -> None:
    pauses = [restart_pause(None, 2.0)]
    for _ in range(6):
        pauses.append(restart_pause(pauses[-1], 2.0))
    assert pauses == [1.0, 2.0, 4.0, 8.0, 16.0, LONGEST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS]
    assert restart_pause(pauses[-1], START_SECONDS) == FIRST_PAUSE_SECONDS
