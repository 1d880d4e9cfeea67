"""Pure module: a note as an agent is told it. A responder's hint stands in the open; news of alerts are fenced like any alert."""

from tarsy.agent.prompt.fence import Fence, defused
from tarsy.agent.prompt.result_line import utc
from tarsy.domain.note import Note, NoteKind
from tarsy.domain.run_input import Heard
from tarsy.kit.text import clip

# Names of people; a header of a proxy may hold more.
_LONGEST_NAME = 100

_FOLLOW = "Take this into account from here on: it comes from the people you work for. It may still be mistaken, so check it where you can."
_IT_IS_OVER = (
    "The alerts have ended. Find out what it was all the same, as far as that can still be seen, and say whether it is really over "
    "and whether it is likely to come back."
)
_RECONSIDER = (
    "This came while you were concluding, and your answer was not accepted yet. Look at it again in this light, and do what it calls for. "
    "End with your complete final answer, also where nothing in it changes."
)


def note_text(heard: Heard, fence: Fence, *, last: bool) -> str:
    """`last`: of those that are told together, after which an agent that had concluded goes on."""
    note = heard.note
    told = _hint(note) if note.kind is NoteKind.HINT else _news(note, fence)
    return f"{told}\n\n{_RECONSIDER}" if heard.held and last else told


def _hint(note: Note) -> str:
    name = clip(" ".join(note.author.split()), _LONGEST_NAME)
    return f"[{note.id}] A hint from {defused(name)}, an engineer who follows this investigation, at {utc(note.at)}:\n\n{defused(note.text)}\n\n{_FOLLOW}"


def _news(note: Note, fence: Fence) -> str:
    told = f"[{note.id}] News of this incident's alerts, at {utc(note.at)}:\n{fence.wrap('NOTE', note.text, scope=note.id)}"
    return f"{told}\n\n{_IT_IS_OVER}" if note.kind is NoteKind.RESOLVED else told
