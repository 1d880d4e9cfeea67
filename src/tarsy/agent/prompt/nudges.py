"""Messages that are sent to a model in the middle of a conversation: nudges, errors, corrections, and notes on the session."""

from collections.abc import Sequence
from typing import assert_never

from tarsy.agent.evidence.review import Review
from tarsy.agent.prompt.fence import Fence, escape_fences, utc
from tarsy.agent.prompt.instructions import VERDICT
from tarsy.agent.prompt.sections import describe_tools
from tarsy.agent.repetition import Repetition, RepetitionKind
from tarsy.domain.approval import CallDecided, CallDecision
from tarsy.domain.note import NoteKind
from tarsy.domain.run_input import DeliveredNote
from tarsy.domain.tool import INTERRUPTED_CALL, ToolCalling, ToolDefinition, name_for_model
from tarsy.kit.text import clip

# The beginning of an error says what failed; the rest is usually a stack trace that a model cannot act on.
_ERROR_LIMIT = 2000
# The reply to an answer that was cut off because it repeated one passage over and over.
LOOPING_TEXT_NUDGE = (
    "Your last message repeated one passage over and over and was cut off; it counts as neither a step nor an answer. "
    "Do not take it up again. Take one step you have not taken yet, or conclude briefly with what is supported "
    "and name what remains unknown."
)
# The reply to an answer that repeats earlier ones.
REPEATING_TEXT_NUDGE = (
    "You are repeating yourself without new evidence. Take a step you have not taken yet, or conclude now with what is supported "
    "and name what remains unknown."
)
# The reply to an empty answer of a model with function calling.
EMPTY_ANSWER_NUDGE = (
    "Your last message was empty. Either call a tool to find out what is still missing, "
    "or write your final analysis from the evidence you have."
)


def too_many_calls_message(made: int, asked: int, most: int, most_agents: int) -> str:
    """Return the note to a model that makes more calls in one answer than are allowed."""
    return (
        f"Of your {asked} calls only {made} were made: one answer may make at most {most} calls, and send at most {most_agents} agents. "
        "Read these results first; then make the calls that you still need."
    )


def repeated_call_nudge(tools: Sequence[str], times: int) -> str:
    """Return the reply to the same call, or the same few calls, made again and again."""
    repeated = f"called {tools[0]} {times} times" if len(tools) == 1 else f"made the same calls ({', '.join(tools)}) {times} times over"
    return (
        f"You have now {repeated} with the same arguments, and the results are already above. "
        "The same again will not tell you more. Ask something different, use another tool, or conclude with the evidence you have "
        "and name what remains unknown."
    )


def repetition_nudge(repetition: Repetition) -> str:
    """Return the reply to a model that repeats itself from turn to turn."""
    match repetition.kind:
        case RepetitionKind.CALLS:
            return repeated_call_nudge(repetition.tools, repetition.times)
        case RepetitionKind.WORDS:
            return REPEATING_TEXT_NUDGE
        case RepetitionKind.LOOP:
            return LOOPING_TEXT_NUDGE
        case _:
            assert_never(repetition.kind)


def failed_call_message(message: str) -> str:
    """Return the message after a failed model call."""
    return (
        f"The previous attempt failed: {clip(message.strip(), _ERROR_LIMIT)}\n"
        "Go on from where you were. If your last request was very large or unusual, choose a smaller step."
    )


def tools_changed_message(before: Sequence[str], tools: Sequence[ToolDefinition], tool_calling: ToolCalling) -> str:
    """Return the message that the tools are now `tools`. Without function calling, it describes them."""
    now = [tool.name for tool in tools]
    new, gone = (
        [name_for_model(name, tool_calling) for name in some if name not in others] for some, others in ((now, before), (before, now))
    )
    news = (f"New: {', '.join(new)}." if new else "", f"No longer available: {', '.join(gone)}." if gone else "")
    text = " ".join(("The available tools have changed.", *filter(None, news)))
    return text if tool_calling is ToolCalling.NATIVE else f"{text}\n\n{describe_tools(tools)}"


def unknown_outcome_result(tool: str) -> str:
    """Return the result of a tool call that was running when its worker stopped."""
    return (
        f"The call of {tool} was interrupted before its result arrived. {INTERRUPTED_CALL}, and it was not made again. "
        "If that matters, find out with a call that only reads; do not assume either outcome."
    )


def dry_run_result(tool: str) -> str:
    """Return the result of a call that may change something, in a dry run."""
    return f"{tool} was not called: this is a dry run, in which nothing is changed. Go on with what you would do next."


