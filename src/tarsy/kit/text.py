"""Clipping, measuring and repairing text, and working on it without holding up the event loop."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from anyio import to_thread

# Masking a text of this length takes some milliseconds; more would delay the other tasks of the event loop.
_QUICK = 16_000

T = TypeVar("T")


def clip(text: str, limit: int, *, notice: str = "… [{omitted} characters omitted]") -> str:
    """Return `text`, or its beginning and a notice of how much is missing."""
    if len(text) <= limit:
        return text
    return text[:limit] + notice.format(omitted=len(text) - limit)


def clip_at_word(text: str, limit: int) -> str:
    """Return `text`, or its beginning, cut between words, so that no secret is cut in two and slips past its pattern."""
    return text if len(text) <= limit else "".join(text[:limit].rsplit(None, 1)[:1])


def clip_bytes(text: str, limit: int) -> str:
    """As `clip`, with a limit in bytes of UTF-8."""
    kept = text.encode("utf-8", "surrogatepass")[:limit].decode("utf-8", "ignore")
    return clip(text, len(kept))


def estimate_tokens(text: str) -> int:
    """Return a cautious estimate of the tokens of `text`.

    Four characters a token holds for English; dense JSON and other scripts take more, so bytes are counted, not characters.
    """
    # Models do send lone surrogates; they count like any other character.
    return len(text.encode("utf-8", "surrogatepass")) // 4 + 1


@dataclass(frozen=True, slots=True)
class CutText:
    """A text, or its beginning and end with a notice between them; `head` and `tail` are their lengths in characters."""

    text: str
    head: int
    tail: int = 0

    @property
    def is_cut(self) -> bool:
        return self.tail > 0


def cut_middle(text: str, limit: int) -> CutText:
    """Cut a text to about `limit` bytes of UTF-8 by leaving out its middle: the newest lines of logs are at the end."""
    encoded = text.encode("utf-8", "surrogatepass")
    if len(encoded) <= limit:
        return CutText(text, len(text))
    head = encoded[: limit // 2].decode("utf-8", "ignore")
    tail = encoded[-max(limit - limit // 2, 1) :].decode("utf-8", "ignore")
    notice = f"\n… [{len(text) - len(head) - len(tail)} characters from the middle are left out here] …\n"
    return CutText(f"{head}{notice}{tail}", len(head), len(tail))


async def in_thread_if_long(change: Callable[[str], T], text: str) -> T:
    """Return `change(text)`, computed in a thread if the text is long, so that the event loop is not blocked."""
    return change(text) if len(text) < _QUICK else await to_thread.run_sync(change, text)


def whole_characters(text: str) -> str:
    """Join surrogate pairs and replace lone surrogates, which JSON can contain and UTF-8 cannot."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def storable(text: str) -> str:
    """Return the text as PostgreSQL can store it: without NUL and lone surrogates."""
    return whole_characters(text).replace("\x00", "\ufffd")
