"""What TARSy needs of the machine: Python, room for data, a database, a port."""

import platform
import shutil
import socket
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import httpx

from tarsy.cli.db import opened_engine
from tarsy.db import migrate
from tarsy.db.connection import DatabaseUnavailableError
from tarsy.db.pauses import PauseRepository
from tarsy.db.vital_signs import VitalSignsReader
from tarsy.domain.diagnosis import diagnose
from tarsy.kit.data_directory import default_data_dir
from tarsy.settings import Settings
from tarsy.setup.finding import Finding, fail, ok, warn

OLDEST_PYTHON = (3, 11)
# PostgreSQL begins with 60 MB and keeps some hundred of its log; a session is a megabyte at most.
TIGHT_BYTES = 1_000_000_000
TOO_LITTLE_BYTES = 200_000_000
PROBE_SECONDS = 2.0


def check_python(version: tuple[int, int] = sys.version_info[:2]) -> Finding:
    if version < OLDEST_PYTHON:
        return fail("Python", f"{platform.python_version()} is too old", "install Python 3.11 or later")
    return ok("Python", platform.python_version())


def check_disk(settings: Settings) -> Finding | None:
    """Room for the embedded database; None where the data is kept elsewhere."""
    if settings.database_url:
        return None
    data_dir = (settings.data_dir or default_data_dir()).expanduser().resolve()
    standing = next(path for path in (data_dir, *data_dir.parents) if path.exists())
    free = shutil.disk_usage(standing).free
    told = f"{data_dir} has {free / 1e9:.1f} GB free"
    cure = "free some space, or keep the data elsewhere with TARSY_DATA_DIR"
    if free < TOO_LITTLE_BYTES:
        return fail("disk", told, cure)
    return warn("disk", told, cure) if free < TIGHT_BYTES else ok("disk", told)


async def check_database(settings: Settings) -> AsyncGenerator[Finding]:
    """Start the embedded server, or reach the one that DATABASE_URL names, and look at its schema, its pauses and what ails it; nothing is changed."""
    kind = "the one DATABASE_URL names" if settings.database_url else "embedded PostgreSQL"
    try:
        async with opened_engine(settings) as engine:
            revision = await migrate.current(engine)
            current = revision == migrate.head()
            paused = await PauseRepository(engine).current() if current else []
            ailing = diagnose(await VitalSignsReader(engine).read()) if current else ()
    except DatabaseUnavailableError as error:
        yield fail("database", error.problem, error.cure)
        return
    yield _schema(kind, revision)
    for one in paused:
        chain = f" --chain {one.chain_id}" if one.chain_id else ""
        yield warn("pause", f"{one.chain_id or 'everything'} is {one.told}", f"to continue: tarsy resume{chain}")
    for one in ailing:
        yield warn(one.ailment, one.message, one.cure)


def _schema(kind: str, revision: str | None) -> Finding:
    newest = migrate.head()
    if revision == newest:
        return ok("database", f"{kind}, schema {revision}")
    if revision is None:
        return ok("database", f"{kind}, empty: the first start creates the tables")
    if revision > newest:
        return fail("database", f"{kind}, schema {revision} is newer than this TARSy ({newest})", "run the newer TARSy")
    return warn("database", f"{kind}, schema {revision}; the newest is {newest}", "the next start upgrades it, or: tarsy db upgrade")


async def check_port(host: str, port: int) -> Finding:
    """Whether `tarsy serve` could listen there, or already does."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, port))
        except OSError as error:
            reason = error.strerror
        else:
            return ok("port", f"{host}:{port} is free")
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}/"
    if await _is_tarsy(address):
        return ok("port", f"TARSy already runs at {address}")
    return fail("port", f"{host}:{port} cannot be used: {reason}", "choose another one: tarsy serve --port 8081")


async def _is_tarsy(address: str) -> bool:
    try:
        async with httpx.AsyncClient(timeout=PROBE_SECONDS, trust_env=False) as http:
            answer = await http.get(f"{address}health")
            return "checks" in answer.json()
    except (httpx.HTTPError, httpx.InvalidURL, TypeError, ValueError):
        return False


def check_dotenv(directory: Path | None) -> Finding | None:
    """Which `.env` files count; None where there is none."""
    places = [place for place in (Path(".env"), *([directory / ".env"] if directory else [])) if place.is_file()]
    return ok(".env", ", ".join(str(place) for place in places)) if places else None
