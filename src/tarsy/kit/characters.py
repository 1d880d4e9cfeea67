"""Characters that came in halves, and those that no database takes. Pure module."""


def whole_characters(text: str) -> str:
    """Join the halves of surrogate pairs, and replace those that stand alone: JSON can spell them, and no encoder takes them."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def storable(text: str) -> str:
    """The text as PostgreSQL can hold it: every character but NUL and half a surrogate pair."""
    return whole_characters(text).replace("\x00", "\ufffd")
