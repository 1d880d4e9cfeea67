"""Checks of models and tool servers, for the setup page and `tarsy doctor`: whether it works, and the remedy if it does not."""

import ipaddress
import shutil
import socket
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import SplitResult, urlsplit

import anyio
import httpx
import orjson

from tarsy.agent.ports import LLMClient
from tarsy.config.parsed_data import as_mapping, list_at
from tarsy.config.resolve.resolved import ResolvedMcpServer, ResolvedProvider
from tarsy.config.templates import variables
from tarsy.domain.conversation import ConversationMessage, Role
from tarsy.domain.llm import ErrorChunk, ErrorCode, GenerateInput, LLMBackend, TextChunk, ThinkingChunk
from tarsy.domain.tool import ToolCatalog
from tarsy.setup.recipes import StepRefusedError
from tarsy.tools.executor import McpToolServers, probe


class FindingStatus(StrEnum):
    OK = "ok"
    # TARSy runs, but something that the operator may expect does not work.
    WARN = "warn"
    # TARSy would not start, or something it is configured to use cannot be used.
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    status: FindingStatus
    subject: str
    text: str
    remedy: str = ""

    def __str__(self) -> str:
        first, *rest = [*self.text.splitlines(), *(f"→ {line}" for line in self.remedy.splitlines())]
        margin = " " * 20
        return "\n".join([f"{self.status:<5} {self.subject:<13} {first}", *(margin + line for line in rest)])


def ok(subject: str, text: str) -> Finding:
    return Finding(FindingStatus.OK, subject, text)


def warn(subject: str, text: str, remedy: str = "") -> Finding:
    return Finding(FindingStatus.WARN, subject, text, remedy)


def fail(subject: str, text: str, remedy: str = "") -> Finding:
    return Finding(FindingStatus.FAIL, subject, text, remedy)


# A server on one's own network answers at once or not at all.
PROBE_SECONDS = 8.0
# A thousand names are a hundred kilobytes.
MAX_ANSWER_BYTES = 1_000_000
MAX_MODELS = 500
MAX_NAME = 200
# A model that has to be loaded first takes its time; beyond that, the person who waits should get a result.
CALL_SECONDS = 60.0
# The first start of a server by npx downloads it.
TOOLS_SECONDS = 60.0
_REMEDIES = {
    "npx": "install Node.js 20 or later: npx comes with it",
    "uvx": "install uv: uvx comes with it (https://docs.astral.sh/uv/)",
}


