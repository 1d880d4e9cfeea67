"""Pure module: an answer that the model's output limit cut, continued piece by piece."""

from collections.abc import Sequence

from tarsy.domain.conversation import Message, Role

# A model that has not come to an end in three answers at its limit would not in a fourth.
MAX_CONTINUATIONS = 2
# Shorter repetitions at a seam can be chance.
_SHORTEST_OVERLAP = 12
_LONGEST_OVERLAP = 400

CONTINUE = (
    "Your last message was cut off at the limit of its length. Continue it exactly where it ends: no introduction, no repetition, "
    "not from the beginning. Be brief, so that it comes to its end."
)


def pieces_so_far(messages: Sequence[Message]) -> tuple[str, ...]:
    """The pieces of the answer that the model has been asked to continue, oldest first; nothing when it was not."""
    pieces: list[str] = []
    newest = len(messages) - 1
    while newest > 0 and _is_continued(messages[newest - 1], messages[newest]):
        pieces.append(messages[newest - 1].body.content)
        newest -= 2
    return tuple(reversed(pieces))


def _is_continued(said: Message, asked: Message) -> bool:
    return asked.body.role is Role.USER and asked.body.content == CONTINUE and said.body.role is Role.ASSISTANT


def joined(pieces: Sequence[str]) -> str:
    """The pieces as one text; what a model says again at a seam is said once."""
    text = ""
    for piece in pieces:
        text += piece[_overlap(text, piece) :]
    return text


def _overlap(text: str, piece: str) -> int:
    longest = min(len(text), len(piece), _LONGEST_OVERLAP)
    return next((size for size in range(longest, _SHORTEST_OVERLAP - 1, -1) if text.endswith(piece[:size])), 0)
