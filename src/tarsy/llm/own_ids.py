"""Call ids of our own making, for vendors and servers that give none: recognisable, and never sent back to them. Pure."""

import uuid

_MARK = "tarsy-"


def new_id() -> str:
    return f"{_MARK}{uuid.uuid4().hex}"


def is_own(call_id: str) -> bool:
    return call_id.startswith(_MARK)
