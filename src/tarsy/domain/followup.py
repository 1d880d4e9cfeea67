"""Follow-ups of a finished session: chat questions and scores."""

import re
from dataclasses import dataclass
from datetime import datetime

from tarsy.domain.session import SlackThread
from tarsy.domain.status import RunStatus

MAX_CHAT_CHARACTERS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatUserMessage:
    """A chat question. Its answer is the `chat` stage `stage_id`."""

    id: str
    chat_id: str
    session_id: str
    content: str
    author: str
    status: RunStatus
    stage_id: str | None = None
    error_message: str | None = None
    created_at: datetime
    completed_at: datetime | None = None
    # Where it was asked, if in Slack.
    slack_thread: SlackThread | None = None


# Possessive where two repetitions meet, so that a megabyte of spaces takes linear time.
_SCORE = re.compile(r"^[ \t>*_#`-]*score[ \t*_`]*[:=][ \t*_`]*(\d{1,3})[ \t*_`]*+(?:/[ \t]*100)?[ \t*_`.]*$", re.IGNORECASE | re.MULTILINE)
NO_SCORE = "the judge's answer holds no score"
_MISSING = re.compile(r"^#{1,6}[ \t]*\**missing tools\**:?[ \t]*$", re.IGNORECASE | re.MULTILINE)
_ANALYSIS = re.compile(r"\A\s*#{1,6}[ \t]*\**analysis\**:?[ \t]*\n", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionScore:
    id: str
    session_id: str
    status: RunStatus
    requested_by: str
    total_score: int | None = None
    analysis: str | None = None
    missing_tools: str | None = None
    error_message: str | None = None
    stage_id: str | None = None
    created_at: datetime
    completed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """A score of a session: 0 to 100, the reasons, and the tools that the agents lacked."""

    total_score: int
    analysis: str
    missing_tools: str


def parse_score(text: str) -> Judgement | None:
    """Parse the answer of a scoring agent; return None when it contains no valid score.

    The last score counts: an earlier one may be a quotation.
    """
    scores = list(_SCORE.finditer(text))
    if not scores or (total := int(scores[-1][1])) > 100:
        return None
    body = text[: scores[-1].start()].rstrip()
    heading = _MISSING.search(body)
    analysis, missing = (body, "") if heading is None else (body[: heading.start()], body[heading.end() :])
    return Judgement(total, _ANALYSIS.sub("", analysis).strip(), missing.strip())
