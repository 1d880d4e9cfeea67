"""The file by which commands find the running server."""

import os
from dataclasses import replace
from pathlib import Path

from tarsy.kit.data_directory import SERVER_FILE
from tarsy.kit.server_file import RunningServer, database_digest, find_server, server_file

OURS = RunningServer("http://127.0.0.1:8081", os.getpid(), login_required=False, database=database_digest(None))
# Larger than any process id.
NOBODY = 2**22 + 1


def test_a_server_is_found_while_it_runs(tmp_path: Path) -> None:
    with server_file(tmp_path / "data", OURS):
        assert find_server(tmp_path / "data", None) == OURS
        assert find_server(tmp_path / "data", "postgresql://other") is None
    assert find_server(tmp_path / "data", None) is None


def test_the_file_of_a_killed_server_names_none_and_another_server_keeps_its_own(tmp_path: Path) -> None:
    with server_file(tmp_path, OURS), server_file(tmp_path, replace(OURS, pid=NOBODY)):
        assert find_server(tmp_path, None) is None
    assert (tmp_path / SERVER_FILE).exists()


def test_a_file_that_is_none_and_a_directory_that_cannot_be_written_are_no_server(tmp_path: Path) -> None:
    (tmp_path / SERVER_FILE).write_text('["odd"]')
    assert find_server(tmp_path, None) is None
    with server_file(tmp_path / SERVER_FILE / "below", OURS):
        assert find_server(tmp_path / SERVER_FILE / "below", None) is None
