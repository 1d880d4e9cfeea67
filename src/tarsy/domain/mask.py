"""What takes the place of a secret, as far as it must be recognised again."""

MASK_PREFIX = "[MASKED_"


def is_masked(text: str) -> bool:
    """Whether something was taken out of the text: what it was cannot be had again."""
    return MASK_PREFIX in text
