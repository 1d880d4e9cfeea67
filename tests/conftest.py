"""What every test stands on: a real PostgreSQL, an empty environment, and no way off this machine."""

import asyncio
import gc
import ipaddress
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import hypothesis
import pytest
import structlog
from sqlalchemy import make_url

from support.shared_statements import share_statements
from tarsy.db import migrate
from tarsy.db.connection import create_engine
from tarsy.db.embedded.server import EmbeddedServer, FileLock
from tarsy.kit.logs import LibraryLogs

# Set by the process that starts the run, inherited by its xdist workers: they share one server.
SERVER_DIR_VARIABLE = "TARSY_TESTS_SERVER_DIR"
KEPT_VARIABLES = {SERVER_DIR_VARIABLE, "TARSY_LONG_TESTS"}
TEMPLATE = "tarsy_template"
IN_MEMORY = Path("/dev/shm")  # noqa: S108 - what is made there has a name of its own
# Several times what a run leaves there until its end.
ROOM = 8 * 1024**3
# Makes a database from the template of that name, and drops it afterwards.
Databases = Callable[[str], AbstractContextManager[str]]
RENDERER = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)

# `make test` tries the same examples in every run, so that it fails only for what changed; `make chaos` looks for new ones.
hypothesis.settings.register_profile("steady", max_examples=20, derandomize=True, deadline=None)
hypothesis.settings.register_profile("search", max_examples=2000, deadline=None)
hypothesis.settings.load_profile("steady")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    # What is imported and collected stays until the end: looking for garbage in it, again and again, is a fifth of the time that takes.
    gc.disable()
    _forget_the_developer()
    _log_plainly()
    share_statements()
    sys.addaudithook(_stay_on_this_machine)
    if not _is_worker(config):
        directory = os.environ[SERVER_DIR_VARIABLE] = tempfile.mkdtemp(prefix="tarsy-tests-", dir=_in_memory())
        # pytest's own directory is closed again by every run that begins; databases that run under another account would be cut off.
        config.option.basetemp = config.option.basetemp or f"{directory}/files"


def pytest_collection_finish() -> None:
    """Keep the modules and the thousands of collected tests out of every later garbage collection: they stay until the end."""
    gc.freeze()
    gc.enable()
    # With Python's 700 it is a tenth of the time of a session's test; little of what a test leaves behind is in circles.
    gc.set_threshold(5_000)


def pytest_unconfigure(config: pytest.Config) -> None:
    if not _is_worker(config):
        shutil.rmtree(os.environ.pop(SERVER_DIR_VARIABLE), ignore_errors=True)


def _in_memory() -> Path | None:
    """The file system in memory, where it has room and lets programs run.

    Tests make and drop a thousand databases of three hundred files each. For each file that is made, ext4 passes by those that were
    deleted in the last minutes: that was a fifth of the time of the tests of the database.
    """
    if not IN_MEMORY.is_dir() or os.statvfs(IN_MEMORY).f_flag & os.ST_NOEXEC:
        return None
    return IN_MEMORY if shutil.disk_usage(IN_MEMORY).free >= ROOM else None


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def _forget_the_developer() -> None:
    """Drop keys, addresses and proxies a developer may have set: a test that needs one sets its own."""
    prefixes = (
        "TARSY_",
        "PG",
        "DATABASE_",
        "OPENAI_",
        "ANTHROPIC_",
        "GOOGLE_",
        "GEMINI_",
        "XAI_",
        "GITHUB_",
        "LANGCHAIN_",
        "LANGSMITH_",
        "MCP_",
    )
    suffixes = ("_API_KEY", "_TOKEN", "_PROXY", "_proxy")
    for name in list(os.environ):
        if name not in KEPT_VARIABLES and (name.startswith(prefixes) or name.endswith(suffixes) or name == "KUBECONFIG"):
            del os.environ[name]


def _log_plainly() -> None:
    """Log as by default, but tracebacks without the values of variables: rendering those takes longer than the test."""
    structlog.reset_defaults()
    structlog.configure(processors=[*structlog.get_config()["processors"][:-1], RENDERER])
    logging.captureWarnings(False)
    root = logging.getLogger()
    root.handlers = [handler for handler in root.handlers if not isinstance(handler, LibraryLogs)]
    root.setLevel(logging.WARNING)


