"""Notes in the database: numbered without gaps, read by the step's own statement, and bounded."""

from datetime import UTC, datetime

import anyio
import pytest

from support.claims import claimed
from support.queue_ground import Ground
from support.queue_scenario import scenario, short
from support.statements import log_statements
from support.timeline_entries import warning
from tarsy.db.connection import create_engine
from tarsy.db.errors import ConflictError, NotFoundError
from tarsy.db.outbox import Publisher
from tarsy.db.run.journal import PostgresJournal
from tarsy.db.session.notes import MAX_UPDATES, NO_MORE_UPDATES, NewNote, NoteRepository, store_notes
from tarsy.domain.claim import Claim
from tarsy.domain.note import MAX_HINTS, NoteKind
from tarsy.domain.step import Step


@pytest.fixture
async def claim(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Claim:
    ground = Ground(database_url, tmp_path_factory.mktemp("ground"))
    await ground.submit(scenario(short(0.0), ground.directory))
    engine = create_engine(database_url)
    try:
        return await claimed(engine)
    finally:
        await engine.dispose()


async def test_a_step_gets_the_notes_that_its_writer_does_not_know_by_its_own_statement(database_url: str, claim: Claim) -> None:
    engine, statements = create_engine(database_url), list[str]()
    notes, journal = NoteRepository(Publisher(engine)), PostgresJournal(engine, lambda _events: None)
    await notes.hint(claim.session_id, "first", author="ada")
    await notes.hint(claim.session_id, "second", author="bob")
    log_statements(engine, statements)
    every = await journal.commit(Step(claim=claim, opened=(warning(claim, "one"),), notes_after=0))
    last = await journal.commit(Step(claim=claim, opened=(warning(claim, "two"),), notes_after=1))
    none = await journal.commit(Step(claim=claim, opened=(warning(claim, "three"),), notes_after=2))
    unasked = await journal.commit(Step(claim=claim, opened=(warning(claim, "four"),)))
    assert [(note.id, note.author, note.text) for note in every.notes] == [("NOTE1", "ada", "first"), ("NOTE2", "bob", "second")]
    assert [[note.text for note in committed.notes] for committed in (last, none, unasked)] == [["second"], [], []]
    assert len(statements) == 4, "a step is one statement"
    await engine.dispose()


async def test_a_step_that_must_not_be_written_over_an_unread_note_is_not_and_tells_of_it(database_url: str, claim: Claim) -> None:
    engine, delivered = create_engine(database_url), list[object]()
    journal = PostgresJournal(engine, delivered.extend)
    await NoteRepository(Publisher(engine)).hint(claim.session_id, "look at the switch", author="ada")
    refused = await journal.commit(Step(claim=claim, opened=(warning(claim, "one"),), notes_after=0, unless_notes=True))
    assert (refused.refused, [note.text for note in refused.notes], delivered) == (True, ["look at the switch"], [])
    written = await journal.commit(Step(claim=claim, opened=(warning(claim, "one"),), notes_after=1, unless_notes=True))
    assert (written.refused, len(delivered)) == (False, 1)
    await engine.dispose()


async def test_hints_given_at_the_same_time_are_numbered_one_after_the_other(database_url: str, claim: Claim) -> None:
    engine = create_engine(database_url)
    notes = NoteRepository(Publisher(engine))
    async with anyio.create_task_group() as tasks:
        for number in range(8):
            tasks.start_soon(lambda number=number: notes.hint(claim.session_id, f"hint {number}", author="ada"))
    assert [one.note.number for one in await notes.of_session(claim.session_id)] == list(range(1, 9))
    await engine.dispose()


async def test_a_session_is_given_no_more_than_its_agents_can_bear(database_url: str, claim: Claim) -> None:
    engine = create_engine(database_url)
    notes = NoteRepository(Publisher(engine))
    for number in range(MAX_HINTS):
        await notes.hint(claim.session_id, f"hint {number}", author="ada")
    with pytest.raises(ConflictError, match="already has 50 hints, the maximum"):
        await notes.hint(claim.session_id, "one more", author="ada")
    async with engine.begin() as connection:
        for number in range(MAX_UPDATES + 5):
            news = NewNote(claim.session_id, "alertmanager", f"alert {number} joined")
            await store_notes(connection, NoteKind.ALERTS, [news], datetime.now(UTC))
    news = [one.note.text for one in await notes.of_session(claim.session_id) if one.note.kind is NoteKind.ALERTS]
    assert len(news) == MAX_UPDATES
    assert [NO_MORE_UPDATES in text for text in news] == [False] * (MAX_UPDATES - 1) + [True]
    await engine.dispose()


async def test_a_hint_to_a_session_that_does_not_exist_is_refused(database_url: str) -> None:
    engine = create_engine(database_url)
    with pytest.raises(NotFoundError):
        await NoteRepository(Publisher(engine)).hint("00000000-0000-4000-8000-000000000009", "hello", author="ada")
    await engine.dispose()
