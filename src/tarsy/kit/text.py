"""Clipping and measuring text."""


def clip(text: str, limit: int, *, notice: str = "… [{omitted} characters omitted]") -> str:
    """Return `text`, or its beginning and a notice that says how much is missing."""
    if len(text) <= limit:
        return text
    return text[:limit] + notice.format(omitted=len(text) - limit)


def estimate_tokens(text: str) -> int:
    """A cautious guess of how many model tokens `text` takes.

    Four characters a token holds for English; dense JSON and other scripts take more, so bytes are counted, not characters.
    """
    return len(text.encode()) // 4 + 1
