"""Log lines: masked, and not without end."""

import json
from collections.abc import Iterator

import pytest
import structlog

from tarsy.kit.logs import LINES_PER_WINDOW, WINDOW_SECONDS, LogLimit, configure_logs, log_mask


class Wrist:
    """A clock that is told the time."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def passes(limit: LogLimit, **line: object) -> dict[str, object] | None:
    try:
        return dict(limit(None, "warning", {"event": "queue.failed", **line}))
    except structlog.DropEvent:
        return None


def test_a_line_that_repeats_is_let_through_so_often_and_then_told_by_number() -> None:
    clock = Wrist()
    limit = LogLimit(clock)
    reported = [passes(limit, error="down", session_id=str(number)) for number in range(LINES_PER_WINDOW + 5)]
    assert [line is not None for line in reported] == [True] * LINES_PER_WINDOW + [False] * 5
    assert passes(limit, error="another") is not None
    clock.now = WINDOW_SECONDS
    assert passes(limit, error="down") == {"event": "queue.failed", "error": "down", "left_out": 5}
    assert passes(limit, error="down") == {"event": "queue.failed", "error": "down"}


@pytest.fixture
def masked() -> Iterator[None]:
    configure_logs()
    log_mask.mask = lambda text: text.replace("hunter2", "[MASKED]")
    yield
    log_mask.mask = str
    structlog.reset_defaults()


def test_no_line_tells_a_secret_nor_does_its_traceback(masked: None, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        int("hunter2")
    except ValueError:
        structlog.get_logger().exception("work.broke", error="hunter2", session_id="hunter2-is-an-id")
    logged = json.loads(capsys.readouterr().err)
    assert "hunter2" not in logged["exception"]
    assert logged["error"] == "[MASKED]"
    assert logged["session_id"] == "hunter2-is-an-id"