def _stay_on_this_machine(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse connections beyond loopback: a test that depends on the network fails at once and says so."""
    match event, arguments:
        case "socket.connect", (_, (host, *_)):
            pass
        case "socket.getaddrinfo", (host, *_):
            pass
        case _:
            return
    if not _is_local(host):
        raise RuntimeError(f"a test wants to reach {host!r}; tests stay on this machine")


def _is_local(host: object) -> bool:
    if host is None or host in ("", "localhost", b"localhost"):
        return True
    try:
        address = ipaddress.ip_address(host.decode() if isinstance(host, bytes) else str(host))
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


@pytest.fixture(scope="session")
def anyio_backend() -> tuple[str, dict[str, Any]]:
    # The loop on which `tarsy serve` runs, where it is installed; tests of the loops themselves name theirs.
    return "asyncio", {"use_uvloop": find_spec("uvloop") is not None}


@pytest.fixture(autouse=True)
def _own_data_dir(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a test starts, it never touches the developer's own database."""
    monkeypatch.setenv("TARSY_DATA_DIR", str(tmp_path_factory.getbasetemp() / "data"))


@pytest.fixture(autouse=True)
def _own_logs() -> Iterator[None]:
    """A command that a test runs in this process sets how much is logged: the next test must not log less for that."""
    yield
    _log_plainly()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of a running server, shared by all tests and all xdist workers."""
    # Tests kill processes, not the machine: waiting for the disk would prove nothing.
    server = EmbeddedServer(Path(os.environ[SERVER_DIR_VARIABLE]), throwaway=True)
    server.open()
    yield server.url
    server.close()


@pytest.fixture(scope="session")
def _migrated_template(postgres_server: str) -> str:
    """The name of a database to copy: migrating each test's own would cost half a second."""
    lock = FileLock(Path(os.environ[SERVER_DIR_VARIABLE]) / "template.lock")
    lock.exclusive_within(60)
    try:
        asyncio.run(_build_template(postgres_server))
    finally:
        lock.close()
    return TEMPLATE


@pytest.fixture(scope="session")
def _databases(postgres_server: str) -> Iterator[Databases]:
    """Make databases from a template, on one connection for all: two connections per test were a fifth of the cost."""
    with asyncio.Runner() as runner:
        connection = runner.run(asyncpg.connect(postgres_server))

        @contextmanager
        def database(template: str) -> Generator[str]:
            name = f"test_{uuid4().hex}"
            # Copying files beats copying through the log here, since nothing waits for the disk.
            runner.run(connection.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY"))
            yield make_url(postgres_server).set(database=name).render_as_string(hide_password=False)
            runner.run(connection.execute(f"DROP DATABASE {name} WITH (FORCE)"))

        yield database
        runner.run(connection.close())


@pytest.fixture
def empty_database_url(_databases: Databases) -> Iterator[str]:
    """The URL of a database of this test's own, without any table."""
    with _databases("template0") as url:
        yield url


@pytest.fixture
def database_url(_databases: Databases, _migrated_template: str) -> Iterator[str]:
    """The URL of a migrated, empty database of this test's own."""
    with _databases(_migrated_template) as url:
        yield url


@pytest.fixture(scope="module")
def module_database_url(_databases: Databases, _migrated_template: str) -> Iterator[str]:
    """The URL of a migrated, empty database that the tests of one file share."""
    with _databases(_migrated_template) as url:
        yield url


async def _build_template(server_url: str) -> None:
    connection = await asyncpg.connect(server_url)
    try:
        if await connection.fetchval("SELECT 1 FROM pg_database WHERE datname = $1", TEMPLATE):
            return
        await connection.execute("CREATE DATABASE template_in_the_making TEMPLATE template0")
        engine = create_engine(make_url(server_url).set(database="template_in_the_making").render_as_string(hide_password=False))
        await migrate.upgrade(engine)
        await engine.dispose()
        await connection.execute(f"ALTER DATABASE template_in_the_making RENAME TO {TEMPLATE}")
    finally:
        await connection.close()
