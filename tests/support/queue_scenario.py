"""The recorded session that the chaos tests break in every place: three stages, the middle one parallel, tools of every kind."""

import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedChain, ResolvedMcpServer, ResolvedStage, ResolvedTransport
from tarsy.domain.execution import AgentType
from tarsy.domain.llm import LLMBackend, ProviderType, ResolvedProvider
from tarsy.domain.recording import RecordedCall, RecordedChunk, RecordedToolCallChunk, Recording
from tarsy.domain.session import NewSession
from tarsy.domain.stage import ParallelType
from tarsy.domain.tool import ApprovalPolicy, ToolCalling
from tarsy.domain.verdict import Confidence

SERVER = Path(__file__).with_name("ledger_server.py")
# Tool calls of the whole scenario by key, and whether they may be repeated when nobody knows what became of them.
REPEATABLE = {
    "t-look": True,
    "t-ensure": True,
    "t-act": False,
    "t-dump": True,
    "a-look": True,
    "a-act": False,
    "b-look": True,
    "c-act": False,
}


def call(track: str, turn: int, *parts: RecordedChunk) -> RecordedCall:
    return RecordedCall(track=track, turn=turn, chunks=parts)


def says(text: str, after: float = 0.0) -> RecordedChunk:
    return RecordedChunk(text=text, after=after)


def thinks(text: str) -> RecordedChunk:
    return RecordedChunk(thinking=text)


def asks(tool: str, key: str) -> RecordedChunk:
    return RecordedChunk(tool_call=RecordedToolCallChunk(id=key, name=f"ledger.{tool}", arguments={"key": key}))


def three_stages() -> Recording:
    triage, first, second = "0.triage/1.Triager", "1.dig/1.Native", "1.dig/2.Textual"
    return Recording(
        calls=(
            call(triage, 0, thinks("Where to begin?"), says("I look first."), asks("look", "t-look"), asks("act", "t-act")),
            call(triage, 1, asks("dump", "t-dump"), asks("ensure", "t-ensure")),
            call(f"{triage}/summary/t-dump", 0, says("Nothing unusual in 500 lines.")),
            call(triage, 2, says("Triage: the disk is full.\n")),
            call(first, 0, asks("look", "a-look"), asks("act", "a-act")),
            call(first, 1, thinks("Enough."), says("Native: logs fill the disk.")),
            call(second, 0, says('Thought: I look.\nAction: ledger.look\nAction Input: {"key": "b-look"}')),
            call(second, 1, says("Thought: That is it.\nFinal Answer: Textual: rotation is off.")),
            call("2.dig synthesis/1.Synthesizer", 0, says("Together: rotation is off, logs fill the disk.")),
            call("3.conclude/1.Concluder", 0, says("One more thing."), asks("act", "c-act")),
            call("3.conclude/1.Concluder", 1, says("  Root cause: log rotation was switched off.  ")),
            call("4.executive summary/1.Summarizer", 0, says("Turn log rotation on.")),
        )
    )


def tree() -> Recording:
    """An agent that sends two others at once, each with a call of its own."""
    track, first, second = "0.look/1.Looker", "0.look/1.Looker/1.Left", "0.look/1.Looker/2.Right"
    return Recording(
        calls=(
            call(track, 0, says("I send two."), _sends("a", "Left"), _sends("b", "Right")),
            call(first, 0, asks("look", "l-look")),
            call(first, 1, says('Left is full [A1.1: "look l-look: done"].')),
            call(second, 0, asks("look", "r-look"), asks("act", "r-act")),
            call(second, 1, says('Right is full [A2.1: "look r-look: done"].')),
            call(track, 1, says("Both disks are full.")),
            call("1.executive summary/1.Summarizer", 0, says("Full.")),
        )
    )


def _sends(key: str, name: str) -> RecordedChunk:
    arguments = {"name": name, "task": f"Look at the {name.lower()} side."}
    return RecordedChunk(tool_call=RecordedToolCallChunk(id=key, name="tarsy.run_agent", arguments=arguments))


def sending(made: "Scenario") -> "Scenario":
    """The scenario of a tree: its agent may send two others."""
    (stage,) = made.chain.stages
    (looker,) = stage.agents
    sent = tuple(looker.model_copy(update={"agent_name": name, "description": f"Looks {name}"}) for name in ("Left", "Right"))
    lead = looker.model_copy(update={"sub_agents": sent})
    return Scenario(made.chain.model_copy(update={"stages": (stage.model_copy(update={"agents": (lead,)}),)}))


# Of an agent that called the tool `look` first, with this key.
VERDICT = """\
## Do now
Restart the cart.

## Why
The disk is full [A1: "look disk-full: done"].

```verdict
outcome: {outcome}
object: Deployment/shop/cart
mechanism: The disk is full.
confidence_object: low
confidence_mechanism: low
evidence: [A1]
category: capacity
```"""
GONE = says('Restarted; it answers [B2: "look after: done"].\n\n```symptom\nsymptom: gone\n```')
REMEDIATOR = "1.act/1.Remediator"