class NoModelsError(StepRefusedError):
    """There is no list of models at the address; the person who typed it can act."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(f"{message} To fix it, {remedy}.")


@dataclass(frozen=True, slots=True)
class ModelServer:
    # As it is written to `base_url`: with the `/v1` that people forget.
    base_url: str
    models: tuple[str, ...]


async def find_models(address: str, key: str = "") -> ModelServer:
    """Ask an OpenAI-compatible server (Ollama, llama.cpp, vLLM, LM Studio) for its models, at the address and, if there are none, below `/v1`.

    Raises:
        NoModelsError: with what was found instead.
    """
    if not (key.isascii() and key.isprintable()):
        raise NoModelsError("The key has a line break, or a character beyond ASCII.", "copy it once more")
    parts = await _checked_address(address)
    given = address.strip().rstrip("/")
    candidates = (given,) if parts.path.rstrip("/").endswith("/v1") else (given, f"{given}/v1")
    found = [await _models_at(candidate, key) for candidate in candidates]
    servers = [server for server in found if isinstance(server, ModelServer)]
    if best := next((server for server in servers if server.models), None):
        return best
    if servers:
        raise NoModelsError(
            f"The server at {servers[0].base_url} answers and has no model.", "load one there first, for example: ollama pull qwen3:32b"
        )
    raise next(error for error in found if isinstance(error, NoModelsError))


async def _checked_address(address: str) -> SplitResult:
    remedy = "write it as http://localhost:11434/v1"
    try:
        parts = urlsplit(address.strip())
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable, parts = False, urlsplit("")
    if not usable:
        raise NoModelsError("This is not a server address.", remedy)
    if parts.username or parts.password or parts.query or parts.fragment:
        raise NoModelsError("The address must have only a host, a port and a path.", remedy)
    host = parts.hostname or ""
    try:
        resolved = [ipaddress.ip_address(host)]
    except ValueError:
        try:
            found = await anyio.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise NoModelsError(f"The host name {host} cannot be resolved.", "check the name, or write the machine's address") from error
        resolved = [ipaddress.ip_address(str(place[4][0]).partition("%")[0]) for place in found]
    # Addresses of one's own network are allowed; those at which machines of a cloud get their credentials are not.
    for one in resolved:
        reached = one.ipv4_mapped or one if isinstance(one, ipaddress.IPv6Address) else one
        if reached.is_link_local or reached.is_multicast or reached.is_unspecified:
            raise NoModelsError(f"{parts.hostname} cannot be the address of a model server.", "write the address of the model's own server")
    return parts


async def _models_at(base_url: str, key: str) -> ModelServer | NoModelsError:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        async with httpx.AsyncClient(timeout=PROBE_SECONDS, trust_env=False, follow_redirects=False) as http:
            with anyio.fail_after(PROBE_SECONDS):
                async with http.stream("GET", f"{base_url}/models", headers=headers) as answer:
                    return await _read_models(base_url, answer)
    except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, OSError) as error:
        remedy = "check that the server runs and that this machine can reach it"
        return NoModelsError(f"Nothing answers at {base_url}: {error or 'it took too long'}.", remedy)


async def _read_models(base_url: str, answer: httpx.Response) -> ModelServer | NoModelsError:
    remedy = "check the address: that of an OpenAI-compatible server usually ends in /v1"
    if answer.status_code in {401, 403}:
        return NoModelsError(f"The server at {base_url} requires a key, or rejects this one.", "enter a key that the server accepts")
    if answer.status_code != 200:
        return NoModelsError(f"{base_url}/models answers with HTTP {answer.status_code}, not with a list of models.", remedy)
    body = b""
    async for part in answer.aiter_bytes():
        body += part
        if len(body) > MAX_ANSWER_BYTES:
            return NoModelsError(f"{base_url}/models answers with too much data for a list of models.", remedy)
    try:
        parsed = as_mapping(orjson.loads(body))
    except orjson.JSONDecodeError:
        parsed = None
    if parsed is None or "data" not in parsed:
        return NoModelsError(f"{base_url}/models does not answer with a list of models.", remedy)
    names = [(as_mapping(entry) or {}).get("id") for entry in list_at(parsed, "data")]
    shown = (name for name in names if isinstance(name, str) and 0 < len(name) <= MAX_NAME and name.isprintable())
    return ModelServer(base_url, tuple(sorted(dict.fromkeys(shown))[:MAX_MODELS]))


async def check_model(name: str, provider: ResolvedProvider, backend: LLMBackend, client: LLMClient) -> Finding:
    """Make one small call to the model."""
    messages = (ConversationMessage(Role.USER, "Answer with the single word: ready"),)
    request = GenerateInput(session_id="doctor", execution_id="doctor", messages=messages, provider=provider, backend=backend)
    answer = ""
    with anyio.move_on_after(CALL_SECONDS):
        async with aclosing(client.generate(request)) as chunks:
            async for chunk in chunks:
                if isinstance(chunk, ErrorChunk):
                    return fail("call", f"{name}: {chunk.message}", _remedy(chunk.code, provider))
                if isinstance(chunk, TextChunk | ThinkingChunk):
                    answer += chunk.content
        return ok("call", f"{name} answers ({len(answer)} characters)")
    return fail("call", f"{name} did not answer within {CALL_SECONDS:.0f} s", "try again, or name another provider")


def _remedy(code: ErrorCode, provider: ResolvedProvider) -> str:
    match code:
        case ErrorCode.CREDENTIALS:
            return f"check the key in {provider.api_key_env or 'its variable'}"
        case ErrorCode.RATE_LIMITED:
            return "wait, or raise the vendor's limit; fallback_providers keeps investigations going meanwhile"
        case ErrorCode.PROVIDER_UNAVAILABLE | ErrorCode.TIMEOUT | ErrorCode.STALLED:
            return f"check that {provider.base_url or 'the vendor'} can be reached from here"
        case _:
            return f"check that the vendor has the model {provider.model}"


@dataclass(frozen=True, slots=True)
class ServerCheck:
    finding: Finding
    # Their names within the server.
    tools: tuple[str, ...] = ()


async def check_server(server: ResolvedMcpServer, env: Mapping[str, str]) -> ServerCheck:
    """Connect to the server and list its tools."""
    transport = server.transport
    command = transport.command
    if command and not variables(command) and shutil.which(command, path=env.get("PATH")) is None:
        remedy = _REMEDIES.get(command, f"install {command}, or write its full path")
        return ServerCheck(warn("tools", f"{server.name}: the program {command} was not found", remedy))
    missing = sorted(variables(transport.model_dump_json()) - env.keys())
    if missing:
        remedy = f"set {' and '.join(missing)} in the environment or in .env"
        return ServerCheck(warn("tools", f"{server.name}: {', '.join(missing)} is not set", remedy))
    catalog, refusal = ToolCatalog(), None
    with anyio.move_on_after(TOOLS_SECONDS) as limit:
        async with McpToolServers(env=env).open_servers({server.name: server}, call_timeout=TOOLS_SECONDS, execution_id="doctor") as tools:
            catalog = await tools.list_tools()
            refusal = None if catalog.warnings else await probe(tools, server)
    remedy = f"try it by hand: tarsy tools list {server.name}"
    if limit.cancelled_caught and not catalog.tools:
        return ServerCheck(fail("tools", f"{server.name} did not list its tools within {TOOLS_SECONDS:.0f} s", remedy))
    if problems := (*catalog.warnings, *([refusal] if refusal else [])):
        return ServerCheck(fail("tools", "\n".join(problems), remedy))
    names = tuple(tool.name.removeprefix(f"{server.name}.") for tool in catalog.tools)
    counted = f"{server.name}: {len(names)} tools"
    if reasons := {name: reason for listing in catalog.listings for name, reason in listing.needs_approval.items()}:
        listed = "".join(f"\n{name}: {reason}" for name, reason in reasons.items())
        return ServerCheck(ok("tools", f"{counted}, {len(reasons)} of which need an approval for each call:{listed}"), names)
    return ServerCheck(ok("tools", counted), names)
