"""A process that has imported the program already and becomes `tarsy` for every command it is asked to run, in a fork of its own;
also the simulated cluster that a sample starts.

A command imports for one second before it does anything, a server for three, and one with a database of its own runs initdb for another.
Tests that run dozens of them would do little else; that they also start cold is shown by the tests of the processes of `tarsy serve`, of
`tarsy --help` and of the wheel (a sample with its cluster too), that a data directory is made by those of the embedded server.
"""

import fcntl
import gc
import json
import os
import select
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import anyio
import typer.main

PRELOADED = (
    "tarsy.server",
    "tarsy.wiring.application",
    "tarsy.replay",
    "tarsy.evals.run",
    "tarsy.cli.main",
    "tarsy.cli.live_view",
    "tarsy.tools.connection",
    "alembic.command",
    "asyncpg",
    "httpcore",
    "uvicorn.protocols.http.auto",
    "uvicorn.protocols.websockets.auto",
    "uvicorn.lifespan.on",
    "genai_prices.data",
    "tarsy.cli.doctor_checks",
    "tarsy.processes",
    "tarsy.llm.providers.langchain",
    "langchain_openai",
    "tarsy.mcp_server.bridge",
    "tarsy.tools.stdio",
)
# What the samples start as their tool server.
SIMULATED_CLUSTER = ("-P", "-m", "tarsy.demo.cluster")
CLIENT = Path(__file__).with_name("warm_client.py")


@cache
def warm_command() -> tuple[str, ...]:
    """Return the command that stands for `tarsy` until this run of the tests ends. The first call starts the process behind it, for all xdist workers."""
    directory = Path(os.environ["TARSY_TESTS_SERVER_DIR"]) / "warm"
    directory.mkdir(exist_ok=True)
    for path in (directory, directory.parent):
        # For the account that runs the databases.
        path.chmod(0o711)
    address = directory / "socket"
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not address.exists():
            run = os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()
            command = [sys.executable, "-P", __file__, str(address), str(run)]
            subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True, check=True)
    return sys.executable, "-I", "-S", str(CLIENT), str(address)


def _serve(address: str, run: int) -> None:
    """Listen in a child of this process, which ends; the child ends with the process `run`, even when that is killed."""
    run_end = os.pidfd_open(run)
    for name in PRELOADED:
        import_module(name)
    _copy_new_clusters(Path(address).parent)
    from tarsy.cli.main import app  # noqa: PLC0415 - the test process imports this module too
    from tarsy.demo.cluster import cluster_tools  # noqa: PLC0415 - the test process imports this module too
    from tarsy.demo.samples import list_samples  # noqa: PLC0415 - the test process imports this module too
    from tarsy.demo.world import load_world  # noqa: PLC0415 - the test process imports this module too
    from tarsy.tools import stdio  # noqa: PLC0415 - the test process imports this module too

    stdio.server_process = with_forked_clusters(stdio.server_process, address)
    # What the program makes once: its commands, the samples with the tools of their worlds, and the backend of its event loop.
    typer.main.get_command = cache(typer.main.get_command)
    typer.main.get_command(app)
    for sample in list_samples():
        assert sample.recording
        assert all(tool.described() for tool in cluster_tools(load_world(sample.name)))
    anyio.run(anyio.sleep, 0)
    # A child that collects garbage need not look at, and so copy, what is here already.
    gc.freeze()
    # A fork takes only the thread that calls it.
    assert threading.active_count() == 1
    # Nobody waits for the children here; their clients do.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listening, selectors.DefaultSelector() as waiting:
        listening.bind(address)
        listening.listen()
        if os.fork() != 0:
            os._exit(0)
        waiting.register(listening, selectors.EVENT_READ)
        waiting.register(run_end, selectors.EVENT_READ)
        while run_end not in {key.fd for key, _ in waiting.select()}:
            with listening.accept()[0] as connection:
                if os.fork() == 0:
                    listening.close()
                    _become_tarsy(connection)


