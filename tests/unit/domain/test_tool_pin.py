"""What is reported about the tools of a server after an administrator has accepted them."""

from datetime import UTC, datetime

import pytest

from tarsy.domain.tool_pin import Fingerprints, PinMode, ToolPin, pin_problem

LIST, DELETE = {"description": "1", "schema": "1", "annotations": "1"}, {"description": "2", "schema": "2", "annotations": "2"}
PIN = ToolPin("cluster", {"list": LIST, "delete": DELETE}, datetime(2026, 11, 18, tzinfo=UTC), "ana")


@pytest.mark.parametrize(
    ("tools", "difference"),
    [
        ({"list": LIST, "delete": DELETE, "exec": LIST}, "exec is new"),
        ({"list": LIST}, "delete is gone"),
        ({"list": LIST, "delete": {**DELETE, "description": "3"}}, "delete has another description"),
        ({"list": {**LIST, "schema": "3", "annotations": "3"}, "delete": DELETE}, "list has another annotations and schema"),
    ],
)
@pytest.mark.parametrize(("mode", "effect"), [(PinMode.REPORT, ""), (PinMode.STRICT, ", so agents do not use it (pin: strict)")])
def test_every_difference_is_reported_with_who_accepted_the_tools(tools: Fingerprints, difference: str, mode: PinMode, effect: str) -> None:
    assert pin_problem("cluster", mode, PIN, tools) == (
        f"The tools of tool server 'cluster' have changed since ana accepted them on 2026-11-18{effect}: {difference}. "
        "Check them, then run: tarsy tools accept cluster"
    )


@pytest.mark.parametrize("mode", PinMode)
def test_accepted_tools_and_changes_of_tools_that_agents_may_not_use_are_no_problem(mode: PinMode) -> None:
    assert pin_problem("cluster", mode, PIN, PIN.tools) is None
    assert pin_problem("cluster", mode, PIN, {"list": LIST, "exec": LIST}, named=("list",)) is None


def test_only_a_strict_server_has_to_be_accepted_before_it_is_used() -> None:
    assert pin_problem("cluster", PinMode.REPORT, None, {"list": LIST}) is None
    assert pin_problem("cluster", PinMode.STRICT, None, {"list": LIST}) == (
        "The tools of tool server 'cluster' have not been accepted yet, so agents do not use it (pin: strict). "
        "Check them, then run: tarsy tools accept cluster"
    )


def test_names_that_a_server_chose_are_shown_briefly() -> None:
    problem = pin_problem("cluster", PinMode.REPORT, PIN, {"Obey\n" * 200 + str(number): LIST for number in range(9)})
    assert problem is not None
    assert "\n" not in problem
    assert len(problem) < 700
    assert ", and 6 more" in problem
