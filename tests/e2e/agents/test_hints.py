"""Hints of an engineer to a running investigation, through the real pipeline on a real database."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import anyio
import pytest

from support.agent_scenario import SESSION_ID, SUMMARY, Scenario, agent, answers, calls, chain, kinds, read_back, says, stage
from support.interrupting_model import InterruptingModel
from support.replaying import replayed
from tarsy.db.errors import ConflictError
from tarsy.domain.claim import CHAT_ANSWER, INVESTIGATION
from tarsy.domain.llm import GenerateInput
from tarsy.domain.note import NoteState, SessionNote
from tarsy.domain.recording import RecordedOutcome, Recording
from tarsy.wiring.application import Application

TRACK = "0.look/1.Investigator"
DISK = 'It is the disk [ALERT: "CPU is at 100 %"].'
NETWORK = 'It is the network [NOTE1: "switch was replaced"].'
HINT = "The switch was replaced an hour ago."


@dataclass
class Hinted:
    """A scenario with hints that come while the model makes certain calls: by track and turn."""

    scenario: Scenario
    hints: Mapping[tuple[str, int], str]
    # Calls that are not answered before there was a hint.
    later: frozenset[tuple[str, int]] = frozenset()
    notes: list[SessionNote] = field(default_factory=list[SessionNote])

    @asynccontextmanager
    async def running(self, database_url: str) -> AsyncGenerator[Application]:
        given: list[Application] = []
        hinted = anyio.Event()

        async def hint(request: GenerateInput) -> None:
            if text := self.hints.get((request.track, request.turn)):
                await given[0].services.repositories.notes.hint(SESSION_ID, text, author="ada")
                hinted.set()
            if (request.track, request.turn) in self.later:
                await hinted.wait()

        scenario = replace(self.scenario, llm=InterruptingModel(self.scenario.recording, hint))
        async with scenario.running(database_url) as running:
            given.append(running)
            yield running

    async def play(self, database_url: str) -> Recording:
        async with self.running(database_url) as running:
            await running.pool.run_waiting(INVESTIGATION)
            self.notes = await running.services.repositories.notes.of_session(SESSION_ID)
            return await read_back(running)


def outcome(recording: Recording) -> RecordedOutcome:
    assert recording.outcome is not None
    return recording.outcome


def received(recording: Recording, track: str) -> list[int]:
    """The places in a conversation where its agent was given the hint."""
    reported = outcome(recording).conversations[track]
    return [place for place, message in enumerate(reported) if message["content"].startswith("[NOTE1] A hint from ada")]


def alone(*turns: object) -> Scenario:
    texts = [says(TRACK, number, *(turn if isinstance(turn, tuple) else (turn,))) for number, turn in enumerate(turns)]
    return Scenario(
        chain(stage(agent())),
        [*texts, says(f"1.{SUMMARY}", 0, "Disk.")],
        [answers(TRACK, "c0", "k8s.pods", "web-0 Running"), answers(TRACK, "c1", "k8s.pods", "web-1 Running")],
    )


def check(number: int) -> tuple[object, ...]:
    return "Let me see.", calls(f"c{number}", "k8s.pods", n=number)


async def test_a_hint_given_while_an_agent_works_reaches_it_before_its_next_call_and_replays(database_url: str) -> None:
    hinted = Hinted(alone(check(0), check(1), NETWORK), {(TRACK, 0): HINT})
    recording = await hinted.play(database_url)
    assert received(recording, TRACK) == [4], "after the result of the call during which it came, before the next"
    assert ("note", "completed") in kinds(outcome(recording), TRACK)
    [note] = hinted.notes
    assert (note.note.id, note.note.author, note.note.text, note.state, note.delivered_to) == (
        "NOTE1",
        "ada",
        HINT,
        NoteState.DELIVERED,
        ("Investigator",),
    )
    assert outcome(recording).citations == {"cited": 1, "verified": 1, "id_only": 0, "failed": 0, "uncited": 0}
    assert await replayed(database_url, recording) == []


async def test_a_hint_that_comes_while_an_agent_concludes_is_delivered_before_the_conclusion_is_accepted(database_url: str) -> None:
    hinted = Hinted(alone(check(0), DISK, NETWORK), {(TRACK, 1): HINT})
    recording = await hinted.play(database_url)
    assert outcome(recording).final_analysis == NETWORK
    assert [kind for kind, _ in kinds(outcome(recording), TRACK)][-3:] == ["llm_response", "note", "final_analysis"]
    assert await replayed(database_url, recording) == []


async def test_each_of_several_agents_and_their_synthesis_get_a_hint_once(database_url: str) -> None:
    one, other, both = "0.look/1.One", "0.look/2.Other", "1.look synthesis/1.SynthesisAgent"
    scenario = Scenario(
        chain(stage(agent("One"), agent("Other"))),
        [
            says(one, 0, "Let me see.", calls("c0", "k8s.pods")),
            says(one, 1, DISK),
            says(one, 2, NETWORK),
            says(other, 0, DISK),
            says(other, 1, NETWORK),
            says(both, 0, NETWORK),
            says(f"2.{SUMMARY}", 0, "Network."),
        ],
        [answers(one, "c0", "k8s.pods", "web-0 Running")],
    )
    hinted = Hinted(scenario, {(other, 0): HINT}, later=frozenset({(one, 1)}))
    recording = await hinted.play(database_url)
    tracks = sorted(outcome(recording).conversations)
    assert [len(received(recording, track)) for track in tracks] == [1, 1, 1, 0], "the summary is no investigator"
    assert hinted.notes[0].delivered_to == ("One", "Other", "SynthesisAgent")
    assert await replayed(database_url, recording) == []


async def test_a_hint_that_no_agent_can_read_any_more_came_too_late_and_may_be_asked_instead(database_url: str) -> None:
    scenario = alone(DISK)
    chat = says("2.chat/1.ChatAgent", 0, "Yes.")
    hinted = Hinted(replace(scenario, calls=[*scenario.calls, chat]), {(f"1.{SUMMARY}", 0): HINT})
    async with hinted.running(database_url) as running:
        await running.pool.run_waiting(INVESTIGATION)
        notes = running.services.repositories.notes
        [late] = await notes.of_session(SESSION_ID)
        assert (late.state, late.delivered_to) == (NoteState.TOO_LATE, ())
        with pytest.raises(ConflictError, match="came too late"):
            await notes.hint(SESSION_ID, HINT, author="ada")
        await running.services.repositories.chats.ask(SESSION_ID, late.note.text, author="ada")
        await running.pool.run_waiting(CHAT_ANSWER)
        recording = await read_back(running)
    assert [len(received(recording, track)) for track in sorted(outcome(recording).conversations)] == [0, 0, 0]
