"""Long texts in which nothing repeats: folding leaves them as they are."""

from string import ascii_lowercase


def lines_apart(count: int) -> str:
    """Lines that differ in a word, and not only in a number."""
    return "".join(f"all is well with {_letters(number)}\n" for number in range(count))


def _letters(number: int) -> str:
    letters = ""
    while number or not letters:
        number, digit = divmod(number, len(ascii_lowercase))
        letters = ascii_lowercase[digit] + letters
    return letters
