"""The door to setting things up. A code that only the terminal shows opens it once; what it hands out then is good for an hour."""

import hashlib
import hmac
import secrets
from datetime import datetime, timedelta

from tarsy.kit.clock import Clock

# No letter or digit that could be taken for another.
ALPHABET = "ABCDEFGHJKMNPQRSTVWXYZ23456789"
# 30^8 codes and five guesses: a stranger's chance is one in a hundred billion.
CODE_LENGTH = 8
MAX_ATTEMPTS = 5
# Longer than it takes to fetch a key from a vendor's page and a tool server from a slow network.
TICKET_LIFE = timedelta(hours=1)


class DoorClosedError(Exception):
    """The code is wrong, used, or there is none; the caller can act. Never names a code."""


class Door:
    """Lives as long as its process: a restart makes every earlier code and ticket worthless."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._code: bytes | None = None
        self._attempts_left = 0
        self._ticket: bytes | None = None
        self._open_until: datetime | None = None

    def issue(self) -> str:
        """A new code, for the terminal alone; the one before is worthless."""
        letters = "".join(secrets.choice(ALPHABET) for _ in range(CODE_LENGTH))
        self._code, self._attempts_left = _digest(letters), MAX_ATTEMPTS
        return f"{letters[:4]}-{letters[4:]}"

    @property
    def has_code(self) -> bool:
        """Whether there is a code that a person may have read and not used yet."""
        return self._code is not None

    def open(self, code: str) -> str:
        """Exchange the code for a ticket.

        Raises:
            DoorClosedError: saying what to do.
        """
        if self._code is None:
            raise DoorClosedError("There is no code that could be used. Start `tarsy serve` again in a terminal: it prints a new one.")
        typed = "".join(letter for letter in code.upper() if letter.isalnum())
        if not hmac.compare_digest(_digest(typed), self._code):
            raise self._refused()
        self._code = None
        ticket = secrets.token_urlsafe(32)
        self._ticket, self._open_until = _digest(ticket), self._clock.now() + TICKET_LIFE
        return ticket

    def admits(self, ticket: str) -> bool:
        """Whether this is the ticket that the code was exchanged for, and its hour is not over."""
        if self._ticket is None or self._open_until is None or self._clock.now() >= self._open_until:
            return False
        return hmac.compare_digest(_digest(ticket), self._ticket)

    def _refused(self) -> DoorClosedError:
        self._attempts_left -= 1
        if self._attempts_left:
            return DoorClosedError(f"This is not the code that the terminal shows. {self._attempts_left} more attempts are allowed.")
        self._code = None
        return DoorClosedError(
            "This is not the code, and it was the last attempt. Start `tarsy serve` again in a terminal: it prints a new one."
        )


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
