"""The file by which commands find the running server."""

import os
from dataclasses import replace
from pathlib import Path

from tarsy.kit.data_directory import SERVER_FILE
from tarsy.kit.server_file import RunningServer, database_digest, find_servers, server_file

OURS = RunningServer("http://127.0.0.1:8081", os.getpid(), login_required=False, database=database_digest(None))
# Larger than any process id.
NOBODY = 2**22 + 1


def found(data_dir: Path, database_url: str | None = None) -> list[RunningServer]:
    return list(find_servers(data_dir, database_url))


def test_a_server_is_found_while_it_runs(tmp_path: Path) -> None:
    with server_file(tmp_path / "data", OURS):
        assert found(tmp_path / "data") == [OURS]
        assert found(tmp_path / "data", "postgresql://other") == []
    assert found(tmp_path / "data") == []


def test_servers_that_share_a_directory_are_found_as_long_as_each_runs(tmp_path: Path) -> None:
    # The parent of this process is alive, and no server.
    first = replace(OURS, pid=os.getppid(), database=database_digest("postgresql://first"))
    with server_file(tmp_path, first):
        with server_file(tmp_path, OURS):
            assert (found(tmp_path, "postgresql://first"), found(tmp_path)) == ([first], [OURS])
        assert (found(tmp_path, "postgresql://first"), found(tmp_path)) == ([first], [])
    assert (tmp_path / SERVER_FILE).exists()


def test_the_file_of_a_killed_server_names_none_and_the_next_server_removes_it(tmp_path: Path) -> None:
    with server_file(tmp_path, OURS), server_file(tmp_path, replace(OURS, pid=NOBODY)):
        assert found(tmp_path) == [OURS]
    assert found(tmp_path) == []
    assert [file.name for file in tmp_path.iterdir()] == [f"{SERVER_FILE}.{NOBODY}"]
    with server_file(tmp_path, OURS):
        assert [file.name for file in tmp_path.iterdir()] == [SERVER_FILE]


def test_a_file_that_is_none_and_a_directory_that_cannot_be_written_are_no_server(tmp_path: Path) -> None:
    (tmp_path / SERVER_FILE).write_text('["odd"]')
    assert found(tmp_path) == []
    with server_file(tmp_path / SERVER_FILE / "below", OURS):
        assert found(tmp_path / SERVER_FILE / "below") == []
