"""`tarsy` as a person runs it: a command with its output, or a server with its address."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from support.warm_tarsy import warm_command

TARSY = (sys.executable, "-P", "-c", "from tarsy.cli.main import main; main()")
_KEPT = {"PATH", "HOME", "LANG", "VIRTUAL_ENV"}
# Generous: a machine that runs other tests too starts a database in ten seconds.
COMMAND_SECONDS = 110.0
# `tarsy` below, or the same with a command that is warm already.
Tarsy = Callable[..., "subprocess.CompletedProcess[str]"]
READY = re.compile(r"TARSy is ready: (http://\S+?)/?\n")


def plain_environment(**env: str) -> dict[str, str]:
    """The least a program needs, and what the test says."""
    # A database that a command makes for itself is in memory like the others of the tests.
    memory = {"TMPDIR": directory} if (directory := os.environ.get("TARSY_TESTS_SERVER_DIR")) else {}
    return {name: value for name, value in os.environ.items() if name in _KEPT} | memory | env


def tarsy(
    *arguments: str | Path, cwd: Path, stdin: str = "", env: Mapping[str, str] | None = None, command: tuple[str, ...] = TARSY
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*command, *map(str, arguments)],
        cwd=cwd,
        env=plain_environment(**(env or {})),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS,
        check=False,
    )


@dataclass(frozen=True, slots=True)
class Served:
    """A running server."""

    url: str
    cwd: Path
    env: Mapping[str, str]
    process: "subprocess.Popen[str]"

    def client(self) -> httpx.Client:
        # No TLS: reading the trusted certificates takes as long as a request.
        return httpx.Client(base_url=self.url, timeout=30, verify=False)  # noqa: S501 - plain HTTP


@contextmanager
def served(
    cwd: Path, *arguments: str, command: tuple[str, ...] | None = None, env: Mapping[str, str] | None = None, log: Path | None = None
) -> Generator[Served]:
    """Run `tarsy serve` on a free port until the block ends, then stop it as an operator would. With `TARSY` as the command it starts cold."""
    surroundings = {"TARSY_DATA_DIR": str(cwd / "data"), "TARSY_REPLAY_SPEED": "0", **(env or {})}
    with (log or cwd / "serve.log").open("w") as errors:
        process = subprocess.Popen(
            [*(command or warm_command()), "serve", "--port", "0", *arguments],
            cwd=cwd,
            env=plain_environment(**surroundings),
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        try:
            assert process.stdout
            ready = READY.search(process.stdout.readline())
            assert ready, f"the server did not start: {(log or cwd / 'serve.log').read_text()}"
            yield Served(ready[1], cwd, surroundings, process)
        finally:
            process.terminate()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(10)
            if process.stdout:
                process.stdout.close()
