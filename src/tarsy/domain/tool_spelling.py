"""How tools are spelled for models. Pure.

With function calling, names hold letters, digits, `_` and `-`, at most 64 of them; every name of ours maps, no two to the same. `server.tool` is
spoken as `server__tool`. A name for which that would be illegal, too long or ambiguous gets a part of its hash at its end:
`server__tool__3f0a9c1b22`. Plain names hold `__` at most once, hashed ones at least twice, so the two kinds never meet.
"""

import hashlib
import re
from typing import assert_never

from tarsy.domain.agent import ToolCalling

LONGEST = 64
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")
# Both parts, or a name without a server, free of what would make the junction ambiguous.
_PLAIN = re.compile(r"[A-Za-z](?:(?!__)[A-Za-z0-9_-])*(?:(?<!_)\.(?!_)(?:(?!__)[A-Za-z0-9_-])+)?")
# 40 bits: two of a thousand tools share a hash once in two million configurations, and only then.
_HASH_LENGTH = 10
_SERVER_LENGTH = 20


def spoken_name(name: str, tool_calling: ToolCalling) -> str:
    """A tool's name as a model may call it."""
    match tool_calling:
        case ToolCalling.NATIVE:
            return vendor_name(name)
        case ToolCalling.REACT:
            return name
        case _:
            assert_never(tool_calling)


def vendor_name(name: str) -> str:
    """Spell a tool's name so that every vendor takes it."""
    if _PLAIN.fullmatch(name) and len(name) < LONGEST:
        return name.replace(".", "__")
    server, _, tool = name.partition(".")
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_LENGTH]
    head = _ILLEGAL.sub("_", server)[:_SERVER_LENGTH]
    head = head if head[:1].isalpha() else f"t{head}"
    stem = f"{head}__{_ILLEGAL.sub('_', tool)}"[: LONGEST - _HASH_LENGTH - 2]
    return f"{stem}__{digest}"
