"""Clipping and measuring text, and working on it without holding up the event loop."""

from collections.abc import Callable

from anyio import to_thread

# Some milliseconds of a masker's work: longer, and the other tasks of the event loop would notice.
_QUICK = 16_000


def clip(text: str, limit: int, *, notice: str = "… [{omitted} characters omitted]") -> str:
    """Return `text`, or its beginning and a notice that says how much is missing."""
    if len(text) <= limit:
        return text
    return text[:limit] + notice.format(omitted=len(text) - limit)


def clip_bytes(text: str, limit: int) -> str:
    """As `clip`, with a limit in bytes of UTF-8: what text costs is a matter of bytes."""
    kept = text.encode("utf-8", "surrogatepass")[:limit].decode("utf-8", "ignore")
    return clip(text, len(kept))


def estimate_tokens(text: str) -> int:
    """A cautious guess of how many model tokens `text` takes.

    Four characters a token holds for English; dense JSON and other scripts take more, so bytes are counted, not characters.
    """
    # Halves of surrogate pairs, which models do send, count like any other character.
    return len(text.encode("utf-8", "surrogatepass")) // 4 + 1


async def in_thread_if_long(change: Callable[[str], str], text: str) -> str:
    """`change(text)`: on the spot where that is quick, in a thread where it would hold up the event loop."""
    return change(text) if len(text) < _QUICK else await to_thread.run_sync(change, text)
