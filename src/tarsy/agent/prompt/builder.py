"""Builds every prompt of an execution: the messages that open a conversation, and those that its results and its conclusion need."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from tarsy.agent.evidence.review import Review
from tarsy.agent.evidence.support import QuotedStatement
from tarsy.agent.prompt import instructions
from tarsy.agent.prompt.fence import Fence, line_of, reading_back, result_line, unwrap
from tarsy.agent.prompt.nudges import CORRECTION_REQUEST, LOOK_UP, correction_task, failed_points
from tarsy.agent.prompt.sections import REACT_FORMAT, SUB_AGENT_REPORT, describe_tools, sub_agent_task
from tarsy.domain.conversation import ConversationMessage, Role
from tarsy.domain.tool import ToolCalling, ToolDefinition, ToolResult
from tarsy.kit.text import clip

# Enough to recognise a result by its beginning, and small against any result worth compacting.
_POINTER_EXCERPT = 400
# No result begins like this: each stands behind its fence.
_POINTER = "[This result of "
_ALERT_TYPE_LIMIT = 120
# What a summary has to keep depends on the alert: its beginning says what it is about.
_SUMMARISED_ALERT = 2_000
# The line that names a call shows no more of its arguments.
_LONGEST_ARGUMENTS = 200

_NATIVE_CONCLUSION = "Answer with your complete final analysis as plain text."
REACT_CONCLUSION = "Answer in this form:\nThought: what the evidence amounts to\nFinal Answer: your complete final analysis"
# Weak models repeat these instead of an answer.
CONCLUSION_FORMS = f"{_NATIVE_CONCLUSION}\n{REACT_CONCLUSION}"

Messages = tuple[ConversationMessage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptContext:
    """The values that all prompts of one execution use."""

    agent_name: str
    alert_type: str
    alert_data: str
    # Seeds the fences: unguessable, and the same again when the session is resumed or replayed.
    nonce: str
    # Given by the session, not by the clock, so that a replay renders the same.
    received_at: str
    runbook: str = ""
    custom_instructions: str = ""
    # (server name, the operator's instructions for it), in the order in which the agent names its servers.
    server_instructions: tuple[tuple[str, str], ...] = ()
    # As `skill_section` renders it.
    skills: str = ""
    # The section about sub-agents, as `agent_section` renders it.
    agents: str = ""
    # The task of a sub-agent; empty for an agent of the plan.
    task: str = ""
    # One line per tool server that is missing.
    tool_warnings: tuple[str, ...] = ()
    # The tool that reads shortened results, as the agent calls it; empty if it has none.
    read_tool: str = ""
    # The time that the request states, as an input of the run.
    now: str = ""
    # Whether the answer becomes the session's analysis, and is to end with a verdict.
    asks_verdict: bool = False
    # Whether the agent tries to refute a conclusion instead of investigating.
    challenges: bool = False
    # Whether the agent acts on a conclusion, and whether it only shows what it would do.
    acts: bool = False
    dry_run: bool = False


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
    # The results that led to the answer, each in its fence.
    found: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatPrompt:
    """A question about a finished session."""

    number: int
    question: str
    # The whole investigation, as `ContextFormatter.format_investigation` renders it.
    investigation: str
    history: tuple[ChatExchange, ...] = ()
    # How many older exchanges did not fit.
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class PromptBuilder:
    """Builds every prompt of one execution."""

    context: PromptContext

    @property
    def fence(self) -> Fence:
        return Fence(self.context.nonce)

    def build_messages(
        self, tool_calling: ToolCalling, tools: Sequence[ToolDefinition], *, previous: str = "", chat: ChatPrompt | None = None
    ) -> Messages:
        """Open an investigation, or the answer to the question of `chat`; `previous` are the findings of earlier stages."""
        is_native = tool_calling is ToolCalling.NATIVE
        protocol = (instructions.FUNCTION_CALLING,) if is_native else (REACT_FORMAT, describe_tools(tools))
        if chat:
            system = self._compose(instructions.CHAT, self._evidence(), self._untrusted(), *protocol)
            return _conversation(system, self._chat(chat))
        if self.context.challenges:
            role, answer = instructions.CHALLENGE_ROLE, instructions.CHALLENGE_ANSWER
        elif self.context.acts:
            role = _lines(instructions.ACTION_ROLE, instructions.ACTION_DRY_RUN if self.context.dry_run else "")
            answer = instructions.ACTION_ANSWER
        else:
            role, answer = instructions.GENERAL, self._answer()
        system = self._compose(role, self._evidence(), self._untrusted(instructions.STEERING_IS_A_FINDING), answer, *protocol)
        return _conversation(system, self._investigation(previous))

    def build_synthesis_messages(self, investigations: str) -> Messages:
        """Ask for one analysis of the reports of several agents."""
        system = self._compose(
            instructions.SYNTHESIS, self._evidence(), self._untrusted(instructions.STEERING_IS_A_FINDING), self._answer()
        )
        task = "Make one analysis of the reports above, in the form described for the final answer."
        return _conversation(system, _blocks(self._alert(), self._runbook(), self._reports(investigations), _task(task)))

    def build_executive_summary_messages(self, findings: str) -> Messages:
        """Ask for the executive summary of a verdict and what to do now."""
        system = self._compose(instructions.EXECUTIVE_SUMMARY, instructions.UNTRUSTED)
        found = "# Findings\n" + self.fence.wrap("FINDINGS", findings)
        return _conversation(system, _blocks(f"Alert type: {self._alert_type()}", found, _task("Write the executive summary.")))

    def build_scoring_messages(self, investigation: str) -> Messages:
        """Ask for the score of a finished session, which `parse_score` reads from the answer."""
        system = self._compose(instructions.SCORING, instructions.UNTRUSTED)
        record = f"# Record of the investigation\n{investigation}"
        task = "Judge the investigation. Remember to end with the line `SCORE: NN`."
        return _conversation(system, _blocks(self._alert(), self._runbook(), record, _task(task)))

    def build_mcp_summarization_messages(self, seen: SeenResult, purpose: str, shown: str, max_tokens: int) -> Messages:
        """Ask for a summary of a large tool result; `purpose` is why the agent made this call and those beside it."""
        system = _blocks(instructions.SUMMARIZATION.format(max_tokens=max_tokens), instructions.UNTRUSTED)
        call = result_line(seen.evidence_id, seen.result.call.name, seen.result.call.arguments, seen.read_at)
        # Fences with codes of this request alone: the output cannot imitate those of another summary.
        scope = f"summary of {seen.evidence_id}"
        why = self.fence.wrap("PURPOSE", purpose.strip() or "Not stated.", scope=scope)
        output = self.fence.wrap("TOOL OUTPUT", shown, scope=scope)
        asked = f"# What the engineer is after\nThis call: {call}\nWhat was said before it and the calls made with it:\n{why}"
        if len(seen.result.call.arguments) > _LONGEST_ARGUMENTS:
            asked += f"\nThe arguments of the call, whole:\n{self.fence.wrap('ARGUMENTS', seen.result.call.arguments, scope=scope)}"
        alert = "# Alert\n" + self.fence.wrap("ALERT", clip(self.context.alert_data, _SUMMARISED_ALERT), scope=scope)
        return _conversation(system, _blocks(alert, asked, f"# Output\n{output}", _task("Shorten the output, for this call.")))

    def build_support_messages(self, quoted: Sequence[QuotedStatement]) -> Messages:
        """Ask whether quotations support the statements that cite them; `parse_judgements` reads the answer."""
        shown = "\n\n".join(
            f"{number}. {self.fence.wrap('STATEMENT', one.statement, scope='support')}\n{self.fence.wrap('WORDS', one.quotation, scope='support')}"
            for number, one in enumerate(quoted, 1)
        )
        system = _blocks(instructions.SUPPORT, instructions.UNTRUSTED)
        return _conversation(system, _blocks(f"# Statements\n{shown}", _task("Judge each statement.")))

    def tool_result(self, seen: SeenResult, shown: str, note: str = "") -> str:
        """Return a tool result as the model reads it, fenced, behind the line that names the call. `note` is ours, and stands outside the fence."""
        result = seen.result
        line = result_line(seen.evidence_id, result.call.name, result.call.arguments, None if result.refused else seen.read_at)
        if result.refused:
            return f"{line} has no result.\nError: {shown}"
        fenced = shown if result.is_trusted else self.fence.wrap("TOOL RESULT", shown, scope=seen.evidence_id)
        return "\n".join((f"{line} failed:" if result.is_error else line, fenced, *((f"[{note}]",) if note else ())))

    def same_result(self, seen: SeenResult, earlier: str) -> str:
        """Return a result that is equal to the one with the id `earlier`, which the conversation holds."""
        line = result_line(seen.evidence_id, seen.result.call.name, seen.result.call.arguments, seen.read_at)
        return f"{line}\n[The same as {earlier}, character for character.]"

    def build_compaction_pointer(self, call_id: str, tool: str, content: str) -> str:
        """Return what replaces an old tool result when the conversation exceeds the model's window."""
        evidence_id, line = line_of(content)
        original = unwrap(content.removeprefix(line).lstrip("\n") if line else content)
        excerpt = self.fence.wrap("TOOL RESULT", clip(original, _POINTER_EXCERPT), scope=evidence_id or call_id)
        how = reading_back(self.context.read_tool, evidence_id or call_id)
        shortened = f"{_POINTER}{tool} was shortened to make room: it had {len(original)} characters and begins as below.{how}]"
        return "\n".join((*((line,) if line else ()), shortened, excerpt))

    def build_forced_conclusion_prompt(self, iteration: int, tool_calling: ToolCalling, now: str) -> str:
        """Return the last request to an agent that has used up its turns."""
        text = (
            f"It is now {now}. You have used {iteration} turns, and no more tools can be called. Conclude now from the evidence you have. "
            "State what the evidence supports, with your confidence; name what remains unknown and what should be checked next. "
            "Do not present an unverified hypothesis as the cause."
        )
        return f"{text} {_conclusion_form(tool_calling)}"

    def build_correction_prompt(self, draft: Review, tool_calling: ToolCalling, *, has_tools: bool) -> str:
        """Return the request to correct an answer, with what checking found."""
        asked = correction_task(draft, asks_verdict=self.context.asks_verdict)
        points = failed_points(draft)
        found = f"These statements failed:\n{self.fence.wrap('CHECK', points)}\n" if points else ""
        look_up = f"{LOOK_UP}\n" if has_tools else ""
        return f"{CORRECTION_REQUEST} {found}{asked}\n{look_up}{_conclusion_form(tool_calling)}"

    def _evidence(self) -> str:
        return _lines(instructions.EVIDENCE, instructions.EVIDENCE_OF_RUNBOOK if self._has_runbook else "")

    def _untrusted(self, *more: str) -> str:
        return _lines(instructions.UNTRUSTED, *more, instructions.RUNBOOK_IS_ADVICE if self._has_runbook else "")

    def _answer(self) -> str:
        if self.context.task:
            return SUB_AGENT_REPORT
        return _lines(instructions.ANSWER, instructions.VERDICT if self.context.asks_verdict else "")

    @property
    def _has_runbook(self) -> bool:
        return bool(self.context.runbook.strip())

    def _compose(self, *general: str) -> str:
        servers = [f"## {name}\n{text.strip()}" for name, text in self.context.server_instructions if text.strip()]
        own = self.context.custom_instructions.strip()
        return _blocks(
            *general,
            "# Tool servers\n" + "\n\n".join(servers) if servers else "",
            self.context.skills,
            self.context.agents,
            f"# Instructions for {self.context.agent_name}\n{own}" if own else "",
        )

    def _investigation(self, previous: str) -> str:
        if self.context.task:
            task = sub_agent_task(self.context.task)
            return _blocks(self._alert(), self._runbook(), self._reports(previous), self._warnings(), task)
        task = "Investigate this alert and find its root cause, or show that there is no fault."
        if self.context.challenges:
            task = instructions.CHALLENGE_TASK
        elif self.context.acts:
            task = instructions.ACTION_TASK
        elif previous.strip():
            task += " Earlier stages have worked on it: build on what they established, verify what your answer depends on, and do not repeat their calls."
        return _blocks(self._alert(), self._runbook(), self._reports(previous), self._warnings(), _task(task))

    def _chat(self, chat: ChatPrompt) -> str:
        record = f"# Record of the investigation\n{chat.investigation}"
        asked = f"# Question {chat.number}\n{chat.question.strip()}"
        return _blocks(self._alert(), self._runbook(), record, self._exchanges(chat), self._warnings(), asked)

    def _exchanges(self, chat: ChatPrompt) -> str:
        """Return earlier questions, results and answers, each in a fence of its own."""
        if not chat.history and not chat.left_out:
            return ""
        left_out = (f"[{chat.left_out} older questions are left out for length.]",) if chat.left_out else ()
        turns = (
            "\n".join(
                (
                    f"Question {turn.number}:\n" + self.fence.wrap("QUESTION", turn.question),
                    *((turn.found,) if turn.found else ()),
                    "Answer:\n" + self.fence.wrap("ANSWER", turn.answer),
                )
            )
            for turn in chat.history
        )
        return "\n".join(("# Conversation so far", *left_out, *turns))

    def _alert(self) -> str:
        now = f"\nNow: {self.context.now}" if self.context.now else ""
        head = f"# Alert\nType: {self._alert_type()}\nReceived: {self.context.received_at}{now}"
        return f"{head}\n{self.fence.wrap('ALERT', self.context.alert_data)}"

    def _alert_type(self) -> str:
        # It stands outside the fence, so it gets neither lines nor length to say more than a type.
        return clip(" ".join(self.context.alert_type.split()), _ALERT_TYPE_LIMIT, notice="…")

    def _runbook(self) -> str:
        if not self._has_runbook:
            return ""
        return "# Runbook\n" + self.fence.wrap("RUNBOOK", self.context.runbook)

    def _reports(self, text: str) -> str:
        # Its parts are fenced each.
        return f"# Reports of earlier work\n{text}" if text.strip() else ""

    def _warnings(self) -> str:
        if not self.context.tool_warnings:
            return ""
        lines = "\n".join(f"- {warning}" for warning in self.context.tool_warnings)
        head = "# Tools that are missing\nThese could not be reached. Do without them, and say in your answer what that leaves unknown."
        return f"{head}\n{self.fence.wrap('WARNINGS', lines)}"


def is_compaction_pointer(content: str) -> bool:
    """Whether a result was replaced by a pointer before."""
    _, line = line_of(content)
    return content.removeprefix(line).lstrip("\n").startswith(_POINTER)


def _conclusion_form(tool_calling: ToolCalling) -> str:
    return _NATIVE_CONCLUSION if tool_calling is ToolCalling.NATIVE else REACT_CONCLUSION


def _conversation(system: str, user: str) -> Messages:
    return (ConversationMessage(Role.SYSTEM, system), ConversationMessage(Role.USER, user))


def _blocks(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)


def _lines(*parts: str) -> str:
    return "\n".join(part for part in parts if part)


def _task(text: str) -> str:
    return f"# Task\n{text}"
