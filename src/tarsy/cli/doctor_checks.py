"""The checks of `tarsy doctor`: the machine, the database, the configuration, models, tool servers and prices."""

import platform
import shutil
import socket
import sys
from collections.abc import AsyncGenerator, Iterator
from datetime import UTC, datetime
from pathlib import Path

import anyio

from tarsy.api.auth import check_bind
from tarsy.api.oidc import OidcProvider, SignInRefusedError
from tarsy.api.tokens import TokenSettingError, read_tokens
from tarsy.cli.client import is_tarsy
from tarsy.cli.config_remarks import price_remarks, token_remarks
from tarsy.cli.db import opened_engine
from tarsy.cli.environment import process_settings
from tarsy.config.load.loader import LoadedConfig, load_config
from tarsy.config.problems import ConfigError
from tarsy.config.resolve.redaction import redacted_text
from tarsy.config.resolve.resolved import ResolvedMcpServer
from tarsy.config.schema.configuration import Config, NoProviderError, vendor_variables
from tarsy.config.schema.oidc import OidcConfig
from tarsy.db import migrate
from tarsy.db.connection import DatabaseUnavailableError
from tarsy.db.incident.refusals import RefusalRepository, refusal_warnings
from tarsy.db.outbox import Publisher
from tarsy.db.processes import HealthReader
from tarsy.db.work.pauses import PauseRepository
from tarsy.domain.diagnosis import diagnose
from tarsy.settings import CannotServeError, Settings
from tarsy.setup.checks import Finding, FindingStatus, check_model, check_server, fail, ok, warn
from tarsy.wiring.infrastructure import llm_client
from tarsy.wiring.installation import models_in_use, servers_in_use

OLDEST_PYTHON = (3, 11)
# PostgreSQL starts with 60 MB and keeps some hundred MB of its log; a session takes a megabyte at most.
TIGHT_BYTES = 1_000_000_000
TOO_LITTLE_BYTES = 200_000_000


async def findings(config: Path | None, host: str, port: int, *, call: bool) -> AsyncGenerator[Finding]:
    """Yield the findings of all checks in order. `call` makes a call to every model in use."""
    yield check_python()
    try:
        settings = process_settings(config)
    except (ConfigError, CannotServeError) as error:
        yield fail("settings", str(error))
        return
    disk = check_disk(settings)
    if disk:
        yield disk
    async for finding in check_database(settings):
        yield finding
    yield await check_port(host, port)
    try:
        loaded = load_config(settings.config_dir, settings.env)
    except ConfigError as error:
        for problem in error.problems:
            yield fail("configuration", str(problem))
        return
    found = (check_dotenv(loaded.directory), *check_login(host, settings, loaded.config))
    prices = [warn("configuration", str(remark)) for remark in await price_remarks(loaded)]
    for finding in (*check_configuration(loaded), *prices, *filter(None, found), check_default_model(loaded)):
        yield finding
    if loaded.config.system.oidc:
        yield await check_sign_in(loaded.config.system.oidc)
    async for finding in check_models(settings, loaded, call=call):
        yield finding
    for finding in await check_tools(loaded):
        yield finding


def check_python(version: tuple[int, int] = sys.version_info[:2]) -> Finding:
    if version < OLDEST_PYTHON:
        return fail("Python", f"{platform.python_version()} is too old", "install Python 3.11 or later")
    return ok("Python", platform.python_version())


def check_disk(settings: Settings) -> Finding | None:
    """Check the disk space for the embedded database; None with an external one."""
    if settings.database_url:
        return None
    data_dir = settings.data_directory.resolve()
    existing = next(path for path in (data_dir, *data_dir.parents) if path.exists())
    free = shutil.disk_usage(existing).free
    state = f"{data_dir} has {free / 1e9:.1f} GB free"
    remedy = "free some space, or keep the data elsewhere with TARSY_DATA_DIR"
    if free < TOO_LITTLE_BYTES:
        return fail("disk", state, remedy)
    return warn("disk", state, remedy) if free < TIGHT_BYTES else ok("disk", state)


