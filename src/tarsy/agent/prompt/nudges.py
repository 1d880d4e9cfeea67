"""Short messages with which a controller gets a model back on its way. Pure functions."""

from collections.abc import Sequence
from typing import assert_never

from tarsy.agent.repetition import Circle, CircleKind
from tarsy.domain.tool import ToolCalling
from tarsy.kit.text import clip

# The beginning of an error says what failed; the rest is usually a stack trace that a model cannot act on.
_ERROR_LIMIT = 2000


def empty_answer_nudge(tool_calling: ToolCalling) -> str:
    """The model said nothing."""
    call = "call a tool" if tool_calling is ToolCalling.NATIVE else "write a Thought with an Action and its Action Input"
    answer = "write your final analysis" if tool_calling is ToolCalling.NATIVE else "write a Thought and your Final Answer"
    return f"Your last message was empty. Either {call} to find out what is still missing, or {answer} from the evidence you have."


def repeated_call_nudge(tools: Sequence[str], times: int) -> str:
    """The model made the same call, or the same few calls, again."""
    said = f"called {tools[0]} {times} times" if len(tools) == 1 else f"made the same calls ({', '.join(tools)}) {times} times over"
    return (
        f"You have now {said} with the same arguments, and the results are already above. "
        "The same again will not tell you more. Ask something different, use another tool, or conclude with the evidence you have "
        "and name what remains unknown."
    )


def repeating_text_nudge() -> str:
    """The model said again what it had said before."""
    return (
        "You are repeating yourself without new evidence. Take a step you have not taken yet, or conclude now with what is supported "
        "and name what remains unknown."
    )


def looping_text_nudge() -> str:
    """The model wrote one passage over and over and was cut off."""
    return (
        "Your last message repeated one passage over and over and was cut off; it counts as neither a step nor an answer. "
        "Do not take it up again. Take one step you have not taken yet, or conclude briefly with what is supported "
        "and name what remains unknown."
    )


def circle_nudge(circle: Circle) -> str:
    """What a model that goes round in circles is told."""
    match circle.kind:
        case CircleKind.CALLS:
            return repeated_call_nudge(circle.tools, circle.times)
        case CircleKind.WORDS:
            return repeating_text_nudge()
        case CircleKind.LOOP:
            return looping_text_nudge()
        case _:
            assert_never(circle.kind)


def error_note(message: str) -> str:
    """The last model call failed."""
    return (
        f"The previous attempt failed: {clip(message.strip(), _ERROR_LIMIT)}\n"
        "Go on from where you were. If your last request was very large or unusual, choose a smaller step."
    )


def unknown_outcome_note(tool: str) -> str:
    """A tool call was under way when its worker stopped."""
    return (
        f"The call of {tool} was interrupted before its result arrived. It is not known whether it took effect, and it was not made again. "
        "If that matters, find out with a call that only reads; do not assume either outcome."
    )
