"""What a prompt is made of, as small frozen values. Nothing here is fetched or read: the caller brings it along."""

from dataclasses import dataclass
from datetime import datetime

from tarsy.domain.tool import ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptContext:
    """What all prompts of one execution share."""

    agent_name: str
    alert_type: str
    alert_data: str
    # Seeds the fences: unguessable, and the same again when the session is resumed or replayed.
    nonce: str
    # Given by the session, not by the clock, so that a replay says the same.
    received_at: str
    runbook: str = ""
    custom_instructions: str = ""
    # (server name, the operator's instructions for it), in the order in which the agent names its servers.
    server_instructions: tuple[tuple[str, str], ...] = ()
    # The section about skills, as `skill_section` writes it.
    skills: str = ""
    # The section about agents that this one may send, as `agent_section` writes it.
    agents: str = ""
    # What another agent sent this one to do; empty for an agent of the plan.
    task: str = ""
    # One line per tool server that should be there and is not.
    tool_warnings: tuple[str, ...] = ()
    # The tool that reads shortened results again, as the agent may call it; empty where it has none.
    read_back: str = ""
    # The time that the request states, as an input of the run.
    now: str = ""
    # Whether the answer becomes the session's analysis, and is to end with a verdict.
    asks_verdict: bool = False
    # Whether it tries to refute what others concluded, instead of investigating.
    challenges: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenResult:
    """A tool result with the id by which it may be cited."""

    evidence_id: str
    result: ToolResult
    read_at: datetime


@dataclass(frozen=True, slots=True)
class ChatExchange:
    """An earlier question of a follow-up chat and its answer."""

    question: str
    answer: str
    number: int
    # What was found to answer it, each result in its fence.
    found: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatPrompt:
    """A question about a finished session."""

    number: int
    question: str
    # The whole investigation, as the session formatter tells it.
    investigation: str
    history: tuple[ChatExchange, ...] = ()
    # How many older exchanges did not fit.
    left_out: int = 0
