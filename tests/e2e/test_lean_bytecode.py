"""What `make setup` leaves behind: libraries whose bytecode holds no documentation, and a program that keeps its own."""

import subprocess
import sys


def test_libraries_are_loaded_without_their_documentation_and_we_keep_ours() -> None:
    program = "import sqlalchemy, tarsy.domain.step; print(sqlalchemy.Table.__doc__ is None, bool(tarsy.domain.step.Step.__doc__))"
    told = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert told.stdout == "True True\n"