def _copy_new_clusters(templates: Path) -> None:
    """Let the first command make and migrate a data directory for each set of options; all others get copies of it."""
    from tarsy.db.embedded import server  # noqa: PLC0415 - the test process imports this module too

    run_program, template_of = server.run, dict[str, Path]()

    def run(name: str, arguments: list[str], account: server.ServerAccount, **more: Any) -> None:
        if sys.argv[1:2] == ["restore"]:
            # It needs a database without tables.
            run_program(name, arguments, account, **more)
            return
        if name == "initdb":
            _, made, *options = arguments
            template = templates / sha256(repr(options).encode()).hexdigest()
            if template.exists():
                # Not shutil: the owner, which is not us if we are root, is part of the data.
                subprocess.run(["cp", "-a", f"{template}/.", made], check=True)
                return
            template_of[made] = template
        # Creates the database, which a copy has already.
        if name == "postgres" and arguments[2] not in template_of:
            return
        run_program(name, arguments, account, **more)
        if name == "postgres":
            copy = Path(tempfile.mkdtemp(dir=templates))
            subprocess.run(["cp", "-a", f"{arguments[2]}/.", copy], check=True)
            run_program("pg_ctl", ["-D", str(copy), "-w", "-o", f"-c listen_addresses= -k {copy}", "start"], account)
            anyio.run(_migrate, f"postgresql://{server.ROLE}@/{server.DATABASE}?host={copy}&port={server.PORT}")
            run_program("pg_ctl", ["-D", str(copy), "-w", "stop"], account)
            # Another command may have been as quick.
            with suppress(OSError):
                copy.rename(template_of[arguments[2]])

    server.run = run


def with_forked_clusters(server_process: Callable[..., Any], address: str) -> Callable[..., Any]:
    """Return `server_process`, except that the simulated cluster of a sample is a fork of the warm process: it imports for half a second."""

    def started(command: str, args: Sequence[str], env: Mapping[str, str]) -> Any:
        if command == sys.executable and tuple(args[:3]) == SIMULATED_CLUSTER:
            args = ("-I", "-S", str(CLIENT), address, *args)
        return server_process(command, args, env)

    return started


async def _migrate(url: str) -> None:
    from tarsy.db.connection import create_engine  # noqa: PLC0415 - the test process imports this module too
    from tarsy.db.migrate import upgrade  # noqa: PLC0415 - the test process imports this module too

    engine = create_engine(url)
    await upgrade(engine)
    await engine.dispose()


def _become_tarsy(connection: socket.socket) -> NoReturn:
    header, streams, _, _ = socket.recv_fds(connection, 4, 3)
    with connection.makefile("rb") as request:
        asked = json.loads(request.read(int.from_bytes(header, "big")))
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115 - they live as long as the process
    if os.isatty(0):
        # Its terminal, as for a program that a shell starts: it hangs up when the terminal is closed. That of a developer is taken.
        os.setsid()
        with suppress(PermissionError):
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    sys.argv = ["tarsy", *asked["arguments"]]
    program = "tarsy.cli.main"
    if tuple(sys.argv[1:4]) == SIMULATED_CLUSTER:
        *_, program = SIMULATED_CLUSTER
        del sys.argv[1:4]
    connection.sendall(os.getpid().to_bytes(4, "big"))
    _die_with(connection)
    status = _status_of_main(program)
    sys.stdout.flush()
    sys.stderr.flush()
    connection.sendall(bytes([status]))
    os._exit(status)


def _die_with(connection: socket.socket) -> None:
    """Kill this process when its client is killed, as one process would end: the kernel sends the signal when the client's end closes."""
    fcntl.fcntl(connection, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(connection, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(connection, fcntl.F_SETFL, fcntl.fcntl(connection, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([connection], [], [], 0)[0]:
        os.kill(os.getpid(), signal.SIGKILL)


def _status_of_main(program: str) -> int:
    try:
        import_module(program).main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - what Python itself does with it
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    _serve(sys.argv[1], int(sys.argv[2]))
