"""PromptBuilder: the conversations agents begin with. Pure module: values in, messages out, the same every time."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from tarsy.agent.prompt import instructions
from tarsy.agent.prompt.fence import Fence, unwrap
from tarsy.agent.prompt.inputs import ChatPrompt, PromptContext
from tarsy.agent.prompt.react_format import FORMAT, describe_tools
from tarsy.domain.agent import ToolCalling
from tarsy.domain.conversation import ConversationMessage, Role
from tarsy.domain.tool import ToolDefinition
from tarsy.kit.text import clip

READ_RESULT_TOOL = "tarsy.read_result"

# Enough to recognise a result by its beginning, and small against any result worth compacting.
_POINTER_EXCERPT = 400
# No result begins like this: each stands behind its fence.
_POINTER = "[This result of "
_ALERT_TYPE_LIMIT = 120

_NATIVE_CONCLUSION = "Answer with your complete final analysis as plain text."
_REACT_CONCLUSION = "Answer in this form:\nThought: what the evidence amounts to\nFinal Answer: your complete final analysis"
# What weak models give back in place of an answer.
CONCLUSION_FORMS = f"{_NATIVE_CONCLUSION}\n{_REACT_CONCLUSION}"

Messages = tuple[ConversationMessage, ...]


@dataclass(frozen=True, slots=True)
class PromptBuilder:
    """Builds every prompt of one execution."""

    context: PromptContext

    @property
    def fence(self) -> Fence:
        return Fence(self.context.nonce)

    def build_native_messages(self, previous: str = "") -> Messages:
        """An investigation with function calling; `previous` is what the earlier stages found."""
        return _conversation(self.compose_instructions(instructions.FUNCTION_CALLING), self._investigation(previous))

    def build_react_messages(self, tools: Sequence[ToolDefinition], previous: str = "") -> Messages:
        """An investigation with tools spoken as text."""
        system = self.compose_instructions(FORMAT, describe_tools(tools))
        return _conversation(system, self._investigation(previous))

    def build_native_chat_messages(self, chat: ChatPrompt) -> Messages:
        return _conversation(self.compose_chat_instructions(instructions.FUNCTION_CALLING), self._chat(chat))

    def build_react_chat_messages(self, tools: Sequence[ToolDefinition], chat: ChatPrompt) -> Messages:
        return _conversation(self.compose_chat_instructions(FORMAT, describe_tools(tools)), self._chat(chat))

    def build_synthesis_messages(self, investigations: str) -> Messages:
        """One analysis out of several agents' reports."""
        system = self._compose(instructions.SYNTHESIS, instructions.UNTRUSTED, instructions.ANSWER)
        task = "Make one analysis of the reports above, in the form described for the final answer."
        return _conversation(system, _blocks(self._alert(), self._runbook(), self._reports(investigations), _task(task)))

    def build_executive_summary_messages(self, final_analysis: str) -> Messages:
        system = self._compose(instructions.EXECUTIVE_SUMMARY, instructions.UNTRUSTED)
        analysis = "# Analysis\n" + self.fence.wrap("ANALYSIS", final_analysis)
        return _conversation(system, _blocks(f"Alert type: {self._alert_type()}", analysis, _task("Write the executive summary.")))

    def build_scoring_messages(self, investigation: str) -> Messages:
        """Judge a finished session; read the answer with `parse_score`."""
        system = self._compose(instructions.SCORING, instructions.UNTRUSTED)
        record = "# Record of the investigation\n" + self.fence.wrap("INVESTIGATION", investigation)
        task = "Judge the investigation. Remember to end with the line `SCORE: NN`."
        return _conversation(system, _blocks(self._alert(), self._runbook(), record, _task(task)))

    def build_mcp_summarization_messages(self, server: str, tool: str, question: str, result: str, max_tokens: int) -> Messages:
        """Shorten a large tool result; `question` is what the agent was looking for when it made the call."""
        system = _blocks(instructions.SUMMARIZATION.format(max_tokens=max_tokens), instructions.UNTRUSTED)
        looking_for = "# What the engineer is looking for\n" + self.fence.wrap("QUESTION", question.strip() or "Not stated.")
        output = f"# Output of {server}.{tool}\n" + self.fence.wrap("TOOL OUTPUT", result, scope=f"{server}.{tool}")
        return _conversation(system, _blocks(looking_for, output, _task("Shorten the output.")))

    def fence_tool_result(self, call_id: str, content: str) -> str:
        """A tool's words as the model may see them."""
        return self.fence.wrap("TOOL RESULT", content, scope=call_id)

    def build_compaction_pointer(self, call_id: str, tool: str, content: str) -> str:
        """What takes the place of an old tool result when the conversation outgrows the model's window."""
        original = unwrap(content)
        excerpt = self.fence.wrap("TOOL RESULT", clip(original, _POINTER_EXCERPT), scope=call_id)
        from_start = json.dumps({"call_id": call_id, "offset": 0})
        by_text = json.dumps({"call_id": call_id, "search": "text"})
        how = (
            f" Read any part of it again with {READ_RESULT_TOOL}, arguments {from_start} or {by_text}."
            if self.context.can_read_back
            else ""
        )
        return f"{_POINTER}{tool} was shortened to make room: it had {len(original)} characters and begins as below.{how}]\n{excerpt}"

    def build_forced_conclusion_prompt(self, iteration: int, tool_calling: ToolCalling) -> str:
        """The last word to an agent that has used up its turns."""
        text = (
            f"You have used {iteration} turns, and no more tools can be called. Conclude now from the evidence you have. "
            "State what the evidence supports, with your confidence; name what remains unknown and what should be checked next. "
            "Do not present an unverified hypothesis as the cause."
        )
        match tool_calling:
            case ToolCalling.NATIVE:
                return f"{text} {_NATIVE_CONCLUSION}"
            case ToolCalling.REACT:
                return f"{text} {_REACT_CONCLUSION}"
            case _:
                assert_never(tool_calling)

    def compose_instructions(self, *protocol: str) -> str:
        """Three tiers: what every investigator does, what the tool servers need, what this agent is for."""
        return self._compose(instructions.GENERAL, instructions.UNTRUSTED, instructions.ANSWER, *protocol)

    def compose_chat_instructions(self, *protocol: str) -> str:
        return self._compose(instructions.CHAT, instructions.UNTRUSTED, *protocol)

    def _compose(self, *general: str) -> str:
        servers = [f"## {name}\n{text.strip()}" for name, text in self.context.server_instructions if text.strip()]
        own = self.context.custom_instructions.strip()
        return _blocks(
            *general,
            "# Tool servers\n" + "\n\n".join(servers) if servers else "",
            f"# Instructions for {self.context.agent_name}\n{own}" if own else "",
        )

    def _investigation(self, previous: str) -> str:
        task = "Investigate this alert and find its root cause, or show that there is no fault."
        if previous.strip():
            task += " Earlier stages have worked on it: build on what they established, verify what your answer depends on, and do not repeat their calls."
        return _blocks(self._alert(), self._runbook(), self._reports(previous), self._warnings(), _task(task))

    def _chat(self, chat: ChatPrompt) -> str:
        record = "# Record of the investigation\n" + self.fence.wrap("INVESTIGATION", chat.investigation)
        turns = "\n\n".join(f"Question: {turn.question}\nAnswer: {turn.answer}" for turn in chat.history)
        head = "# Conversation so far\n" + (f"[{chat.left_out} older questions are left out for length.]\n" if chat.left_out else "")
        history = head + self.fence.wrap("CONVERSATION", turns) if turns or chat.left_out else ""
        return _blocks(self._alert(), self._runbook(), record, history, self._warnings(), f"# Question\n{chat.question.strip()}")

    def _alert(self) -> str:
        head = f"# Alert\nType: {self._alert_type()}\nReceived: {self.context.received_at}"
        return f"{head}\n{self.fence.wrap('ALERT', self.context.alert_data)}"

    def _alert_type(self) -> str:
        # It stands outside the fence, so it gets neither lines nor length to say more than a type.
        return clip(" ".join(self.context.alert_type.split()), _ALERT_TYPE_LIMIT, notice="…")

    def _runbook(self) -> str:
        if not self.context.runbook.strip():
            return ""
        return "# Runbook\n" + self.fence.wrap("RUNBOOK", self.context.runbook)

    def _reports(self, text: str) -> str:
        return "# Reports of earlier work\n" + self.fence.wrap("REPORTS", text) if text.strip() else ""

    def _warnings(self) -> str:
        if not self.context.tool_warnings:
            return ""
        lines = "\n".join(f"- {warning}" for warning in self.context.tool_warnings)
        head = "# Tools that are missing\nThese could not be reached. Do without them, and say in your answer what that leaves unknown."
        return f"{head}\n{self.fence.wrap('WARNINGS', lines)}"


def is_compaction_pointer(content: str) -> bool:
    """Whether a result has given way to a pointer before."""
    return content.startswith(_POINTER)


def _conversation(system: str, user: str) -> Messages:
    return (ConversationMessage(Role.SYSTEM, system), ConversationMessage(Role.USER, user))


def _blocks(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)


def _task(text: str) -> str:
    return f"# Task\n{text}"
