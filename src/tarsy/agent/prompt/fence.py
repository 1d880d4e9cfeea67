"""Fences around text that comes from outside: alerts, runbooks, tool results, earlier agents' words. Pure module.

A fence is a pair of lines that carry a code made from the session's nonce. The writer of the text inside cannot know the
code, so the text cannot close its own fence; the same nonce gives the same fence again, so a replay is identical.
"""

import hashlib
import hmac
import re
from dataclasses import dataclass

# 20 hexadecimal digits are 80 bits: beyond guessing, and short enough not to look like a credential to a masking pattern.
_CODE_DIGITS = 20

_LOOKALIKE = re.compile(r"<<<(?=\s*(?:BEGIN|END)\b)", re.IGNORECASE)
# Not only at the beginning of a line: a word such as `Observation:` may stand before it.
_BOUNDARY = re.compile(r"<<<(?:BEGIN|END) [A-Z ]{1,40} [0-9a-f]{20}>>>\n?")


@dataclass(frozen=True, slots=True)
class Fence:
    """Makes the fences of one session."""

    nonce: str

    def code(self, scope: str) -> str:
        """The code of one fence; another scope has another code, so a code that leaked is worth nothing elsewhere."""
        digest = hmac.new(self.nonce.encode(), scope.encode(), hashlib.sha256).hexdigest()
        return digest[:_CODE_DIGITS]

    def wrap(self, label: str, text: str, *, scope: str = "") -> str:
        """Put `text` between the two lines of a fence named `label`."""
        code = self.code(f"{label}\0{scope}")
        body = defused(text.replace(code, "[code removed]"))
        return f"<<<BEGIN {label} {code}>>>\n{body}\n<<<END {label} {code}>>>"


def unwrap(text: str) -> str:
    """Return text without the boundaries of the fences in it."""
    return _BOUNDARY.sub("", text).removesuffix("\n") if "<<<" in text else text


def defused(text: str) -> str:
    """Keep text from looking like the border of a fence."""
    return _LOOKALIKE.sub("< < <", text)
