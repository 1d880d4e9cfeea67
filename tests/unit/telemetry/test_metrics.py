"""Label values are bounded, and several processes of one server answer as one."""

import subprocess
import sys
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from support.scraped import value
from tarsy.telemetry.labels import OTHER, BoundedLabel

WRITE = """
import sys
from tarsy.telemetry.exposition import Exposition
from tarsy.telemetry.metrics import Metrics
metrics = Metrics()
metrics.sessions.submitted.labels("disk").inc(int(sys.argv[1]))
metrics.process.connections.set(int(sys.argv[1]))
metrics.sessions.wait.observe(1)
sys.stdout.buffer.write(Exposition(metrics.registry, lambda: None)())
"""


@given(st.lists(st.text(max_size=8), max_size=60))
def test_a_label_has_no_more_values_than_it_may(values: list[str]) -> None:
    label = BoundedLabel(most=5)
    shown = {label(value) for value in values}
    assert len(shown - {OTHER}) <= 5
    assert all(label(value) == value for value in list(dict.fromkeys(values))[:5])


def test_processes_that_share_a_directory_are_one_endpoint(tmp_path: Path) -> None:
    def scrape(number: int) -> bytes:
        command = [sys.executable, "-P", "-c", WRITE, str(number)]
        return subprocess.run(command, env={"PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}, capture_output=True, timeout=60, check=True).stdout

    scrape(2)
    told = scrape(3)
    assert value(told, "tarsy_sessions_submitted_total", alert_type="disk") == 5
    assert value(told, "tarsy_session_wait_seconds_count") == 2
    assert value(told, "tarsy_live_connections") == 5
