"""The setup code: read in one place, used once, guessed by no one."""

from datetime import timedelta

import pytest

from tarsy.kit.clock import FixedClock
from tarsy.setup.access import MAX_ATTEMPTS, TICKET_LIFE, AccessDeniedError, SetupAccess


def test_the_code_opens_once_however_it_is_typed() -> None:
    access = SetupAccess(FixedClock())
    code = access.issue()
    ticket = access.exchange(f" {code.replace('-', ' ').lower()} ")
    assert access.admits(ticket)
    assert not access.has_code
    with pytest.raises(AccessDeniedError, match="prints a new one"):
        access.exchange(code)


def test_a_few_wrong_codes_end_it() -> None:
    access = SetupAccess(FixedClock())
    code = access.issue()
    for left in range(MAX_ATTEMPTS - 1, 0, -1):
        with pytest.raises(AccessDeniedError, match=f"Attempts left: {left}"):
            access.exchange("WRONG-ONE")
    with pytest.raises(AccessDeniedError, match="no attempts are left"):
        access.exchange("")
    with pytest.raises(AccessDeniedError, match="No setup code"):
        access.exchange(code)


def test_nothing_opens_it_before_a_code_was_printed_and_no_ticket_of_another_process() -> None:
    access = SetupAccess(FixedClock())
    with pytest.raises(AccessDeniedError):
        access.exchange("")
    other = SetupAccess(FixedClock())
    assert not access.admits(other.exchange(other.issue()))
    assert not access.admits("")


def test_a_ticket_is_good_for_an_hour() -> None:
    clock = FixedClock()
    access = SetupAccess(clock)
    ticket = access.exchange(access.issue())
    clock.at += TICKET_LIFE - timedelta(seconds=1)
    assert access.admits(ticket)
    clock.at += timedelta(seconds=1)
    assert not access.admits(ticket)
