"""No text makes masking worse than linear. How long a megabyte takes is the benchmark's business."""

from collections.abc import Callable

import pytest

from tarsy.tools.masking import Masker

pytestmark = pytest.mark.growth

MASKER = Masker.for_group("all")
# Masked in a few hundredths of a second when time grows with the text, in minutes when it grows with its square: longer than a test may take.
SIZE = 256 * 1024

HOSTILE: dict[str, Callable[[int], str]] = {
    "names": lambda size: "password=" * (size // 9),
    "named lines": lambda size: "password: \n" * (size // 11),
    "open quotes": lambda size: 'password:"' * (size // 10),
    "one letter": lambda size: "a" * size,
    "addresses": lambda size: "a@" * (size // 2),
    "a long domain": lambda size: "x@" + "a." * (size // 2),
    "urls": lambda size: "://a:" * (size // 5),
    "open keys": lambda size: "-----BEGIN PRIVATE KEY-----" * (size // 27),
    "open braces": lambda size: "Secret" + '{"' * (size // 2),
    "open brackets": lambda size: "Secret" + "[" * size,
    "nested json": lambda size: "Secret" + '{"a":' * (size // 5),
    "open payloads": lambda size: 'kind: Secret "data":{' * (size // 21),
    "open flows": lambda size: "kind: Secret data: {" * (size // 20),
    "spaces": lambda size: "kind: Secret\ndata:" + " " * size,
    "dashes": lambda size: "kind: Secret\ndata:\n" + "- " * (size // 2),
    "deep yaml": lambda size: "kind: Secret\n" + "".join(f"{' ' * n}data:\n" for n in range(int((2 * size) ** 0.5))),
    "token heads": lambda size: "eyJ" * (size // 3),
    "dotted token heads": lambda size: "eyJhbGciOi." * (size // 11),
    "backslashes": lambda size: "password" + "\\" * size,
    "database clients": lambda size: "mysql -" * (size // 7),
    "tags": lambda size: "<token>" * (size // 7),
    "tags with a namespace": lambda size: "<s:token>" * (size // 9),
    "escaped tags": lambda size: "\\u003ctoken\\u003e" * (size // 17),
    "colours": lambda size: "\x1b[0mpassword\x1b[" * (size // 14),
    "options": lambda size: "--token" * (size // 7),
    "entries": lambda size: "name: password\n" * (size // 15),
    "values before names": lambda size: "value: x name: password, " * (size // 24),
    "one value before names": lambda size: 'value: "' + "name: password, " * (size // 16),
    "open values before names": lambda size: 'value: "name: token ' * (size // 20),
    "objects as values": lambda size: "password value: {" * (size // 17),
    "values in brackets": lambda size: "=>value: secret key]" * (size // 20),
    "values that list something at their end": lambda size: "=>value: secret key)" * (size // 20) + ", a=1",
    "names without a secret": lambda size: "://private_key" * (size // 14),
    "blocks in blocks": lambda size: "password\n" + "".join(f"{' ' * n}value: |\n" for n in range(int((2 * size) ** 0.5))),
    "open lists": lambda size: "passwords: [a, " * (size // 15),
    "lists of lists": lambda size: "tokens: [[a " * (size // 12),
    "one long list": lambda size: "tokens: [" + "a, " * (size // 3),
    "one long column": lambda size: "tokens:\n" + "- a\n" * (size // 4),
    "keys with nothing": lambda size: "- password:\n\n  " * (size // 15),
    "keys with blank lines": lambda size: "password:\n" + " \n" * (size // 2),
    "sentences": lambda size: "the password is now " * (size // 20),
    "descriptions": lambda size: "password: rotated and " * (size // 22),
    "described lines": lambda size: "- **password:** rotated, and\n" * (size // 29),
    "open quoted lines": lambda size: 'password: "\nx ' * (size // 14),
    "lines of .pgpass": lambda size: "db:5432:a:b:" * (size // 12),
    "api keys": lambda size: "api key " * (size // 8),
    "names of two words": lambda size: "a-log-line-without-spaces,access key=zz;" * (size // 40),
    "quoted names of two words": lambda size: "access key=IDENTIFIED BY '" * (size // 26),
    "vendor heads": lambda size: "sk-ghp_glpat-xoxb-" * (size // 18),
    "bearers": lambda size: "Bearer " * (size // 7),
    "base64": lambda size: "QUJD" * (size // 4),
}


def test_no_text_makes_it_worse_than_linear() -> None:
    for make in HOSTILE.values():
        MASKER.mask(make(SIZE))


IN_PIECES: dict[str, Callable[[int], str]] = {
    "one word": lambda size: "x" * size,
    "a line of a block": lambda size: "data:\n- " + "{{" * (size // 2),
    "a line of words of a block": lambda size: "data:\n- " + "{{ " * (size // 3),
}


def test_no_text_in_pieces_makes_it_worse_than_linear() -> None:
    for make in IN_PIECES.values():
        stream, text = MASKER.stream(by_words=True), make(SIZE)
        for start in range(0, len(text), 4):
            stream.feed(text[start : start + 4])
        stream.finish()
