"""What an agent that is sent may use: a share of what its sender has left. Pure module."""

from collections.abc import Sequence
from functools import reduce

from tarsy.domain.budget import UNLIMITED, Account, Ceiling

# The other half is the sender's: to send again, to read, and to conclude.
_SENT = 2


def share_of(accounts: Sequence[Account], at_once: int) -> Ceiling:
    """Half of what is left under all of `accounts`, divided among as many as may be out at once. Their time passes at the same time, and is not divided."""
    left = reduce(lambda least, account: least.lowered(account.remaining), accounts, UNLIMITED)
    parts = _SENT * at_once
    return Ceiling(
        usd=None if left.usd is None else left.usd / parts,
        tokens=None if left.tokens is None else left.tokens // parts,
        seconds=None if left.seconds is None else left.seconds / _SENT,
        model_calls=None if left.model_calls is None else left.model_calls // parts,
        tool_calls=None if left.tool_calls is None else left.tool_calls // parts,
    )
