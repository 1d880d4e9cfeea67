"""The names under which configurations, command lines and addresses hold secrets."""

import re

_SECRET_NAME = re.compile(
    r"""(?ix) token | secret | passw | passphrase | credential | authorization | cookie
    | (?: api | access | auth | private ) [-_]? key
    | (?: ^ | [-_] ) (?: key | auth | auth[-_]header | pass | sig | signature ) $
    | [-_] pwd $  # PWD alone is the working directory
    """
)


def names_secret(name: str) -> bool:
    """Return whether the value of a variable, header, option or parameter of this name is a secret."""
    return _SECRET_NAME.search(name) is not None