async def check_database(settings: Settings) -> AsyncGenerator[Finding]:
    """Start the embedded server or connect to the configured one; check its schema, pauses and problems. Changes nothing."""
    kind = "the one DATABASE_URL names" if settings.database_url else "embedded PostgreSQL"
    try:
        async with opened_engine(settings) as engine:
            revision = await migrate.current(engine)
            current = revision == migrate.head()
            paused = await PauseRepository(Publisher(engine)).current() if current else []
            problems = diagnose(await HealthReader(engine).read()) if current else ()
            refused = await RefusalRepository(engine).latest() if current else []
    except DatabaseUnavailableError as error:
        yield fail("database", error.problem, error.remedy)
        return
    yield _schema(kind, revision)
    for one in paused:
        chain = f" --chain {one.chain_id}" if one.chain_id else ""
        yield warn("pause", f"{one.chain_id or 'everything'} is {one.description}", f"to continue: tarsy resume{chain}")
    for one in problems:
        yield warn(one.kind, one.message, one.remedy)
    for message, _ in refusal_warnings(refused, datetime.now(UTC)):
        yield warn("senders", message, "the System page lists them with their addresses")


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
    """Check whether `tarsy serve` can listen on the port, or already does."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, port))
        except OSError as error:
            reason = error.strerror
        else:
            return ok("port", f"{host}:{port} is free")
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}/"
    if await is_tarsy(address):
        return ok("port", f"TARSy already runs at {address}")
    return fail("port", f"{host}:{port} cannot be used: {reason}", "choose another one: tarsy serve --port 8081")


def check_dotenv(directory: Path | None) -> Finding | None:
    """Report the `.env` files in use; None if there is none."""
    places = [place for place in (Path(".env"), *([directory / ".env"] if directory else [])) if place.is_file()]
    return ok(".env", ", ".join(str(place) for place in places)) if places else None


def check_configuration(loaded: LoadedConfig) -> Iterator[Finding]:
    config = loaded.config
    sizes = f"chains: {', '.join(config.chains)}; tool servers: {', '.join(config.mcp_servers)}"
    yield ok("configuration", f"{loaded.place or 'built-in, there is no config/tarsy.yaml'}; {sizes}")
    # What the environment lacks is reported by the checks of models and tools.
    yield from (warn("configuration", str(warning)) for warning in loaded.warnings if not warning.of_environment)


def check_login(host: str, settings: Settings, config: Config) -> Iterator[Finding]:
    """Check the login of a server on `host`."""
    try:
        tokens = read_tokens(settings.api_tokens)
    except TokenSettingError as error:
        yield fail("login", str(error))
        return
    refusal = check_bind(host, tokens, config.system, insecure=False)
    if refusal:
        first, *remedies = refusal.splitlines()
        yield fail("login", first, "\n".join(remedy.strip(" -") for remedy in remedies))
    elif tokens:
        named = (f"{name} ({tokens.roles.get(name, 'no role')})" for name in tokens.by_name)
        yield ok("login", f"tokens of {', '.join(named)}")
    yield from (warn("login", remark.message, remark.remedy) for remark in token_remarks(settings.api_tokens))


async def check_sign_in(oidc: OidcConfig) -> Finding:
    """Ask the OpenID Connect provider for its configuration."""
    try:
        await OidcProvider(oidc, secret="", dashboard_url="").metadata()
    except SignInRefusedError as error:
        remedy = f"open {oidc.issuer.rstrip('/')}/.well-known/openid-configuration from this machine, and compare its issuer with system.oidc.issuer"
        return fail("sign-in", error.reason, remedy)
    return ok("sign-in", f"{oidc.issuer} answers")


def check_default_model(loaded: LoadedConfig) -> Finding:
    """Report the default model and the keys that are set."""
    config, env = loaded.config, loaded.env
    found = [name for names in vendor_variables().values() for name in names if env.get(name, "").strip()]
    default = config.defaults.llm_provider or config.default_provider
    if default is None:
        error = NoProviderError(vendor_variables())
        ways = "\n".join(f"{vendor}: set {' and '.join(names)}" for vendor, names in error.variables.items())
        return fail("model", "none: TARSy can play the samples, but cannot investigate your alerts yet", f"{ways}\nor {error.local_model}")
    provider = config.llm_providers[default]
    described = f"{provider.type} {provider.model}" + (f" at {redacted_text(provider.base_url)}" if provider.base_url else "")
    return ok("model", f"{default} ({described}){'; keys set: ' + ', '.join(found) if found else ''}")


async def check_models(settings: Settings, loaded: LoadedConfig, *, call: bool) -> AsyncGenerator[Finding]:
    """Check the LLM service, if one is configured; with `call`, ask each model in use for one word."""
    try:
        client = llm_client(settings, loaded.env)
    except CannotServeError as error:
        yield fail("LLM service", str(error))
        return
    try:
        if settings.llm_service_addr:
            health = await client.health()
            remedy = "start it with: tarsy llm-service, or unset TARSY_LLM_SERVICE_ADDR"
            yield ok("LLM service", f"{settings.llm_service_addr} answers") if health.ok else fail("LLM service", health.detail, remedy)
        if call:
            for name, (provider, backend) in models_in_use(loaded).items():
                yield await check_model(name, provider, backend, client)
    finally:
        await client.aclose()


async def check_tools(loaded: LoadedConfig) -> list[Finding]:
    """Start all tool servers of chains and routes at the same time and list their tools."""
    servers = servers_in_use(loaded.config)
    found: dict[str, Finding] = {}

    async def check(server: ResolvedMcpServer) -> None:
        found[server.name] = (await check_server(server, loaded.env)).finding

    async with anyio.create_task_group() as tasks:
        for server in servers.values():
            tasks.start_soon(check, server, name=f"check {server.name}")
    listed = [found[name] for name in servers]
    if any(one.status is FindingStatus.OK for one in listed):
        return listed
    nothing = "no tool server can be used: agents could read the alert, but could not examine your systems yet"
    return [*listed, fail("tools", nothing, "fix one of the servers above" if listed else "add a tool server to mcp_servers in tarsy.yaml")]
