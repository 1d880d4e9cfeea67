"""Clipping, measuring and mending text. Pure module."""


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


def whole_characters(text: str) -> str:
    """Join the halves of surrogate pairs, and replace those that stand alone: JSON can spell them, and no encoder takes them."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
