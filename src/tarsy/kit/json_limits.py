"""A limit for JSON from outside: how many values it has is known before it is parsed."""

# Text with far too many values is recognised by its beginning.
_BEGINNING = 1024 * 1024


def has_more_values(text: bytes, most: int) -> bool:
    """Return whether JSON has more than `most` values, by an estimate that takes some milliseconds for a megabyte."""
    return len(text) > most and any(_values(part, most) > most for part in (text[:_BEGINNING], text))


def _values(text: bytes, most: int) -> int:
    bare = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    strings = bare.count(b'"') // 2
    if strings > most:
        return strings
    # Commas and brackets inside strings separate nothing.
    outside = b"".join(bare.split(b'"')[::2])
    return max(strings, outside.count(b",") + outside.count(b"[") + outside.count(b"{"))
