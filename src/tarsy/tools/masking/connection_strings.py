"""Passwords in addresses: URLs, DSNs of database drivers, lines of .pgpass. Pure module.

Each rule looks for a literal first, so that a text without it costs next to nothing.
"""

import re
from collections.abc import Iterator

from tarsy.tools.masking.text_views import Reading
from tarsy.tools.masking.values import is_placeholder, label

# The longest name, and the longest password, that anything is looked for in.
_LONGEST = 256
_URL_USER = re.compile(r"""://[^\s/:@"'`<>{}\[\]]{0,128}:""")
# What a URL cannot hold ends the search for its `@`, and so does what comes after its path.
_URL_END = re.compile(r"""[\s"'`<>?#]""")
# A port and a path: `https://host:8080/@scope`.
_PORT = re.compile(r"\d{1,5}(?:[/?#]|\Z)")
_HOST = re.compile(r"[\w.\[-]")
# `user:password@tcp(host:3306)/db` and `user:password@/db`, as Go's drivers write it.
_GO_ADDRESS = re.compile(r"@(?:[a-z0-9]{0,16}\([^\s()]{0,255}\))?/")
_ORACLE_ADDRESS = re.compile(r"oracle:(?:thin|oci8?):(?P<user>[\w.$#]{1,64})/(?P<value>[^\s@/]{1,256})@")
_PORT_FIELD = re.compile(r":(?:\d{4,5}|\*):")
# Host, port, database, user, password; the last may hold escaped colons.
_PGPASS = re.compile(
    r"^(?P<head>[^\s:#]{1,255}:(?:\d{4,5}|\*):(?:\*|[A-Za-z_][^\s:]{0,63}):[^\s:]{1,64}:)(?P<value>(?:\\{1,4}[:\\]|[^\s:\\]){1,256})\s*$",
    re.MULTILINE,
)
_WORD_END = re.compile(r"""[\s"'`<>]""")

# A line of .pgpass holds one of them: the ports of PostgreSQL begin with a five.
_PORTS = (":5", ":*:")
# One of them is in whatever is hidden here.
CONNECTION_STRINGS = ("@", *_PORTS)

Span = tuple[int, int]


def mask_connection_strings(reading: Reading) -> str:
    text, words = reading.text, reading.words
    if "@" in words:
        text = _hidden(text, _url_passwords(text)) if "://" in words else text
        text = _hidden(text, _go_passwords(text)) if "@/" in words or ")/" in words else text
        text = _hidden(text, (found.span("value") for found in _ORACLE_ADDRESS.finditer(text))) if "oracle:" in words else text
    return (
        _hidden(text, (found.span("value") for found in _PGPASS.finditer(text)))
        if reading.held(_PORTS) and _PORT_FIELD.search(words)
        else text
    )


def _hidden(text: str, spans: Iterator[Span]) -> str:
    parts: list[str] = []
    done = 0
    for start, stop in spans:
        if start >= done and not is_placeholder(text[start:stop]):
            parts += [text[done:start], label("password")]
            done = stop
    return "".join((*parts, text[done:])) if parts else text


def _url_passwords(text: str) -> Iterator[Span]:
    for found in _URL_USER.finditer(text):
        start = found.end()
        end = _URL_END.search(text, start, start + _LONGEST)
        rest = text[start : end.start() if end else start + _LONGEST]
        if "@" in rest and not _PORT.match(rest):
            yield start, start + _password_length(rest)


def _password_length(rest: str) -> int:
    """Up to the last `@` that a host follows; one that a path brings along, as in `/@scope`, is not it if there is another."""
    ends = [at for at, character in enumerate(rest) if character == "@" and _HOST.match(rest, at + 1)]
    return next((at for at in reversed(ends) if rest[at - 1 : at] != "/"), ends[0] if ends else rest.index("@"))


def _go_passwords(text: str) -> Iterator[Span]:
    for found in _GO_ADDRESS.finditer(text):
        earliest = max(0, found.start() - _LONGEST)
        word = text[earliest : found.start()]
        user, _, password = _WORD_END.split(word)[-1].partition(":")
        if user and password and "//" not in password:
            yield found.start() - len(password), found.start()
