"""`{{.VAR}}` in configuration values. Pure module.

Templates stay in the configuration and in every snapshot of it; they are filled in at the moment of use, so that a stored value never holds a secret.
"""

import re
from collections.abc import Mapping

SESSION_ID = "SESSION_ID"
_TEMPLATE = re.compile(r"\{\{\s*\.([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")


class MissingVariableError(Exception):
    """A value needs an environment variable that is not set; the operator can act."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"the environment variable {name} is not set")


def variables(value: str) -> frozenset[str]:
    """The names that `value` refers to, without the session id."""
    return frozenset(_TEMPLATE.findall(value)) - {SESSION_ID}


def text_and_names(value: str) -> list[str]:
    """`value` in pieces: text and the names that it refers to in turn, text first and last."""
    return _TEMPLATE.split(value)


def names_session(value: str) -> bool:
    """Whether `value` refers to the session id."""
    return SESSION_ID in _TEMPLATE.findall(value)


def expand(value: str, env: Mapping[str, str], *, session_id: str | None = None) -> str:
    """Fill in the templates of `value`. What a variable holds is taken as it is, never read as a template again.

    Raises:
        MissingVariableError: a variable is not set, or the session id is asked for where there is none.
    """

    def fill(found: re.Match[str]) -> str:
        name = found.group(1)
        filled = session_id if name == SESSION_ID and session_id is not None else env.get(name)
        if filled is None:
            raise MissingVariableError(name)
        return filled

    return _TEMPLATE.sub(fill, value)
