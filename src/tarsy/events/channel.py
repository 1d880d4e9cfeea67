"""Pure module: which channels a client may name."""

from uuid import UUID

from tarsy.domain.live import SESSIONS_CHANNEL, session_channel

_SESSION_PREFIX = session_channel("")


def session_of(channel: str) -> str | None:
    """The session a channel belongs to; None for the shared channel.

    Raises:
        UnknownChannelError: no such channel can exist.
    """
    if channel == SESSIONS_CHANNEL:
        return None
    prefix, identity = channel[: len(_SESSION_PREFIX)], channel[len(_SESSION_PREFIX) :]
    try:
        # Only the canonical spelling: two names for one channel would be two feeds.
        if prefix == _SESSION_PREFIX and str(UUID(identity)) == identity:
            return identity
    except ValueError:
        pass
    raise UnknownChannelError(channel)


class UnknownChannelError(LookupError):
    """The caller named a channel that does not exist, or may not be listened to."""

    def __init__(self, channel: str) -> None:
        super().__init__(f"There is no channel {channel[:80]!r}; there are 'sessions' and 'session:<id>'.")
