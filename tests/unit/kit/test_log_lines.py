"""Log lines: masked, and not without end."""

import json
import logging
import warnings
from collections.abc import Iterator

import pytest
import structlog
from structlog.testing import capture_logs

from tarsy.kit.logs import LINES_PER_WINDOW, MAX_LIBRARY_MESSAGE, WINDOW_SECONDS, LogLimit, configure_logs, log_mask, logged_errors


class Wrist:
    """A clock whose time the test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def passes(limit: LogLimit, **line: object) -> dict[str, object] | None:
    try:
        return dict(limit(None, "warning", {"event": "queue.failed", **line}))
    except structlog.DropEvent:
        return None


def test_an_error_that_is_logged_ends_its_block_alone_and_one_without_a_text_is_named_by_its_kind() -> None:
    with capture_logs() as lines:
        for error in (TimeoutError(), OSError("the disk is full")):
            with logged_errors("retention.failed", round=1):
                raise error
    assert lines == [
        {"event": "retention.failed", "log_level": "warning", "round": 1, "error": "TimeoutError"},
        {"event": "retention.failed", "log_level": "warning", "round": 1, "error": "the disk is full"},
    ]


def test_a_line_that_repeats_is_let_through_so_often_and_then_counted() -> None:
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


def test_a_secret_in_a_list_or_a_mapping_of_a_line_is_masked(masked: None, capsys: pytest.CaptureFixture[str]) -> None:
    nested = {"problems": ["tarsy.yaml:3: the key hunter2"], "changed": ("hunter2", 1), "settings": {"a": {"b": ["hunter2"]}}}
    structlog.get_logger().error("config.refused", **nested)
    logged = json.loads(capsys.readouterr().err)
    assert {name: logged[name] for name in nested} == {
        "problems": ["tarsy.yaml:3: the key [MASKED]"],
        "changed": ["[MASKED]", 1],
        "settings": {"a": {"b": ["[MASKED]"]}},
    }


def test_what_libraries_log_is_json_masked_and_limited(masked: None, capsys: pytest.CaptureFixture[str]) -> None:
    vendor = logging.getLogger("vendor.sdk")
    vendor.info("POST /v1/chat 200")
    for number in range(500):
        vendor.warning("retrying request %d with the key hunter2", number)
    try:
        int("hunter2")
    except ValueError:
        logging.getLogger("another").exception("x" * 10_000)
    logging.getLogger("another").log(35, "between two levels")
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [line["message"] for line in lines[:-2]] == [
        f"retrying request {number} with the key [MASKED]" for number in range(LINES_PER_WINDOW)
    ]
    assert {(line["event"], line["level"], line["logger"]) for line in lines[:-2]} == {("library.log", "warning", "vendor.sdk")}
    error, odd = lines[-2:]
    assert (error["level"], len(error["message"]) <= MAX_LIBRARY_MESSAGE) == ("error", True)
    assert "hunter2" not in error["exception"]
    assert (odd["level"], odd["message"]) == ("warning", "between two levels")


@pytest.mark.filterwarnings("default")
def test_a_warning_of_a_library_is_a_line_too(capsys: pytest.CaptureFixture[str]) -> None:
    # After pytest has set up its own recording of warnings.
    configure_logs()
    warnings.warn("this will go away", FutureWarning, stacklevel=1)
    (line,) = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert (line["logger"], "this will go away" in line["message"]) == ("py.warnings", True)
