"""Text of others on a person's terminal."""

# All but tab and line feed. A log line could otherwise clear the screen, rename the window or paint over what was said.
_COMMANDS = dict.fromkeys((*range(0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0)))


def harmless(text: str) -> str:
    """`text` without the characters that a terminal obeys instead of showing."""
    return text.translate(_COMMANDS)
