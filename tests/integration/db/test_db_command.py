from pathlib import Path
from subprocess import CompletedProcess

import anyio

from support.warm_tarsy import warm_command
from tarsy.db import migrate


async def tarsy(*arguments: str) -> CompletedProcess[bytes]:
    with anyio.fail_after(60):
        return await anyio.run_process([*warm_command(), *arguments], check=False)


async def test_the_schema_of_an_empty_database_can_be_looked_at_and_brought_up_to_date(empty_database_url: str) -> None:
    before = await tarsy("db", "current", "--database-url", empty_database_url)
    assert before.stdout.decode() == f"The database is at revision none; the newest is {migrate.head()}. Run: tarsy db upgrade\n"
    done = await tarsy("db", "upgrade", "--database-url", empty_database_url)
    assert done.stdout.decode() == f"The database is at revision {migrate.head()}, the newest.\n"
    after = await tarsy("db", "current", "--database-url", empty_database_url)
    assert after.stdout.decode() == f"The database is at revision {migrate.head()}, the newest.\n"


async def test_a_database_that_does_not_answer_is_reported_in_two_sentences_without_the_password(tmp_path: Path) -> None:
    done = await tarsy("db", "upgrade", "--database-url", f"postgresql://user:top-secret@/tarsy?host={tmp_path}")
    complaint = done.stderr.decode()
    assert done.returncode == 1
    assert "does not answer" in complaint
    assert "Check that the server runs" in complaint
    assert "Traceback" not in complaint
    assert "top-secret" not in complaint
