"""Every sample incident is complete, plays at a human pace, and together they show what the system can do."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

import pytest

from tarsy.agent.evidence.verdict import read_verdict
from tarsy.agent.react.parser import ReActAction, ReActFinalAnswer, parse
from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedChain, ResolvedProvider
from tarsy.demo.samples import Sample, UnknownSampleError, list_samples, load_sample, recording_loader
from tarsy.domain.execution import AgentType
from tarsy.domain.llm import LLMBackend, ProviderType
from tarsy.domain.recording import RecordedCall, RecordedChunk, Recording, sub_track_of, track_of
from tarsy.domain.stage import StageType
from tarsy.domain.tool import LOAD_SKILL_TOOL, RUN_AGENT_TOOL, ToolCalling
from tarsy.llm.providers.replay import WORDS_PER_SECOND, RecordingUnreadableError
from tarsy.session.plan import plan

SAMPLES = list_samples()
every_sample = pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)


def agents_of(chain: ResolvedChain, questions: int) -> Iterator[tuple[int, str, ResolvedAgentConfig]]:
    """Every conversation that the chain leads to, as (stage index, track, agent)."""
    stages = plan(chain)
    for stage in stages:
        for position, agent in enumerate(stage.agents, start=1):
            yield stage.index, track_of(stage.index, stage.name, position, agent.agent_name), agent
    assert chain.chat
    for index in range(len(stages), len(stages) + questions):
        yield index, track_of(index, StageType.CHAT, 1, chain.chat.agent_name), chain.chat


def sent_agents(recording: Recording, track: str, agent: ResolvedAgentConfig) -> Iterator[tuple[str, ResolvedAgentConfig]]:
    """The conversations of those that an agent sends, by the calls in which it does."""
    chunks = [chunk.tool_call for call in recording.calls if call.track == track for chunk in call.chunks if chunk.tool_call]
    known = {sub.agent_name: sub for sub in agent.sub_agents}
    for number, call in enumerate(chunks, start=1):
        if call.name == RUN_AGENT_TOOL:
            assert isinstance(call.arguments, Mapping)
            sub = known[call.arguments["name"]]
            yield sub_track_of(track, number, sub.agent_name), sub


def conversations_of(sample: Sample, questions: int) -> Iterator[tuple[str, ResolvedAgentConfig]]:
    for _, track, agent in agents_of(sample.chain, questions):
        yield track, agent
        yield from sent_agents(sample.recording, track, agent)


def calls_by_track(recording: Recording) -> Mapping[str, list[RecordedCall]]:
    found: dict[str, list[RecordedCall]] = defaultdict(list)
    for call in recording.calls:
        found[call.track].append(call)
    return found


def text_of(call: RecordedCall) -> str:
    return "".join(chunk.text or "" for chunk in call.chunks)


def seconds_of(chunk: RecordedChunk) -> float:
    words = len((chunk.text or chunk.thinking or "").split())
    return chunk.after + max(0, words - 1) / WORDS_PER_SECOND


def seconds_of_track(calls: list[RecordedCall]) -> float:
    return sum(seconds_of(chunk) for call in calls for chunk in call.chunks)


def waited(recording: Recording, track: str) -> float:
    """How long an agent waits for those that it sends: for the slowest of each turn."""
    calls, number, seconds = calls_by_track(recording), 0, 0.0
    for turn in calls[track]:
        sent = [chunk.tool_call for chunk in turn.chunks if chunk.tool_call]
        numbered = [(number + place, call) for place, call in enumerate(sent, start=1) if call.name == RUN_AGENT_TOOL]
        number += len(sent)
        names = [sub_track_of(track, place, call.arguments["name"]) for place, call in numbered if isinstance(call.arguments, Mapping)]
        seconds += max((seconds_of_track(calls[name]) for name in names), default=0.0)
    return seconds


def concludes(call: RecordedCall, agent: ResolvedAgentConfig) -> bool:
    if agent.tool_calling is ToolCalling.REACT:
        return isinstance(parse(text_of(call)), ReActFinalAnswer)
    return not any(chunk.tool_call for chunk in call.chunks)


def test_there_are_nine_samples_and_each_has_a_name_and_an_alert_type_of_its_own() -> None:
    assert [sample.name for sample in SAMPLES] == [
        "crashloop",
        "oom-leak",
        "image-pull",
        "disk-full",
        "dns-outage",
        "flapping",
        "crypto-miner",
        "hourly-timeouts",
        "stale-certificate",
    ]
    assert len({sample.alert_type for sample in SAMPLES}) == len(SAMPLES)
    assert all(sample.title and sample.description and len(sample.questions) == 2 for sample in SAMPLES)


@every_sample
def test_an_alert_is_what_a_monitoring_system_would_send(sample: Sample) -> None:
    if sample.incident.alert.endswith(".json"):
        assert isinstance(json.loads(sample.alert_data), dict)
    assert len(sample.alert_data) > 500


@every_sample
def test_the_recording_has_every_call_of_every_conversation_and_no_other(sample: Sample) -> None:
    conversations = dict(conversations_of(sample, len(sample.questions)))
    recorded = calls_by_track(sample.recording)
    assert recorded.keys() == conversations.keys()
    for track, calls in recorded.items():
        assert [call.turn for call in calls] == list(range(len(calls)))
        assert [concludes(call, conversations[track]) for call in calls] == [False] * (len(calls) - 1) + [True]
        assert len(calls) <= conversations[track].max_iterations + 1


@every_sample
def test_a_react_turn_is_read_as_the_call_it_was_meant_to_be(sample: Sample) -> None:
    for _, track, agent in agents_of(sample.chain, 0):
        if agent.tool_calling is ToolCalling.REACT:
            *turns, _ = calls_by_track(sample.recording)[track]
            assert all(isinstance(parse(text_of(turn)), ReActAction) for turn in turns)


@every_sample
def test_call_ids_are_unique_and_usage_adds_up(sample: Sample) -> None:
    chunks = [chunk for call in sample.recording.calls for chunk in call.chunks]
    ids = [chunk.tool_call.id for chunk in chunks if chunk.tool_call]
    assert len(ids) == len(set(ids))
    usages = [chunk.usage for chunk in chunks if chunk.usage]
    assert len(usages) == len(sample.recording.calls)
    assert all(usage.input_tokens + usage.output_tokens == usage.total_tokens for usage in usages)


@every_sample
def test_an_investigation_takes_between_20_and_45_seconds_at_a_natural_pace(sample: Sample) -> None:
    calls = calls_by_track(sample.recording)
    stages: dict[int, float] = defaultdict(float)
    for index, track, _ in agents_of(sample.chain, 0):
        stages[index] = max(stages[index], seconds_of_track(calls[track]) + waited(sample.recording, track))
    assert 20 <= sum(stages.values()) <= 45


@every_sample
def test_an_analysis_says_what_it_rests_on_what_to_do_and_what_is_not_known(sample: Sample) -> None:
    *_, (_, track, _), _ = agents_of(sample.chain, 0)
    analysis = text_of(calls_by_track(sample.recording)[track][-1])
    headings = re.findall(r"^## (.+)$", analysis, re.MULTILINE)
    order = ["Do now", "Why", "Timeline", "Ruled out", "Impact", "Lasting fix", "Other findings", "Not known"]
    assert headings == [heading for heading in order if heading in headings], "in the order that a tired reader needs"
    assert {"Why", "Not known"} <= set(headings)
    assert read_verdict(analysis) is not None
    if "Do now" in headings:
        assert len(analysis.partition("```")[0].split()) < 120, "the first command stands early"


def test_together_the_samples_show_what_the_system_can_do() -> None:
    agents = {sample.name: [agent for _, _, agent in agents_of(sample.chain, 0)] for sample in SAMPLES}
    recorded = {sample.name: calls_by_track(sample.recording) for sample in SAMPLES}
    assert {agent.tool_calling for found in agents.values() for agent in found} == set(ToolCalling)
    assert any(agent.type is AgentType.SYNTHESIS for found in agents.values() for agent in found)
    assert any(len(sample.chain.stages) > 1 for sample in SAMPLES)
    assert any(sample.incident.planned_errors for sample in SAMPLES)
    assert len(recorded["disk-full"]["0.investigation/1.NodeAgent"]) == agents["disk-full"][0].max_iterations + 1
    assert any(agent.sub_agents for found in agents.values() for agent in found)
    assert "kubernetes-certificates" in agents["stale-certificate"][0].skills
    assert LOAD_SKILL_TOOL in {
        chunk.tool_call.name for call in load_sample("stale-certificate").recording.calls for chunk in call.chunks if chunk.tool_call
    }
    for sample in SAMPLES:
        chat = [call for call in sample.recording.calls if ".chat/" in call.track]
        assert any(chunk.tool_call for call in chat for chunk in call.chunks)


@every_sample
def test_every_recorded_answer_of_the_chat_knows_its_question(sample: Sample) -> None:
    calls = calls_by_track(sample.recording)
    *_, first, second = [track for _, track, _ in agents_of(sample.chain, 2)]
    for track, question in zip((first, second), sample.questions, strict=True):
        assert {call.question for call in calls[track]} == {question}
    assert {call.question for track, found in calls.items() for call in found if ".chat/" not in track} == {None}


@pytest.mark.parametrize(
    ("kind", "backend"), [(ProviderType.GOOGLE, LLMBackend.NATIVE_GEMINI), (ProviderType.ANTHROPIC, LLMBackend.LANGCHAIN)]
)
def test_with_a_real_model_only_the_provider_and_its_backend_change(kind: ProviderType, backend: LLMBackend) -> None:
    sample = load_sample("dns-outage")
    real = ResolvedProvider(name="real", type=kind, model="some-model", api_key_env="SOME_KEY")
    live = [agent for _, _, agent in agents_of(sample.chain_with(real), 1)]
    assert all(agent.provider == real and agent.llm_backend is backend for agent in live)
    recorded = [agent for _, _, agent in agents_of(sample.chain, 1)]
    shared = {"provider", "llm_backend"}
    assert [agent.model_dump(exclude=shared) for agent in live] == [agent.model_dump(exclude=shared) for agent in recorded]


def test_a_chain_survives_being_stored_with_a_session() -> None:
    for sample in SAMPLES:
        assert ResolvedChain.model_validate_json(sample.chain.model_dump_json()) == sample.chain
        assert ResolvedChain.model_validate(sample.recording.chain) == sample.chain
        named = {hashed for skill in sample.chain.skills.values() for hashed in skill.files.values()}
        assert sample.recording.skills.keys() == named, "with the texts of the skills that it names"


def test_an_unknown_name_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(UnknownSampleError, match="crashloop"):
        load_sample("crash-loop")


def test_the_loader_knows_samples_and_leaves_files_to_the_other_loader() -> None:
    other = Recording(title="from a file")
    load = recording_loader(lambda _name: other)
    assert load("sample:crashloop") is load_sample("crashloop").recording
    assert load("/somewhere/else.yaml") is other
    with pytest.raises(RecordingUnreadableError, match="no sample incident"):
        load("sample:nothing")
