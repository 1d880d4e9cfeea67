"""`{{.VAR}}` templates in configuration values.

Templates stay in the configuration and in every snapshot of it; they are expanded when a value is used, so that no stored value contains a secret.
"""

import re
from collections.abc import Mapping

SESSION_ID = "SESSION_ID"
_TEMPLATE = re.compile(r"\{\{\s*\.([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")


class MissingVariableError(Exception):
    """A template refers to an environment variable that is not set; the operator can act."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"the environment variable {name} is not set")


def variables(value: str) -> frozenset[str]:
    """Return the variables that `value` refers to, without the session id."""
    return frozenset(_TEMPLATE.findall(value)) - {SESSION_ID}


def text_and_names(value: str) -> list[str]:
    """Split `value` into texts and variable names in turn, beginning and ending with a text."""
    return _TEMPLATE.split(value)


def names_session(value: str) -> bool:
    """Return whether `value` refers to the session id."""
    return SESSION_ID in _TEMPLATE.findall(value)


def expand(value: str, env: Mapping[str, str], *, session_id: str | None = None) -> str:
    """Expand the templates of `value`. The contents of variables are not expanded again.

    Raises:
        MissingVariableError: a variable is not set, or there is no session id.
    """

    def fill(found: re.Match[str]) -> str:
        name = found.group(1)
        filled = session_id if name == SESSION_ID and session_id is not None else env.get(name)
        if filled is None:
            raise MissingVariableError(name)
        return filled

    return _TEMPLATE.sub(fill, value)
