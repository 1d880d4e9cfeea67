"""`tarsy serve` as a person sees it who starts it in a terminal: with the setup code, which is printed in a terminal only."""

import os
import pty
import re
import select
import subprocess
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from support.tarsy_process import plain_environment
from support.warm_tarsy import warm_command

ANSWERED = re.compile(r"TARSy is ready: (http://\S+?)/\r?\n.*?/setup and enter the code ([A-Z0-9]{4}-[A-Z0-9]{4})", re.DOTALL)
# Generous: a machine that runs other tests too starts a database in ten seconds.
START_SECONDS = 90.0


@dataclass(frozen=True, slots=True)
class Shown:
    url: str
    code: str
    log: Path


@contextmanager
def served_in_terminal(cwd: Path, env: Mapping[str, str]) -> Generator[Shown]:
    """Run it on a free port until the block ends."""
    ours, theirs = pty.openpty()
    log = cwd / "serve.log"
    surroundings = {"TARSY_DATA_DIR": str(cwd / "data"), "TARSY_REPLAY_SPEED": "0", **env}
    with log.open("w") as errors:
        process = subprocess.Popen(
            [*warm_command(), "serve", "--port", "0"], cwd=cwd, env=plain_environment(**surroundings), stdout=theirs, stderr=errors
        )
    os.close(theirs)
    try:
        url, code = _read(ours, log)
        yield Shown(url, code, log)
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)
        os.close(ours)


def _read(terminal: int, log: Path) -> tuple[str, str]:
    text, deadline = "", time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if select.select([terminal], [], [], 1)[0]:
            try:
                text += os.read(terminal, 4096).decode()
            except OSError:
                # What a terminal says when its last writer has gone.
                break
        if found := ANSWERED.search(text):
            return found[1], found[2]
    raise AssertionError(f"the server did not start: {text} {log.read_text()}")