def held_back_result(tool: str) -> str:
    """Return the result of a call that may change something and follows one of the same answer that needs an approval."""
    return (
        f"{tool} was not called: a call before it in the same answer needs a person's approval, and this one may depend on it. "
        "Call it again once you know what became of that call, if it is still needed."
    )


def masked_arguments_result(tool: str) -> str:
    """Return the result of a call that needs an approval, and whose arguments contain a secret."""
    return (
        f"{tool} was not called: a person has to approve the exact call, and its arguments contain a secret, which is hidden from people. "
        "Call it without the secret, or recommend the action in your answer."
    )


# A resumed run recognises by its text that it was made.
VERIFICATION_REQUEST = (
    "Before you end: find out whether the symptom that the alert reports is gone now. Look with calls that only read, the way that the alert and "
    "the analysis did. If nothing was changed, say so. Then give your report in the form described."
)


def decision_result(tool: str, decided: CallDecided) -> str:
    """Return the result of a call that needs an approval and was not made, or whose outcome is unknown."""
    match decided.decision:
        case CallDecision.REJECTED:
            reason = f" The reason: {decided.reason.strip()}" if decided.reason.strip() else ""
            return f"{tool} was not called: a person rejected the call.{reason}"
        case CallDecision.EXPIRED:
            return f"{tool} was not called: no person approved the call in time. Recommend the action in your answer instead."
        case CallDecision.OUTDATED:
            return f"{tool} was not called: the tool has changed since the call was approved. Read its new description before you call it again."
        case CallDecision.UNKNOWN | CallDecision.APPROVED:
            return unknown_outcome_result(tool)
        case _:
            assert_never(decided.decision)


_LONGEST_COMPLAINT = 400

_PATCH = (
    "Answer with replacements for these statements alone, and nothing else: each on a new line, its number, a colon, and the new text "
    "(a list item without its marker, a table row with its bars). Correct a statement, or mark it *(inference)*, or write `withdrawn`. "
    "Quote only what stands in a result, character for character. All other statements stay as they are. Do not mention this check."
)


# The request for a correction begins with it: a run that is continued finds the request by it.
CORRECTION_REQUEST = "Code has checked your answer against the results."
LOOK_UP = "If a result is missing for that, you may call tools once before you answer."


def failed_points(review: Review) -> str:
    """Return the statements that failed, numbered, each with what is wrong. It quotes the answer and results, so the caller fences it."""
    lines: list[str] = []
    for number, one in enumerate(review.failed_statements, start=1):
        lines.append(f"{number}: {' '.join(review.text[one.start : one.end].split())}")
        lines += (f"   - {clip(' '.join(complaint.split()), _LONGEST_COMPLAINT, notice='…')}" for complaint in one.complaints)
    lines += (f"verdict: {complaint}" for complaint in review.verdict_complaints)
    return "\n".join(lines)


def correction_task(review: Review, *, asks_verdict: bool) -> str:
    """Return the request to correct an answer."""
    lines: list[str] = []
    if review.failed_statements:
        lines.append(_PATCH)
    elif not review.checked.citations:
        lines.append(
            'Nothing in your answer cites a result. Write the whole answer again, and cite after each claim, as `[A7: "exact words"]`.'
        )
    if review.lacks_verdict(asks_verdict=asks_verdict):
        lines.append(f"The verdict is missing. {VERDICT}")
    elif asks_verdict and review.verdict_complaints:
        lines.append("Write the whole verdict block again, corrected.")
    return "\n".join(lines)


# Longer than the names of people; a proxy header may hold anything.
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


def note_text(delivered: DeliveredNote, fence: Fence, *, last: bool) -> str:
    """Return a note as an agent reads it: a responder's hint in the open, updates of alerts fenced like any alert.

    `last` is set for the last of several notes: after it, an agent that had concluded is asked to reconsider.
    """
    note = delivered.note
    if note.kind is NoteKind.HINT:
        name = clip(" ".join(note.author.split()), _LONGEST_NAME)
        head = f"[{note.id}] A hint from {escape_fences(name)}, an engineer who follows this investigation, at {utc(note.at)}:"
        text = f"{head}\n\n{escape_fences(note.text)}\n\n{_FOLLOW}"
    else:
        text = f"[{note.id}] News of this incident's alerts, at {utc(note.at)}:\n{fence.wrap('NOTE', note.text, scope=note.id)}"
        text = f"{text}\n\n{_IT_IS_OVER}" if note.kind is NoteKind.RESOLVED else text
    return f"{text}\n\n{_RECONSIDER}" if delivered.held and last else text
