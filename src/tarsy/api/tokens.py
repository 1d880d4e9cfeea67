"""The API tokens of the environment, and the login cookie that a browser gets for one. Other tokens are in the database."""

import base64
import hashlib
import hmac
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tarsy.domain.access_role import AccessRole

COOKIE_NAME = "tarsy_login"
# A month: people seldom log in, and a lost laptop does not give access forever.
COOKIE_SECONDS = 30 * 24 * 3600


class TokenSettingError(ValueError):
    """TARSY_API_TOKENS cannot be used; the operator can act. Never names a token."""


@dataclass(frozen=True, slots=True)
class ApiTokens:
    """Names and their tokens."""

    by_name: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    # Of the names for which one is given.
    roles: Mapping[str, AccessRole] = field(default_factory=dict[str, AccessRole])

    def __bool__(self) -> bool:
        return bool(self.by_name)

    def name_of(self, token: str) -> str | None:
        """Return the name of a token's owner, in the same time for every token, known or not."""
        given = _digest(token)
        found = None
        for name, known in self.by_name.items():
            if hmac.compare_digest(given, _digest(known)):
                found = name
        return found

    def cookie_for(self, name: str, *, now: float) -> str:
        """Return a value that proves a login with the token of `name` without containing it; it is invalid once the token is removed."""
        expires = int(now) + COOKIE_SECONDS
        label = base64.urlsafe_b64encode(name.encode()).decode().rstrip("=")
        return f"{label}.{expires}.{self._signature(name, expires)}"

    def name_of_cookie(self, cookie: str, *, now: float) -> str | None:
        """Return who logged in; None if the cookie is forged or expired, or its token was removed."""
        try:
            label, expires_text, signature = cookie.split(".")
            name = base64.urlsafe_b64decode(label + "=" * (-len(label) % 4)).decode()
            expires = int(expires_text)
        except ValueError:
            return None
        if name not in self.by_name or expires < now:
            return None
        genuine = hmac.compare_digest(signature.encode(), self._signature(name, expires).encode())
        return name if genuine else None

    def _signature(self, name: str, expires: int) -> str:
        key = _digest("cookie:" + self.by_name[name])
        return hmac.new(key, f"{name}|{expires}".encode(), hashlib.sha256).hexdigest()


def read_tokens(setting: str | None) -> ApiTokens:
    """Read TARSY_API_TOKENS: `name:role=token` or `name=token`, separated by commas or lines, or the path of a file of such lines.

    Raises:
        TokenSettingError: with the reason.
    """
    text = (setting or "").strip()
    if not text:
        return ApiTokens()
    # Not Path.is_file(): it raises if the text is too long to be a name, and its message would contain the tokens.
    if "=" not in text or os.path.isfile(text):  # noqa: PTH113 - see above
        try:
            text = Path(text).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise TokenSettingError("TARSY_API_TOKENS is neither name=token pairs nor a readable file of such lines.") from error
    by_name: dict[str, str] = {}
    roles: dict[str, AccessRole] = {}
    for entry in text.replace(",", "\n").splitlines():
        if not (line := entry.strip()) or line.startswith("#"):
            continue
        name, role, token = _read_entry(line)
        if name in by_name or token in by_name.values():
            raise TokenSettingError(f'TARSY_API_TOKENS: the name or the token of "{name}" occurs twice.')
        by_name[name] = token
        if role:
            roles[name] = role
    if not by_name:
        raise TokenSettingError("TARSY_API_TOKENS holds no name=token pair.")
    return ApiTokens(by_name, roles)


def _read_entry(line: str) -> tuple[str, AccessRole | None, str]:
    named, _, token = (part.strip() for part in line.partition("="))
    name, colon, role = (part.strip() for part in named.partition(":"))
    if not name or not token:
        raise TokenSettingError("TARSY_API_TOKENS: every entry must be name=token, with neither part empty.")
    if colon and role not in set(AccessRole):
        raise TokenSettingError(f'TARSY_API_TOKENS: "{role}" of "{named}" is not a role. Roles are {", ".join(AccessRole)}.')
    return name, AccessRole(role) if colon else None, token


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
