"""Access to the setup page: a code that only the terminal shows is exchanged once for a ticket that is valid for an hour."""

import hashlib
import hmac
import secrets
from datetime import datetime, timedelta

from tarsy.kit.clock import Clock

# Without 0, 1, I, L, O and U, which are mistaken for others most often.
ALPHABET = "ABCDEFGHJKMNPQRSTVWXYZ23456789"
# 30^8 codes and five guesses: a stranger's chance is one in a hundred billion.
CODE_LENGTH = 8
MAX_ATTEMPTS = 5
# Longer than it takes to fetch a key from a vendor's page and a tool server from a slow network.
TICKET_LIFE = timedelta(hours=1)


class AccessDeniedError(Exception):
    """The code is wrong, used, or there is none; the caller can act. Never names a code."""


class SetupAccess:
    """Lives as long as its process: a restart invalidates every earlier code and ticket."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._code: bytes | None = None
        self._attempts_left = 0
        self._ticket: bytes | None = None
        self._ticket_expires: datetime | None = None

    def issue(self) -> str:
        """Return a new code, for the terminal only; it invalidates the one before."""
        letters = "".join(secrets.choice(ALPHABET) for _ in range(CODE_LENGTH))
        self._code, self._attempts_left = _digest(letters), MAX_ATTEMPTS
        return f"{letters[:4]}-{letters[4:]}"

    @property
    def has_code(self) -> bool:
        """Whether there is a code that was not used yet."""
        return self._code is not None

    def exchange(self, code: str) -> str:
        """Exchange the code for a ticket.

        Raises:
            AccessDeniedError: with what to do about it.
        """
        if self._code is None:
            raise AccessDeniedError("No setup code is valid now. Restart `tarsy serve` in a terminal: it prints a new one.")
        typed = "".join(letter for letter in code.upper() if letter.isalnum())
        if not hmac.compare_digest(_digest(typed), self._code):
            self._attempts_left -= 1
            if self._attempts_left:
                raise AccessDeniedError(f"This is not the code that the terminal shows. Attempts left: {self._attempts_left}.")
            self._code = None
            raise AccessDeniedError(
                "This is not the code, and no attempts are left. Restart `tarsy serve` in a terminal: it prints a new one."
            )
        self._code = None
        ticket = secrets.token_urlsafe(32)
        self._ticket, self._ticket_expires = _digest(ticket), self._clock.now() + TICKET_LIFE
        return ticket

    def admits(self, ticket: str) -> bool:
        """Whether this is the ticket that the code was exchanged for, and it has not expired."""
        if self._ticket is None or self._ticket_expires is None or self._clock.now() >= self._ticket_expires:
            return False
        return hmac.compare_digest(_digest(ticket), self._ticket)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
