"""A variable put into the text of a `.env` file, every other line kept as it is. Pure module."""

import io
import re

from dotenv.parser import Binding, parse_stream

# What needs no quotes, whatever reads the file.
_PLAIN = re.compile(r"[A-Za-z0-9_./:@%+,=~-]+")
# Longer than any key, token, path or address that a person would paste.
MAX_VALUE = 4000


class ValueRefusedError(ValueError):
    """The value cannot stand in a `.env` file; the person who typed it can act. Never holds the value."""


def with_variable(text: str, name: str, value: str) -> str:
    """The text with `name` set to `value`: in its old place, or on a line of its own at the end.

    Raises:
        ValueRefusedError: the value has characters that no key, path or address has.
    """
    line = f"{name}={_quoted(name, value)}\n"
    bindings = list(parse_stream(io.StringIO(text)))
    if not any(binding.key == name for binding in bindings):
        return f"{text}{'' if not text or text.endswith(chr(10)) else chr(10)}{line}"
    # The last of several counts; the earlier ones would only mislead a reader.
    last = max(place for place, binding in enumerate(bindings) if binding.key == name)
    return "".join(_rewritten(binding, line if place == last else "", name) for place, binding in enumerate(bindings))


def _rewritten(binding: Binding, line: str, name: str) -> str:
    if binding.key != name:
        return binding.original.string
    # Blank lines before an entry are part of what was read as the entry.
    blank = re.match(r"(?:[^\S\n]*\n)*", binding.original.string)
    return f"{blank.group() if blank else ''}{line}"


def _quoted(name: str, value: str) -> str:
    if not value or len(value) > MAX_VALUE or not value.isprintable() or set(value) & {"'", "\\"}:
        raise ValueRefusedError(f"The value for {name} is empty, too long, or has a line break, a quote or a backslash in it.")
    return value if _PLAIN.fullmatch(value) else f"'{value}'"
