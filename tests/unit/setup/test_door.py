"""The setup code: read in one place, used once, guessed by no one."""

from datetime import timedelta

import pytest

from tarsy.kit.clock import FixedClock
from tarsy.setup.access import MAX_ATTEMPTS, TICKET_LIFE, Door, DoorClosedError


def test_the_code_opens_once_however_it_is_typed() -> None:
    door = Door(FixedClock())
    code = door.issue()
    ticket = door.open(f" {code.replace('-', ' ').lower()} ")
    assert door.admits(ticket)
    assert not door.has_code
    with pytest.raises(DoorClosedError, match="prints a new one"):
        door.open(code)


def test_a_few_wrong_codes_end_it() -> None:
    door = Door(FixedClock())
    code = door.issue()
    for left in range(MAX_ATTEMPTS - 1, 0, -1):
        with pytest.raises(DoorClosedError, match=f"{left} more"):
            door.open("WRONG-ONE")
    with pytest.raises(DoorClosedError, match="last attempt"):
        door.open("")
    with pytest.raises(DoorClosedError, match="no code"):
        door.open(code)


def test_nothing_opens_it_before_a_code_was_printed_and_no_ticket_of_another_process() -> None:
    door = Door(FixedClock())
    with pytest.raises(DoorClosedError):
        door.open("")
    other = Door(FixedClock())
    assert not door.admits(other.open(other.issue()))
    assert not door.admits("")


def test_a_ticket_is_good_for_an_hour() -> None:
    clock = FixedClock()
    door = Door(clock)
    ticket = door.open(door.issue())
    clock.at += TICKET_LIFE - timedelta(seconds=1)
    assert door.admits(ticket)
    clock.at += timedelta(seconds=1)
    assert not door.admits(ticket)
