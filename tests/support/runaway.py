"""Models that would never stop by themselves, at a known price; and what a session of theirs came to."""

from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import sqlalchemy as sa

from support.agent_scenario import PROVIDER, SESSION_ID, TOOLS, Scenario, agent, answers, chain, helper, stage
from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedChain
from tarsy.db.tables import llm_interactions, mcp_interactions, reservations
from tarsy.domain.budget import Ceiling, Spent
from tarsy.domain.conversation import ToolCall
from tarsy.domain.execution import AgentType
from tarsy.domain.llm import Chunk, FinishChunk, FinishReason, GenerateInput, LLMHealth, ProviderType, TextChunk, ToolCallChunk
from tarsy.domain.tool import ToolCatalog, ToolResult
from tarsy.domain.usage import TokenUsage
from tarsy.kit.text import estimate_tokens
from tarsy.wiring.application import Application

TRACK = "0.look/1.Investigator"
PRICED = PROVIDER.model_copy(update={"type": ProviderType.OPENAI, "context_window": 200_000})
CHAT_TRACK = "2.chat/1.ChatAgent"
# $10 and $50 for a million tokens.
RATES = "system:\n  cost_estimation:\n    model_rates:\n      model-1: {input_per_million: 10, output_per_million: 50}\n"

# Text that cannot be folded.
_NOUNS = ("disk", "node", "inode", "volume", "claim", "mount", "write", "sync", "error", "quota", "cache", "journal", "block")
_WORDS = " ".join(_NOUNS[(place * place + place // 7) % len(_NOUNS)] for place in range(40_000))
_AT = datetime(2026, 1, 1, tzinfo=UTC)
Say = Callable[[GenerateInput, int], Sequence[Chunk]]


def tokens_in(request: GenerateInput) -> int:
    return sum(estimate_tokens(message.content) for message in request.messages)


def usage(request: GenerateInput, output: int, *, density: float = 1.0) -> TokenUsage:
    given = round(tokens_in(request) * density)
    return TokenUsage(given, output, given + output)


@dataclass
class Runaway:
    """Says what `say` makes of a request and its number; only when it is offered no tools does it conclude."""

    say: Say
    concludes: bool = True
    requests: list[GenerateInput] = field(default_factory=list[GenerateInput])

    async def generate(self, request: GenerateInput) -> AsyncGenerator[Chunk]:
        self.requests.append(request)
        last_word = self.concludes and not request.tools
        answer = (TextChunk("The disk of node-1 is full."), usage(request, 40)) if last_word else self.say(request, len(self.requests))
        for chunk in answer:
            yield chunk

    async def health(self) -> LLMHealth:
        return LLMHealth(ok=True, detail="a test")

    async def aclose(self) -> None:
        """Nothing is held."""


def endless_tools(request: GenerateInput, number: int) -> Sequence[Chunk]:
    return ToolCallChunk(f"c{number}", "k8s.logs", f'{{"since": {number}}}'), usage(request, 300)


def endless_text(request: GenerateInput, number: int) -> Sequence[Chunk]:
    """As much as it may say, and cut there every time."""
    longest = request.max_output_tokens or 60_000
    words = " ".join(f"Word {number}.{place} of many." for place in range(longest // 8))
    return TextChunk(words), usage(request, longest), FinishChunk(FinishReason.LENGTH)


def ten_calls(request: GenerateInput, number: int) -> Sequence[Chunk]:
    return *_calls(number, 10), usage(request, 2_000)


def a_thousand_calls(request: GenerateInput, number: int) -> Sequence[Chunk]:
    return *_calls(number, 1_000), usage(request, 2_000)


def _calls(number: int, many: int) -> list[Chunk]:
    return [ToolCallChunk(f"c{number}-{place}", "k8s.logs", f'{{"since": {place}}}') for place in range(many)]


def late(request: GenerateInput, number: int) -> Sequence[Chunk]:
    """Never says what it used."""
    return (ToolCallChunk(f"c{number}", "k8s.logs", f'{{"since": {number}}}'),)


def priced_chain(*agents: ResolvedAgentConfig, **changes: Any) -> ResolvedChain:
    summary = helper("ExecSummaryAgent", AgentType.EXEC_SUMMARY, provider=PRICED)
    looking = stage(*(agents or (runaway_agent(),)))
    if looking.synthesis:
        looking = looking.model_copy(update={"synthesis": helper("SynthesisAgent", AgentType.SYNTHESIS, provider=PRICED)})
    return chain(looking, **{"executive_summary": summary, "scoring": None, "chat": runaway_agent("ChatAgent"), **changes})


def runaway_agent(name: str = "Investigator", **changes: Any) -> ResolvedAgentConfig:
    return agent(name, provider=PRICED, max_iterations=200, **changes)


def runaway(model: Runaway, directory: Path, chain_: ResolvedChain, more: str = "") -> Scenario:
    (directory / "tarsy.yaml").write_text(RATES + more, encoding="utf-8")
    tracks = [f"0.look/{number}.{one.agent_name}" for number, one in enumerate(chain_.stages[0].agents, start=1)]
    results = [answers(track, "any", "k8s.logs", "disk full " * 20, f'{{"since": {n}}}') for track in tracks for n in range(1_000)]
    return Scenario(chain_, [], results, llm=model, config_dir=directory, extra_tracks=[*tracks, CHAT_TRACK])


async def used(running: Application, session_id: str = SESSION_ID) -> Spent:
    """What a session has used and may have used, by what is stored."""
    async with running.engine.connect() as connection:
        of = llm_interactions.c
        models = sa.select(sa.func.sum(of.cost_usd), sa.func.sum(of.input_tokens + of.output_tokens), sa.func.count())
        usd, tokens, calls = (await connection.execute(models.where(of.session_id == session_id))).one()
        left = sa.select(sa.func.sum(reservations.c.usd), sa.func.sum(reservations.c.tokens))
        unsettled = left.where(reservations.c.session_id == session_id, ~reservations.c.is_kept)
        more_usd, more_tokens = (await connection.execute(unsettled)).one()
        tool = mcp_interactions.c
        made = sa.select(sa.func.count()).where(tool.session_id == session_id, tool.kind == "tool_call")
        tools = (await connection.execute(made)).scalar_one()
    return Spent(
        usd=(usd or Decimal(0)) + (more_usd or Decimal(0)),
        tokens=int(tokens or 0) + int(more_tokens or 0),
        model_calls=calls,
        tool_calls=tools,
    )


async def billed_by_track(running: Application) -> dict[str, Spent]:
    """What the stored calls of each conversation came to."""
    of = llm_interactions.c
    summed = sa.select(of.track, sa.func.sum(of.cost_usd), sa.func.sum(of.input_tokens + of.output_tokens), sa.func.count())
    async with running.engine.connect() as connection:
        rows = (await connection.execute(summed.group_by(of.track))).all()
    return {track: Spent(usd=usd or Decimal(0), tokens=int(tokens), model_calls=calls) for track, usd, tokens, calls in rows}


def with_ceiling(made: ResolvedChain, ceiling: Ceiling) -> ResolvedChain:
    return made.model_copy(update={"budget": ceiling})


@dataclass
class ScriptedTools:
    """The tools of the scenarios: each call takes `seconds` and returns `characters` of a log."""

    seconds: float = 0.0
    characters: int = 200
    made: int = 0

    async def list_tools(self) -> ToolCatalog:
        return ToolCatalog(TOOLS)

    async def execute(self, call: ToolCall, on_output: Callable[[str], None]) -> ToolResult:
        del on_output
        self.made += 1
        number = self.made
        await anyio.sleep(self.seconds)
        content = f"{number}: no space left on device of node-1. {_WORDS}"[: self.characters]
        return ToolResult(call=call, content=content, started_at=_AT)
