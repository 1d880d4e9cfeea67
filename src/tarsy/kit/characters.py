"""Characters that came in halves. Pure module."""


def whole_characters(text: str) -> str:
    """Join the halves of surrogate pairs, and replace those that stand alone: JSON can spell them, and no encoder takes them."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