def acting(made: "Scenario", *, needs: Confidence = Confidence.LOW, dry_run: bool = False) -> "Scenario":
    """The scenario with a stage that acts on its verdict."""
    (first,) = made.chain.stages
    agent = first.agents[0].model_copy(update={"agent_name": "Remediator", "type": AgentType.ACTION, "dry_run": dry_run})
    stages = (first, ResolvedStage(name="act", agents=(agent,), min_confidence=needs))
    return Scenario(made.chain.model_copy(update={"stages": stages}))


def short(pause: float) -> Recording:
    """One agent, one call of each kind, `pause` seconds before each answer: for many sessions at once."""
    track = "0.look/1.Looker"
    return Recording(
        calls=(
            call(track, 0, says("Looking.", pause), asks("look", "s-look"), asks("act", "s-act")),
            call(track, 1, says("It was the network.", pause)),
            call("1.executive summary/1.Summarizer", 0, says("The network.", pause)),
        )
    )


def lengthy(*, in_tool: bool) -> Recording:
    """A session that hangs for a minute, in the model or in a tool: for those who stop it."""
    track = "0.look/1.Looker"
    begins = (says("Waiting."), asks("wait", "w")) if in_tool else (says("Hm."), says("Still here.", 60.0))
    return Recording(
        calls=(call(track, 0, *begins), call(track, 1, says("Done.")), call("1.executive summary/1.Summarizer", 0, says("Done.")))
    )


def followups() -> Recording:
    """A question and a judgement about a session without stages, each of which hangs for a minute in its middle."""
    return Recording(
        calls=(
            call("0.chat/1.Looker", 0, says("It was "), says("the network.", 60.0)),
            call("0.scoring/1.Judge", 0, says("Well supported.\n\n"), says("SCORE: 80", 60.0)),
        )
    )


@dataclass(frozen=True, slots=True)
class Scenario:
    chain: ResolvedChain

    def session(self, **changes: Any) -> NewSession:
        """The same in every respect but its id, so that two runs can be compared word for word."""
        values: dict[str, Any] = {
            "id": str(uuid4()),
            "alert_data": "DiskFull on node-7",
            "alert_type": "chaos",
            "chain_id": self.chain.chain_id,
            "chain_snapshot": self.chain.model_dump(mode="json"),
            "author": "chaos",
            "nonce": "0123456789abcdef0123456789abcdef",
            "created_at": datetime(2026, 1, 1, tzinfo=UTC),
        }
        return NewSession(**{**values, **changes})


def scenario(recording: Recording, directory: Path, *, scored: bool = False, **server_changes: Any) -> Scenario:
    """Write the recording down and make the chain that plays it; tools write to `ledger` in the directory."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "recording.json"
    path.write_text(recording.model_dump_json(exclude_none=True))
    provider = ResolvedProvider(name="recorded", type=ProviderType.REPLAY, model="recorded", recording=str(path))
    server = ResolvedMcpServer(
        name="ledger",
        approval=ApprovalPolicy.NEVER,
        transport=ResolvedTransport(
            type="stdio", command=sys.executable, args=("-I", "-S", str(SERVER)), env={"LEDGER": str(directory / "ledger")}
        ),
    )
    three = any(call.track.startswith("4.") for call in recording.calls)
    return Scenario(
        ResolvedChain(
            chain_id="chaos",
            stages=_three(provider) if three else (ResolvedStage(name="look", agents=(_agent("Looker", provider),)),),
            executive_summary=_own("Summarizer", AgentType.EXEC_SUMMARY, provider),
            chat=_agent("Looker", provider),
            scoring=_own("Judge", AgentType.SCORING, provider) if scored else None,
            mcp_servers={"ledger": server.model_copy(update=server_changes)},
        )
    )


def _three(provider: ResolvedProvider) -> tuple[ResolvedStage, ...]:
    return (
        ResolvedStage(name="triage", agents=(_agent("Triager", provider),)),
        ResolvedStage(
            name="dig",
            agents=(_agent("Native", provider), _agent("Textual", provider, ToolCalling.REACT)),
            parallel_type=ParallelType.MULTI_AGENT,
            synthesis=_own("Synthesizer", AgentType.SYNTHESIS, provider),
        ),
        ResolvedStage(name="conclude", agents=(_agent("Concluder", provider),)),
    )


def _agent(name: str, provider: ResolvedProvider, tool_calling: ToolCalling = ToolCalling.NATIVE) -> ResolvedAgentConfig:
    return ResolvedAgentConfig(
        agent_name=name,
        type=AgentType.DEFAULT,
        llm_backend=LLMBackend.LANGCHAIN,
        tool_calling=tool_calling,
        provider=provider,
        mcp_servers=("ledger",),
    )


def _own(name: str, kind: AgentType, provider: ResolvedProvider) -> ResolvedAgentConfig:
    return ResolvedAgentConfig(
        agent_name=name, type=kind, llm_backend=LLMBackend.LANGCHAIN, tool_calling=ToolCalling.NATIVE, provider=provider
    )
